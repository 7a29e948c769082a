"""Attention by matrix products equals torch's, and the last layer gives the same results for a subset of tokens."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

from prefix_sharing import attention, last_layer
from tests.unit.engines import tiny

MODULE = SimpleNamespace(num_key_value_groups=2, is_causal=True)


def draw(seed: int, *sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed))


def looked(rows: int, own: int, before: int, alike: bool) -> torch.Tensor:
    """All of the prefix, and of what comes after it the token's own past; or another part of the prefix for each."""
    seen = torch.cat([torch.ones(own, before), torch.ones(own, own).tril()], dim=1).bool().repeat(rows, 1, 1, 1)
    if not alike:
        for row in range(rows):
            seen[row, :, :, : min(row, before)] = False
    return seen[:1] if alike else seen


@settings(max_examples=40)
@given(
    st.integers(1, 5),
    st.integers(1, 6),
    st.integers(0, 7),
    st.booleans(),
    st.sampled_from([None, 0.3]),
    st.sampled_from([1, 100, 2**21]),
)
def test_the_attention_equals_torchs(rows, own, before, alike, scaling, block):
    query, key = draw(1, rows, 4, own, 8), draw(2, rows, 2, before + own, 8)
    value = draw(3, rows, 2, before + own, 6)
    seen = looked(rows, own, before, alike)
    mask = torch.zeros(seen.shape).masked_fill_(~seen, torch.finfo(torch.float32).min)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "_SCORES_PER_BLOCK", block)
        found, _ = attention.grouped_attention(MODULE, query, key, value, mask, scaling=scaling, dropout=0.0)
    expected = scaled_dot_product_attention(query, key, value, attn_mask=seen, scale=scaling, enable_gqa=True)
    torch.testing.assert_close(found, expected.transpose(1, 2), atol=1e-6, rtol=1e-5)


def test_unsupported_arguments_are_passed_to_torch():
    query, key, value = draw(1, 2, 4, 3, 8), draw(2, 2, 4, 3, 8), draw(3, 2, 4, 3, 8)
    alone = SimpleNamespace(num_key_value_groups=1, is_causal=True)
    found, _ = attention.grouped_attention(alone, query, key, value, None)
    torch.testing.assert_close(found, scaled_dot_product_attention(query, key, value, is_causal=True).transpose(1, 2))
    with pytest.raises(ValueError, match="softcap"):
        attention.grouped_attention(alone, query, key, value, torch.zeros(1, 1, 3, 3), softcap=30.0)
    bias = draw(4, 1, 4, 3, 3)
    found, _ = attention.grouped_attention(alone, query, key, value, torch.zeros(1, 1, 3, 3), position_bias=bias)
    expected = scaled_dot_product_attention(query, key, value, attn_mask=bias)
    torch.testing.assert_close(found, expected.transpose(1, 2))


@pytest.fixture(scope="module")
def model():
    return tiny.CHECKPOINTS["qwen2.5-vl"].make()[0].eval()


def test_the_attention_of_a_model_is_replaced_and_restored(model):
    configs = attention.attention_configs(model.model.language_model)
    assert [config._attn_implementation for config in configs] == ["sdpa"]
    assert attention.GROUPED in AttentionInterface()
    with pytest.raises(RuntimeError, match="midway"), attention.use_attention(attention.GROUPED, configs):
        assert model.config.get_text_config()._attn_implementation == attention.GROUPED
        raise RuntimeError("midway")
    assert [config._attn_implementation for config in configs] == ["sdpa"]


@torch.inference_mode()
def test_the_last_layer_computes_only_the_requested_tokens(model):
    """The parts of the layer receive only these tokens."""
    tokens, places = torch.randint(20, 60, (2, 9), generator=torch.Generator().manual_seed(0)), [[8, 3, 8], [0, 5, 7]]
    whole = model(input_ids=tokens, use_cache=True)
    last = model.model.language_model.layers[-1]
    seen = []
    watched = [
        part.register_forward_hook(lambda _, given, __: seen.append(given[0].shape[1]))
        for part in (last.self_attn.o_proj, last.mlp, last.self_attn.q_proj, model.model.language_model.layers[0].mlp)
    ]
    with last_layer.limit_last_layer(model.model.language_model, torch.tensor(places)):
        some = model(input_ids=tokens, use_cache=True)
    assert sorted(seen) == [3, 3, 9, 9]
    for row, asked in enumerate(places):
        torch.testing.assert_close(some.logits[row, asked], whole.logits[row, asked])
    for found, expected in zip(some.past_key_values.layers, whole.past_key_values.layers, strict=True):
        torch.testing.assert_close(found.keys, expected.keys)
        torch.testing.assert_close(found.values, expected.values)
    for hook in watched:
        hook.remove()
    torch.testing.assert_close(model(input_ids=tokens).logits, whole.logits)  # afterwards as before


def test_mixture_of_experts_layers_are_unchanged():
    """Such experts may depend on several tokens."""
    layer = torch.nn.Module()
    layer.mlp = torch.nn.Module()
    layer.mlp.experts, layer.mlp.gate = torch.nn.ModuleList(), torch.nn.Linear(2, 2)
    language = torch.nn.Module()
    language.layers = torch.nn.ModuleList([layer])
    assert last_layer._tokenwise_modules(language) == []
    assert last_layer._tokenwise_modules(torch.nn.Module()) == []
