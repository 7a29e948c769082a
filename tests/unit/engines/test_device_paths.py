"""What the engine changes on some devices: the same results from fewer waits, and from images processed ahead."""

from __future__ import annotations

import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from transformers import GenerationConfig

from known_unknowns.engines._option_labels import LabelRecorder
from known_unknowns.engines._pixels import CachingImageProcessor
from known_unknowns.images import open_image, recipe_image
from known_unknowns.records import Turn
from prefix_sharing import linear
from prefix_sharing.decoding import DecodingRules, decode
from tests.unit.engines import tiny


def test_a_step_waits_for_the_device_once(monkeypatch):
    """The chosen tokens are what the next step needs; the log-probabilities wait until the end."""
    logits = torch.zeros(2, 5)
    logits[:, 3] = 1.0

    class Steps:
        def step(self, tokens):
            return logits

        def select(self, rows):
            raise AssertionError("no reply ends early")

    waits, tolist = [], torch.Tensor.tolist
    monkeypatch.setattr(torch.Tensor, "tolist", lambda tensor: waits.append(tensor.shape) or tolist(tensor))
    recorder = LabelRecorder([3, 4])
    rules = DecodingRules.from_config(GenerationConfig(eos_token_id=0), "cpu")
    replies = decode(
        logits, lambda rows: Steps(), prompts=[[1], [2]], limits=[4, 4], rules=rules, record=recorder.record
    )
    assert replies == [[3, 3, 3, 3]] * 2 and len(waits) == 4
    # By hand: ln(e / (e + 4)) and ln(1 / (e + 4)).
    assert recorder.logprobs(1, 3, {"A": (3,), "B": (4,)}) == pytest.approx({"A": -0.904832, "B": -1.904832}, abs=2e-6)


def test_images_processed_ahead_are_those_that_the_processor_would_have_made():
    calls = []

    def process(images, *, scale):
        calls.append(threading.get_ident())
        return Result(torch.tensor([[float(image.size[0]) * scale] for image in images]))

    class Result:
        def __init__(self, pixels) -> None:
            self.data = {"pixels": pixels}

    images = {str(size): open_image(recipe_image("normal-noise", size, 8), Path()) for size in (8, 9, 10)}
    first, second, third = images.values()
    processor = CachingImageProcessor(process)
    processor.name(images)
    with ThreadPoolExecutor(2) as pool:
        processor.start(images.values(), pool)
        assert not calls  # how the processor is called is not known yet
        processor([first], scale=2)
        processor.start(images.values(), pool)
        found = [processor([image], scale=2).data["pixels"].item() for image in (second, third)]
        assert found == [18.0, 20.0]
        assert len(calls) == 3 and threading.get_ident() not in calls[1:]
        assert processor([second], scale=3).data["pixels"].item() == 27.0  # another call than the one started


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch was built without oneDNN")
@pytest.mark.parametrize("name", ["qwen2.5-vl", "llava", "idefics3", "mllama"])
def test_an_engine_replies_the_same_with_onednn(monkeypatch, tmp_path, name):
    """Shared prefixes too, whose check against generate is made with the same layers."""
    monkeypatch.setattr(linear, "_is_faster", lambda dtype, packed: True)
    monkeypatch.setattr(linear, "_MIN_TOKENS", 1)
    image = recipe_image("normal-noise", 64, 32, 1)
    texts = ("What is it?\nA. Red\nB. Blue", "Is it near?\nA. Yes\nB. No\nC. Both", "How many?\nA. One\nB. Two")
    turns = [Turn(str(k), "answer", (image, text), ("A", "B"), max_new_tokens=4) for k, text in enumerate(texts)]
    tiny.build(name, tmp_path)

    def replies(engine):
        pairs = sorted((pair for batch in engine.answer(turns, folder=Path()) for pair in batch), key=lambda it: it[0])
        return [dataclasses.replace(reply, seconds=0.0) for _, reply in pairs]

    quick = tiny.engine(name, tmp_path, sharing="on")
    assert quick.about["linear_layers"] == "onednn, packed"
    found = replies(quick)
    assert quick.about["sharing"]["fell_back"] == []
    monkeypatch.setattr(linear, "_is_faster", lambda dtype, packed: False)
    plain = tiny.engine(name, tmp_path, sharing="off", batch_size=1)
    assert plain.about["linear_layers"] == "torch"
    for reply, expected in zip(found, replies(plain), strict=True):
        assert dataclasses.replace(reply, logprobs=None) == dataclasses.replace(expected, logprobs=None)
        assert reply.logprobs == pytest.approx(expected.logprobs, abs=2e-5)
