"""Generation settings that are applied to several replies at once."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from transformers import GenerationConfig

from known_unknowns.engines._reply_builder import LabelRecorder
from prefix_sharing.decoding import DecodingRules, decode


def rules(**settings) -> DecodingRules:
    return DecodingRules.from_config(GenerationConfig(eos_token_id=0, **settings), "cpu")


@pytest.mark.parametrize("settings", [{"repetition_penalty": 1.3}, {"repetition_penalty": 0.7, "suppress_tokens": [4]}])
def test_settings_applied_to_rows_together_equal_each_row_alone(settings):
    torch.manual_seed(0)
    written, logits = [[1, 2, 2], [3], [7, 1, 5, 6]], torch.randn(3, 9)
    together = rules(**settings).apply(written, logits)
    alone = [rules(**settings).apply([tokens], logits[row : row + 1]) for row, tokens in enumerate(written)]
    assert torch.equal(together, torch.cat(alone))
    # By hand: positive logits are divided by the penalty, negative ones multiplied; row 1 wrote only token 3.
    penalty, value = settings["repetition_penalty"], logits[1, 3].item()
    assert together[1, 3].item() == pytest.approx(value / penalty if value > 0 else value * penalty)
    assert together[1, 2].item() == logits[1, 2].item()


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
