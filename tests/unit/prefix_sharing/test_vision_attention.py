"""Vision towers on a GPU, checked on a CPU: the same results from fewer calls and from padded layers."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

from transformers import AttentionInterface

from prefix_sharing import vision_attention
from prefix_sharing.aligned_layers import align_inner_sizes
from prefix_sharing.vision_attention import WINDOWS, use_window_attention
from tests.unit.engines import tiny

GRIDS = torch.tensor([[1, 8, 12], [1, 6, 4], [1, 8, 12]])


@pytest.mark.parametrize("name", ["qwen2.5-vl", "glm-4v"])
@torch.inference_mode()
def test_windows_of_several_images_in_one_call_give_the_features_of_one_call_each(name, monkeypatch):
    model, _ = tiny.CHECKPOINTS[name].make()
    tower = model.model.visual
    vision = tower.config
    size = vision.in_channels * vision.temporal_patch_size * vision.patch_size**2
    pixels = torch.randn(int(GRIDS.prod(-1).sum()), size, generator=torch.Generator().manual_seed(1))
    one_call_each = tower(pixels, GRIDS).pooler_output
    assert use_window_attention(model) == "windows"
    calls = []
    original = vision_attention.window_attention
    _register(monkeypatch, lambda *given, **named: calls.append(1) or original(*given, **named))
    together = tower(pixels, GRIDS).pooler_output
    torch.testing.assert_close(_flat(together), _flat(one_call_each), atol=1e-5, rtol=1e-5)
    assert len(calls) == len(tower.blocks)


def _register(monkeypatch, function) -> None:
    monkeypatch.setitem(AttentionInterface._global_mapping, WINDOWS, function)


def _flat(features):
    return torch.cat(list(features)) if isinstance(features, (tuple, list)) else features


@torch.inference_mode()
def test_attention_within_windows_by_hand():
    """Two windows, of 2 tokens and 1; equal queries and keys, so that each token gets its window's mean."""
    same, value = torch.ones(1, 1, 3, 4), torch.tensor([[1.0], [3.0], [10.0]]).expand(3, 4)[None, None]
    bounds = torch.tensor([0, 2, 3])
    found, _ = vision_attention.window_attention(
        None, same, same, value, None, 0.5, cu_seq_lens_q=bounds, max_length_q=2, is_causal=False
    )
    assert found[0, :, 0, 0].tolist() == pytest.approx([2.0, 2.0, 10.0])


def test_a_layer_that_gives_another_result_keeps_transformers_attention(monkeypatch):
    model, _ = tiny.CHECKPOINTS["qwen2.5-vl"].make()
    right = vision_attention.window_attention
    _register(monkeypatch, lambda *given, **named: (right(*given, **named)[0] * 1.01, None))
    assert use_window_attention(model) == "transformers"
    assert {part.config._attn_implementation for part in model.modules() if hasattr(part, "config")} == {"sdpa"}


def test_a_tower_with_one_capped_layer_keeps_transformers_attention(monkeypatch):
    model, _ = tiny.CHECKPOINTS["qwen2.5-vl"].make()
    last, right = model.model.visual.blocks[-1].attn, vision_attention.window_attention

    def attention(module, *given, **named):
        return right(module, *given, **named, **({"softcap": 30.0} if module is last else {}))

    _register(monkeypatch, attention)
    assert use_window_attention(model) == "transformers"
    with pytest.raises(ValueError, match="softcap"):
        right(None, *torch.ones(3, 1, 1, 2, 4), None, cu_seq_lens_q=torch.tensor([0, 2]), max_length_q=2, softcap=30.0)


def test_models_without_windows_are_left_alone():
    model, _ = tiny.CHECKPOINTS["llava"].make()
    assert use_window_attention(model) == "transformers"


class Gated(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate_proj, self.up_proj = torch.nn.Linear(6, 13), torch.nn.Linear(6, 13)
        self.down_proj = torch.nn.Linear(13, 6)

    def forward(self, inputs):
        return self.down_proj(torch.nn.functional.silu(self.gate_proj(inputs)) * self.up_proj(inputs))


class Plain(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = torch.nn.Linear(6, 13, bias=False), torch.nn.Linear(13, 6)

    def forward(self, inputs):
        return self.fc2((self.fc1(inputs) + 1).exp())  # the additional activations are not 0


@pytest.mark.parametrize("kind", [Gated, Plain])
@torch.inference_mode()
def test_inner_sizes_become_multiples_of_8_without_changing_the_result(kind):
    torch.manual_seed(0)
    model = torch.nn.Sequential(kind(), kind())
    padded, inputs = copy.deepcopy(model), torch.randn(5, 6)
    assert align_inner_sizes(padded) == 2
    assert {part.out_features for part in padded.modules() if isinstance(part, torch.nn.Linear)} == {16, 6}
    torch.testing.assert_close(padded(inputs), model(inputs), atol=1e-5, rtol=1e-5)
    assert align_inner_sizes(padded) == 0
