"""What the engine changes on some devices: the same results from fewer waits, and from images processed ahead."""

from __future__ import annotations

import dataclasses

import pytest

torch = pytest.importorskip("torch")

from transformers import GenerationConfig

from known_unknowns.engines._option_labels import LabelRecorder
from known_unknowns.images import recipe_image
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


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch was built without oneDNN")
@pytest.mark.parametrize("name", ["qwen2.5-vl", "mllama"])
def test_an_engine_replies_the_same_with_onednn(monkeypatch, tmp_path, name):
    """Shared prefixes too, whose check against generate is made with the same layers."""
    monkeypatch.setattr(linear, "_is_faster", lambda dtype, packed: True)
    monkeypatch.setattr(linear, "_MIN_TOKENS", 1)
    image = recipe_image("normal-noise", 64, 32, 1)
    texts = ("What is it?\nA. Red\nB. Blue", "Is it near?\nA. Yes\nB. No\nC. Both", "How many?\nA. One\nB. Two")
    turns = [Turn(str(k), "answer", (image, text), ("A", "B"), max_new_tokens=4) for k, text in enumerate(texts)]
    tiny.build(name, tmp_path)

    quick = tiny.engine(name, tmp_path, sharing="on")
    assert quick.about["linear_layers"] == "onednn, packed"
    found = tiny.answers(quick, turns)
    assert quick.about["sharing"]["fell_back"] == []
    monkeypatch.setattr(linear, "_is_faster", lambda dtype, packed: False)
    plain = tiny.engine(name, tmp_path, sharing="off", batch_size=1)
    assert plain.about["linear_layers"] == "torch"
    for reply, expected in zip(found, tiny.answers(plain, turns), strict=True):
        assert dataclasses.replace(reply, logprobs=None) == dataclasses.replace(expected, logprobs=None)
        assert reply.logprobs == pytest.approx(expected.logprobs, abs=2e-5)
