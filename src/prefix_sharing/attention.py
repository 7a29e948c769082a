"""Attention with a custom mask on a CPU: two matrix products for all heads that share keys.

torch's CPU attention is optimised for long sequences. For prompts of some tens of tokens after a prefix it takes two
to three times as long, and needs the keys repeated for each head of a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

GROUPED = "prefix_sharing_grouped"
_SCORES_PER_BLOCK = 2**21
"""Number of scores computed at once, small enough to stay in the processor's cache."""


def grouped_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **more: Any,
) -> tuple[torch.Tensor, None]:
    """Compute grouped attention; the signature is that of attention functions in transformers.

    Parameters
    ----------
    query : Tensor, shape (rows, heads, queries, size)
    key, value : Tensor, shape (rows, groups, keys, size)
    attention_mask : Tensor or None, shape (rows or 1, 1, queries, keys)
        Additive mask.

    Returns
    -------
    Tensor, shape (rows, queries, heads, size)

    Notes
    -----
    Scores are rounded to the dtype, as in transformers' eager attention, and normalised in float32. Calls without a
    mask or with unsupported options go to torch's attention.
    """
    if attention_mask is None or more.get("softcap") is not None or more.get("position_bias") is not None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **more)
    rows, heads, queries, size = query.shape
    groups, keys = key.shape[1:3]
    scaled = query * (size**-0.5 if scaling is None else scaling)
    found = query.new_empty(rows, queries, heads, value.shape[-1])
    step = max(1, _SCORES_PER_BLOCK // (heads * queries * keys))
    for start in range(0, rows, step):
        some = slice(start, start + step)
        mask = attention_mask if len(attention_mask) == 1 else attention_mask[some]
        asked = scaled[some].reshape(-1, groups, heads // groups * queries, size)
        scores = (asked @ key[some].transpose(-1, -2)).float().view(-1, heads, queries, keys)
        weights = scores.add_(mask).softmax(dim=-1).to(query.dtype)
        attended = weights.view(-1, groups, heads // groups * queries, keys) @ value[some]
        found[some] = attended.view(-1, heads, queries, value.shape[-1]).transpose(1, 2)
    return found, None


AttentionInterface.register(GROUPED, grouped_attention)


def attention_configs(language: torch.nn.Module) -> tuple[Any, ...]:
    """Return the configurations from which a language model's attention layers read their implementation."""
    found = [part.config for part in language.modules() if hasattr(part, "layer_idx") and hasattr(part, "config")]
    return tuple({id(config): config for config in found}.values())


@contextmanager
def use_attention(implementation: str, configs: Sequence[Any]) -> Iterator[None]:
    """Let the models with these configurations use another attention implementation."""
    before = [config._attn_implementation for config in configs]
    try:
        for config in configs:
            config._attn_implementation = implementation
        yield
    finally:
        for config, name in zip(configs, before, strict=True):
            config._attn_implementation = name
