"""Attention under a mask of one's own on a CPU: two matrix products for all heads that look at the same keys.

torch's attention on a CPU is made for long sequences. On questions of some tens of tokens behind a prefix it takes two
to three times as long, and wants the keys repeated for each head of a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

GROUPED = "known_unknowns_grouped"
_AT_ONCE = 2**21
"""Scores that are computed at once, and stay in the processor's cache until they are used."""


def grouped(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **more: Any,
) -> tuple[torch.Tensor, None]:
    """What the models of transformers call with ``query`` (rows, heads, queries, size), ``key`` and ``value`` (rows,
    groups, keys, size) and an additive mask (rows or 1, 1, queries, keys). Returns (rows, queries, heads, size).

    Scores are rounded to the dtype, as in transformers' eager attention, and normalised in float32. What it does not
    know is left to torch's.
    """
    if attention_mask is None or more.get("softcap") is not None or more.get("position_bias") is not None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **more)
    rows, heads, queries, size = query.shape
    groups, keys = key.shape[1:3]
    scaled = query * (size**-0.5 if scaling is None else scaling)
    found = query.new_empty(rows, queries, heads, value.shape[-1])
    step = max(1, _AT_ONCE // (heads * queries * keys))
    for start in range(0, rows, step):
        some = slice(start, start + step)
        mask = attention_mask if len(attention_mask) == 1 else attention_mask[some]
        asked = scaled[some].reshape(-1, groups, heads // groups * queries, size)
        scores = (asked @ key[some].transpose(-1, -2)).float().view(-1, heads, queries, keys)
        weights = scores.add_(mask).softmax(dim=-1).to(query.dtype)
        looked = weights.view(-1, groups, heads // groups * queries, keys) @ value[some]
        found[some] = looked.view(-1, heads, queries, value.shape[-1]).transpose(1, 2)
    return found, None


AttentionInterface.register(GROUPED, grouped)


def configs(language: torch.nn.Module) -> tuple[Any, ...]:
    """The configurations that the attention of a language model reads its implementation from."""
    found = [part.config for part in language.modules() if hasattr(part, "layer_idx") and hasattr(part, "config")]
    return tuple({id(config): config for config in found}.values())


@contextmanager
def asked_as(implementation: str, configs: Sequence[Any]) -> Iterator[None]:
    """The models of these configurations look by another implementation."""
    before = [config._attn_implementation for config in configs]
    try:
        for config in configs:
            config._attn_implementation = implementation
        yield
    finally:
        for config, name in zip(configs, before, strict=True):
            config._attn_implementation = name
