"""Generation settings that are applied to several replies at once."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from transformers import GenerationConfig

from prefix_sharing.decoding import DecodingRules


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
