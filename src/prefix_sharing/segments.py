"""Many short sequences in one forward pass on a CPU, each after a cache of its own, without padding.

The sequences stand in one row. Linear layers and norms treat each token separately; attention is computed for each
sequence by itself, over its own cache and its earlier tokens. If a linear layer gives a token the same bits whatever
stands beside it (`rows_are_independent`), so does the whole pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, DynamicCache

from prefix_sharing import last_layer
from prefix_sharing.architecture import Architecture
from prefix_sharing.attention import use_attention

SEGMENTS = "prefix_sharing_segments"
MIN_TOKENS = 64
"""Shorter sequences get a pass of their own. Linear layers may compute them in another way."""
_ROWS_TESTED = (64, 67, 96, 131, 200, 333)


@dataclass(frozen=True, slots=True)
class Segment:
    """A sequence of tokens after a cache.

    Attributes
    ----------
    tokens : sequence of int
        The sequence.
    positions : Tensor, shape (..., 1, tokens)
        Their positions in the prompt.
    cache : DynamicCache or None
        The keys and values before it (1 row).
    """

    tokens: Sequence[int]
    positions: torch.Tensor
    cache: DynamicCache | None = None


@dataclass(slots=True)
class _Pass:
    """The sequences of the current pass, and the keys and values that each of its layers has computed."""

    places: list[slice]
    caches: list[DynamicCache | None]
    keys: list[dict[int, torch.Tensor]] = field(default_factory=list)
    values: list[dict[int, torch.Tensor]] = field(default_factory=list)
    masks: dict[tuple[int, int, int, int | None], torch.Tensor] = field(default_factory=dict)


_current: list[_Pass] = []


def segment_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **more: Any,
) -> tuple[torch.Tensor, None]:
    """Compute each sequence's attention by itself; the signature is that of attention functions in transformers."""
    if more.get("softcap") is not None or more.get("position_bias") is not None or more.get("s_aux") is not None:
        raise ValueError("its attention has options that are not supported")
    running, layer = _current[-1], module.layer_idx
    window = more.get("sliding_window")
    found = query.new_empty(1, query.shape[2], query.shape[1], value.shape[-1])
    for number, (place, cache) in enumerate(zip(running.places, running.caches, strict=True)):
        own_keys, own_values = key[:, :, place], value[:, :, place]
        if cache is not None:
            own_keys = torch.cat([cache.layers[layer].keys, own_keys], dim=2)
            own_values = torch.cat([cache.layers[layer].values, own_values], dim=2)
        else:  # a part of the row would keep the whole row in memory
            own_keys, own_values = own_keys.clone(), own_values.clone()
        running.keys[number][layer], running.values[number][layer] = own_keys, own_values
        found[:, place] = _attend(running, query[:, :, place], own_keys, own_values, window, scaling)
    return found, None


def _attend(
    running: _Pass,
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    window: int | None,
    scaling: float | None,
) -> torch.Tensor:
    """Return the attention (1, queries, heads, size) of one sequence. The heads of a group share one product."""
    heads, queries, size = query.shape[1:]
    groups, count = keys.shape[1:3]
    times = heads // groups
    if times == 1 and queries == count and window is None:
        return scaled_dot_product_attention(query, keys, values, is_causal=True, scale=scaling).transpose(1, 2)
    index = times, queries, count, window
    if index not in running.masks:
        seen = torch.ones(queries, count, dtype=torch.bool).tril_(count - queries)
        if window is not None:
            seen.triu_(count - queries - window + 1)
        running.masks[index] = torch.zeros(queries, count).masked_fill_(~seen, float("-inf")).repeat(times, 1)
    mask = running.masks[index].to(query.dtype)
    grouped = query.reshape(1, groups, times * queries, size)
    found = scaled_dot_product_attention(grouped, keys, values, attn_mask=mask, scale=scaling)
    return found.reshape(1, heads, queries, -1).transpose(1, 2)


AttentionInterface.register(SEGMENTS, segment_attention)


@contextmanager
def _running(started: _Pass) -> Iterator[None]:
    _current.append(started)
    try:
        yield
    finally:
        _current.pop()


@torch.inference_mode()
def forward_segments(
    model: Any, architecture: Architecture, segments: Sequence[Segment], features: Mapping[str, Any] | None
) -> tuple[list[DynamicCache], torch.Tensor]:
    """Compute sequences in one pass.

    Parameters
    ----------
    model, architecture
        The model.
    segments : sequence of Segment
        The sequences.
    features : mapping or None
        ``mm_encoder_outputs`` of all their images, in order (`encoder.ImageEncoder.output`).

    Returns
    -------
    caches : list of DynamicCache
        For each sequence, its keys and values after those of its cache.
    logits : Tensor, shape (segments, vocabulary)
        The logits that follow each sequence.
    """
    ends = torch.tensor([len(segment.tokens) for segment in segments]).cumsum(0)
    places = [slice(int(end) - len(segment.tokens), int(end)) for end, segment in zip(ends, segments, strict=True)]
    started = _Pass(places, [segment.cache for segment in segments], [{} for _ in places], [{} for _ in places])
    nowhere = torch.zeros(1, 1, dtype=torch.long)
    unused = architecture.mask(nowhere[:, None, None] == 0, nowhere, nowhere, model.dtype)
    last = ends[None] - 1
    more = {} if features is None else {"mm_encoder_outputs": features}
    with (
        use_attention(SEGMENTS, architecture.grouped_configs),
        last_layer.limit_last_layer(architecture.language, last),
        _running(started),
    ):
        logits = model(
            input_ids=torch.tensor([[token for segment in segments for token in segment.tokens]]),
            position_ids=torch.cat([segment.positions for segment in segments], dim=-1),
            attention_mask=unused,
            use_cache=False,
            logits_to_keep=last[0],
            **more,
        ).logits
    return [_cache(keys, values) for keys, values in zip(started.keys, started.values, strict=True)], logits[0]


def _cache(keys: Mapping[int, torch.Tensor], values: Mapping[int, torch.Tensor]) -> DynamicCache:
    cache: Any = DynamicCache()
    for number in range(len(keys)):
        layer = cache.layer_class_to_replicate()
        layer.lazy_initialization(keys[number], values[number])
        layer.keys, layer.values = keys[number], values[number]
        cache.layers.append(layer)
    return cache


@torch.inference_mode()
def rows_are_independent(language: torch.nn.Module) -> bool:
    """Return whether a linear layer gives a token the same bits whatever number of other tokens stands beside it.

    Matrix products do on some processors and not on others. Each size of layer is tried once.
    """
    layers = {
        tuple(part.weight.shape): part for part in language.modules() if type(part) is torch.nn.Linear
    }  # the last of each size
    draw = torch.Generator().manual_seed(0)
    for layer in layers.values():
        inputs = torch.randn(512, layer.in_features, generator=draw).to(layer.weight.dtype)
        whole = layer(inputs)
        for start, count in zip((0, 5, 64, 131, 201, 179), _ROWS_TESTED, strict=True):
            if not torch.equal(layer(inputs[start : start + count]), whole[start : start + count]):
                return False
    return True
