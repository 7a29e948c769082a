"""The pixels of an image are computed once, with exactly the processor's own result."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from transformers.feature_extraction_utils import BatchFeature

from known_unknowns.engines._pixels import CachingImageProcessor
from known_unknowns.images import open_image, recipe_image
from tests.unit.engines import tiny

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

SIZES = {"wide": (64, 32, 1), "other": (64, 32, 2), "small": (32, 32, 1), "tall": (24, 48, 4)}
OPENED = {name: open_image(recipe_image("normal-noise", *size), Path()) for name, size in SIZES.items()}
ROUND = (
    ("wide",),
    ("wide", "other"),
    ("other", "wide"),
    ("wide", "small"),
    ("small", "wide"),
    ("tall", "tall", "wide"),
)


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
    assert cache.reused > cache.computed


class Doubling:
    """An image processor of numbers: 2 x + ``offset``, four bytes each. It counts its calls."""

    def __init__(self, *, pads: bool = False) -> None:
        self.offset, self.pads, self.calls = 0, pads, 0

    def __call__(self, images, **more) -> BatchFeature:
        self.calls += 1
        made = torch.tensor([2.0 * image.number + self.offset for image in images])[:, None]
        if self.pads and len(images) > 2:
            made += 1
        return BatchFeature({"pixel_values": made, "sizes": [image.number for image in images]})


class PlainImage:
    def __init__(self, number: int) -> None:
        self.number = number


@pytest.fixture
def plain_images() -> dict[str, PlainImage]:
    return {str(number): PlainImage(number) for number in range(5)}


def test_calls_by_hand(plain_images):
    """Three images for the first call of two: each alone, and both for comparison."""
    cache = CachingImageProcessor(real := Doubling())
    cache.name(plain_images)
    a, b, c = (plain_images[name] for name in "012")
    assert cache([a])["pixel_values"].tolist() == [[0.0]]
    assert (real.calls, cache.computed, cache.reused) == (1, 1, 0)
    assert cache([a, b])["pixel_values"].tolist() == [[0.0], [2.0]]
    assert (real.calls, cache.computed, cache.reused) == (3, 2, 1)
    swapped = cache([b, a])
    assert (swapped["pixel_values"].tolist(), swapped["sizes"]) == ([[2.0], [0.0]], [1, 0])
    assert (real.calls, cache.computed, cache.reused) == (3, 2, 3)
    assert cache([c, a])["sizes"] == [2, 0]
    assert (real.calls, cache.computed, cache.reused) == (4, 3, 4)
    assert cache([a], size=3)["sizes"] == [0]  # another argument
    assert (real.calls, cache.computed) == (5, 4)
    cache.offset = 1  # another setting
    assert cache([a])["pixel_values"].tolist() == [[1.0]]
    stranger = PlainImage(7)
    assert cache([stranger])["sizes"] == cache([stranger])["sizes"] == [7]
    assert real.calls == 8


def test_a_processor_that_treats_images_differently_beside_others_is_asked_each_time(plain_images):
    cache = CachingImageProcessor(real := Doubling(pads=True))
    cache.name(plain_images)
    a, b, c = (plain_images[name] for name in "012")
    assert cache([a, b])["pixel_values"].tolist() == [[0.0], [2.0]]
    for _ in range(2):
        assert cache([a, b, c])["pixel_values"].tolist() == [[1.0], [3.0], [5.0]]
    before = real.calls
    assert cache([c, b, a])["pixel_values"].tolist() == [[5.0], [3.0], [1.0]]
    assert real.calls == before + 1


def test_the_limit_in_bytes(plain_images):
    """Two images of four bytes fit; the least recently used one goes."""
    cache = CachingImageProcessor(Doubling(), limit=8)
    cache.name(plain_images)
    for name in "010213":
        cache([plain_images[name]])
        assert cache._bytes <= 8
    assert (cache.computed, cache.reused) == (5, 1)  # 1 went for 2, 0 for 1, 2 for 3
    nothing = CachingImageProcessor(Doubling(), limit=0)
    nothing.name(plain_images)
    nothing([plain_images["0"]])
    nothing([plain_images["0"]])
    assert (nothing.computed, nothing._bytes) == (2, 0)
