"""Prefixes: the keys and values of a prompt's tokens up to its last image, computed in one pass over these tokens."""

from __future__ import annotations

import copy
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache

from prefix_sharing import last_layer
from prefix_sharing.architecture import Architecture
from prefix_sharing.prompts import SEQUENCES


@dataclass(frozen=True, slots=True)
class Prefix:
    """The cache (1 row) of a prompt's first ``length`` tokens.

    Attributes
    ----------
    cache : DynamicCache
        Keys and values.
    length : int
        Number of tokens.
    delta : int
        The position of token i after the prefix is ``length + delta + i``: images may take more tokens than positions.
    cross_mask : Tensor or None, shape (1, 1, images, tiles)
        What every later token may attend to, in models with cross-attention to the images.
    bytes : int
        Memory used.
    """

    cache: DynamicCache
    length: int
    delta: int
    cross_mask: torch.Tensor | None
    bytes: int


class BoundedCache:
    """Objects kept from one list of prompts to the next, at most ``limit`` bytes of them.

    Nothing is evicted to make room. The next prompts often use the images in the same order, so that the least recently
    used one would always be needed next.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.bytes = 0
        self._kept: dict[Hashable, tuple[Any, int]] = {}

    def get(self, key: Hashable) -> Any | None:
        return self._kept[key][0] if key in self._kept else None

    def put(self, key: Hashable, value: Any, size: int) -> bool:
        """Keep a value if there is room. Return whether it is kept."""
        if key not in self._kept and self.bytes + size <= self.limit:
            self._kept[key] = value, size
            self.bytes += size
        return key in self._kept

    def keep_only(self, keys: Collection[Hashable]) -> None:
        for key in [key for key in self._kept if key not in keys]:
            self.bytes -= self._kept.pop(key)[1]

    def clear(self) -> None:
        self.keep_only(())


def new_cache(model: Any, architecture: Architecture) -> DynamicCache:
    """Return a cache that keeps every token.

    A cache made from the configuration drops tokens outside a sliding layer's window, which the next prompt still
    needs. Recurrent layers need the configuration for their state.
    """
    return DynamicCache(config=model.config) if architecture.recurrent else DynamicCache()


def fill_cache(model: Any, architecture: Architecture, inputs: Mapping[str, Any], cache: DynamicCache) -> Sequence[int]:
    """Compute the prompts' first tokens into the cache. Return each row's difference of position and place."""
    if architecture.rotary is not None:
        architecture.rotary.rope_deltas = None  # reset the value of the previous images
    rows, length = inputs["input_ids"].shape
    last = torch.full((rows, 1), length - 1, device=model.device)
    with last_layer.limit_last_layer(architecture.language, last):
        model(**to_device(model, inputs), past_key_values=cache, use_cache=True, logits_to_keep=1)
    deltas = getattr(architecture.rotary, "rope_deltas", None)
    return [0] * rows if deltas is None else deltas.reshape(-1).tolist()


def several_rows(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the tensors of several prefixes, padded on the left, with the images' tensors concatenated."""
    longest = max(part["input_ids"].shape[1] for part in parts)
    inputs: dict[str, Any] = {}
    for name in parts[0]:
        values = [part[name] for part in parts]
        if name in SEQUENCES:
            inputs[name] = torch.cat([_padded_left(value, longest) for value in values])
        else:
            inputs[name] = torch.cat(_pad_to_common_shape(values))
    if "mm_token_type_ids" not in inputs:
        places = inputs["attention_mask"].long().cumsum(-1) - 1
        inputs["position_ids"] = places.clamp(min=0)
    return inputs


def _padded_left(value: torch.Tensor, length: int) -> torch.Tensor:
    room = value.new_zeros((value.shape[0], length - value.shape[1], *value.shape[2:]))
    return torch.cat([room, value], dim=1)


def _pad_to_common_shape(values: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Pad with zeros at the end, as processors do with a batch, until all sizes but the first are equal."""
    size = [max(sizes) for sizes in zip(*(value.shape[1:] for value in values), strict=True)]
    alike = []
    for value in values:
        whole = value.new_zeros((value.shape[0], *size))
        whole[(slice(None), *(slice(0, length) for length in value.shape[1:]))] = value
        alike.append(whole)
    return alike


def to_device(model: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Move tensors to the model's device, and floating-point tensors to its dtype."""
    return {
        name: value.to(model.device, dtype=model.dtype if value.is_floating_point() else None)
        if isinstance(value, torch.Tensor)
        else value
        for name, value in inputs.items()
    }


def select_row(
    architecture: Architecture, cache: DynamicCache, row: int, length: int, delta: int, cross_masks: torch.Tensor | None
) -> Prefix:
    """Return one row of a cache, without the padding."""
    alone = copy.copy(cache)
    layers: list[Any] = [copy.copy(layer) for layer in cache.layers]
    alone.layers = layers
    several = not architecture.recurrent and any(len(layer.keys) > 1 for layer in layers)
    if several:
        for index, layer in enumerate(layers):
            start = 0 if index in architecture.cross_attention_layers else layer.keys.shape[-2] - length
            layer.keys = layer.keys[row : row + 1, :, start:].clone()
            layer.values = layer.values[row : row + 1, :, start:].clone()
    cross_mask = None if cross_masks is None else cross_masks[row : row + 1, -1:]
    return new_prefix(alone, length, delta, cross_mask)


def new_prefix(cache: DynamicCache, length: int, delta: int, cross_mask: torch.Tensor | None = None) -> Prefix:
    """Return a prefix with its size in bytes."""
    size = sum(tensor.nbytes for layer in cache.layers for tensor in _tensors(vars(layer)))
    return Prefix(cache, length, delta, cross_mask, size)


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for part in value for tensor in _tensors(part)]
    return []
