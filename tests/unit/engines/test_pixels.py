"""The pixels of an image are computed once, with exactly the processor's own result."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from transformers.feature_extraction_utils import BatchFeature

from known_unknowns.engines._pixels import CachingImageProcessor
from known_unknowns.images import open_image, recipe_image
from tests.unit.engines import tiny

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

SIZES = {"wide": (64, 32, 1), "small": (32, 32, 1), "tall": (24, 48, 4)}
OPENED = {name: open_image(recipe_image("normal-noise", *size), Path()) for name, size in SIZES.items()}
ROUND = (("wide",), ("wide", "small"), ("small",), ("tall", "tall", "wide"))


def encoded(processor, names):
    content = [{"type": "image", "image": OPENED[name]} for name in names] + [{"type": "text", "text": "What?"}]
    return processor.apply_chat_template(
        [[{"role": "user", "content": content}]],
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        return_tensors="pt",
        processor_kwargs={"padding": True},
    )


@pytest.mark.parametrize("name", ["qwen2.5-vl", "llava-next", "idefics3", "internvl", "mllama"])
def test_prompts_have_the_bits_of_the_processor_alone(name):
    processor = tiny.CHECKPOINTS[name].make()[1]
    plain = [encoded(processor, names) for names in ROUND]
    processor.image_processor = cache = CachingImageProcessor(processor.image_processor)
    cache.name(OPENED)
    for _ in range(2):
        for names, expected in zip(ROUND, plain, strict=True):
            found = encoded(processor, names)
            assert found.keys() == expected.keys()
            for key, value in expected.items():
                assert torch.equal(found[key], value)


class Doubling:
    """An image processor of numbers: 2 x + ``offset``, four bytes each. It notes the threads of its calls."""

    def __init__(self) -> None:
        self.offset, self.calls = 0, []

    def __call__(self, images, **more) -> BatchFeature:
        self.calls.append(threading.get_ident())
        return BatchFeature({"pixel_values": torch.tensor([2.0 * image.number + self.offset for image in images])})


class PlainImage:
    def __init__(self, number: int) -> None:
        self.number = number


IMAGES = {str(number): PlainImage(number) for number in range(5)}


def made(limit: int = 100):
    cache = CachingImageProcessor(real := Doubling(), limit=limit)
    cache.name(IMAGES)
    return cache, real, lambda *numbers, **more: cache([IMAGES[str(n)] for n in numbers], **more)["pixel_values"]


def test_an_image_is_processed_once_with_the_same_arguments_and_settings():
    cache, real, pixels = made()
    assert [pixels(1).tolist(), pixels(1).tolist(), pixels(2).tolist()] == [[2.0], [2.0], [4.0]]
    assert len(real.calls) == 2
    assert pixels(2, 1).tolist() == [4.0, 2.0] and len(real.calls) == 3  # several images are passed on
    pixels(1, size=3)  # another argument
    cache.offset = 1  # another setting
    assert pixels(1).tolist() == [3.0] and len(real.calls) == 5
    for _ in range(2):
        assert cache([PlainImage(7)])["pixel_values"].tolist() == [15.0]  # an image without a name
    assert len(real.calls) == 7


def test_the_least_recently_used_image_goes_at_the_limit():
    """Two images of four bytes fit. 1 goes for 2, 0 for 1, 2 for 3."""
    _, real, pixels = made(limit=8)
    for number in (0, 1, 0, 2, 1, 3):
        pixels(number)
    assert len(real.calls) == 5
    _, real, pixels = made(limit=0)
    pixels(0), pixels(0)
    assert len(real.calls) == 2


def test_images_are_processed_ahead_as_the_processor_would_have_been_called():
    cache, real, pixels = made()
    with ThreadPoolExecutor(2) as pool:
        cache.start(IMAGES.values(), pool)
        assert not real.calls  # how the processor is called is not known yet
        pixels(0, size=2)
        cache.start([IMAGES["1"], IMAGES["2"]], pool)
        assert [pixels(1, size=2).item(), pixels(2, size=2).item()] == [2.0, 4.0]
        assert len(real.calls) == 3 and threading.get_ident() not in real.calls[1:]
        pixels(1, size=3)  # another call than the one started
        assert len(real.calls) == 4
