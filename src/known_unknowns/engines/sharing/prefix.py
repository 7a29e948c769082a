"""Prefixes: the keys and values of a prompt's tokens up to its last image, cached within a limit of bytes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
from transformers import DynamicCache

from known_unknowns.engines._prompts import SEQUENCES, Prompt
from known_unknowns.engines.sharing import last_layer
from known_unknowns.engines.sharing.architecture import Architecture

_NOT_NEEDED = ("hidden_states", "attentions")


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
    """Objects kept from one wave of turns to the next, at most ``limit`` bytes of them.

    Nothing is evicted to make room. Waves use the images in the same order, so that the least recently used one would
    always be needed next.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.bytes = 0
        self._kept: dict[Hashable, tuple[Any, int]] = {}

    def get(self, key: Hashable) -> Any | None:
        return self._kept[key][0] if key in self._kept else None

    def put(self, key: Hashable, value: Any, size: int) -> None:
        if key not in self._kept and self.bytes + size <= self.limit:
            self._kept[key] = value, size
            self.bytes += size

    def keep_only(self, keys: Collection[Hashable]) -> None:
        for key in [key for key in self._kept if key not in keys]:
            self.bytes -= self._kept.pop(key)[1]

    def clear(self) -> None:
        self.keep_only(())


class PrefixCache:
    """Computes and caches prefixes.

    ``prefixes_per_pass`` prefixes are computed in one forward pass. With 1, a prefix has the same bits whether it was
    cached or not, and whatever is computed next to it.
    """

    def __init__(self, model: Any, architecture: Architecture, *, limit: int, prefixes_per_pass: int) -> None:
        self._model = model
        self._architecture = architecture
        self.prefixes_per_pass = prefixes_per_pass
        self.computed = 0
        self.tokens = 0
        self._kept = BoundedCache(limit)
        self._features = BoundedCache(limit // 4)
        self._last: dict[Hashable, Prefix] = {}

    def keep_only(self, heads: Collection[Hashable], images: Collection[Hashable]) -> None:
        """Drop everything that the coming turns do not need."""
        self._kept.keep_only(heads)
        self._features.keep_only(images)
        self._last = {key: prefix for key, prefix in self._last.items() if key in heads}

    def clear(self) -> None:
        self._kept.clear()
        self._features.clear()
        self._last = {}

    @torch.inference_mode()
    def get(self, prompts: Sequence[Prompt]) -> list[Prefix]:
        """Return the prefixes of some prompts with different heads. Compute those that are not cached."""
        found = {prompt.head: self._last.get(prompt.head) or self._kept.get(prompt.head) for prompt in prompts}
        missing = [prompt for prompt in prompts if found[prompt.head] is None]
        for start in range(0, len(missing), self.prefixes_per_pass):
            some = missing[start : start + self.prefixes_per_pass]
            for prompt, prefix in zip(some, self._compute(some), strict=True):
                found[prompt.head] = prefix
                self._kept.put(prompt.head, prefix, prefix.bytes)
        self._last = found
        return [found[prompt.head] for prompt in prompts]

    def _compute(self, prompts: Sequence[Prompt]) -> list[Prefix]:
        self.computed += len(prompts)
        self.tokens += sum(prompt.prefix_length for prompt in prompts)
        cache = new_cache(self._model, self._architecture)
        inputs = self._with_features(prompts[0]) if len(prompts) == 1 else several_rows(prompts)
        deltas = fill_cache(self._model, self._architecture, inputs, cache)
        cross_masks = inputs.get("cross_attention_mask")
        return [
            _select_row(self._architecture, cache, row, prompt.prefix_length, int(deltas[row]), cross_masks)
            for row, prompt in enumerate(prompts)
        ]

    def _with_features(self, prompt: Prompt) -> dict[str, Any]:
        """Return a prompt's tensors with the vision encoder's features in place of its images.

        The features are cached.
        """
        inputs = one_row(prompt)
        if not self._architecture.takes_features:
            return inputs
        get: Callable[..., Any] = self._model.get_image_features
        wanted = {name: inputs[name] for name in signature(get).parameters if name in inputs}
        features = self._features.get(prompt.images)
        if features is None:
            made = get(**_to_device(self._model, wanted), return_dict=True)
            features = type(made)(**{name: value for name, value in made.items() if name not in _NOT_NEEDED})
            self._features.put(prompt.images, features, sum(t.nbytes for t in _tensors(dict(features))))
        grids = {name: value for name, value in inputs.items() if name not in wanted or "grid" in name}
        return grids | {"mm_encoder_outputs": {"image": features}}


def new_cache(model: Any, architecture: Architecture) -> DynamicCache:
    """Return a cache that keeps every token.

    A cache made from the configuration drops tokens outside a sliding layer's window, which the next question still
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
        model(**_to_device(model, inputs), past_key_values=cache, use_cache=True, logits_to_keep=1)
    deltas = getattr(architecture.rotary, "rope_deltas", None)
    return [0] * rows if deltas is None else deltas.reshape(-1).tolist()


def one_row(prompt: Prompt) -> dict[str, Any]:
    """Return the processor's tensors of a prompt, cut after its last image."""
    return {
        name: value[:, : prompt.prefix_length] if name in SEQUENCES else value for name, value in prompt.tensors.items()
    }


def several_rows(prompts: Sequence[Prompt]) -> dict[str, Any]:
    """Return the tensors of several prompts, padded on the left, with the images' tensors concatenated."""
    parts = [one_row(prompt) for prompt in prompts]
    longest = max(prompt.prefix_length for prompt in prompts)
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


def _to_device(model: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Move tensors to the model's device, and floating-point tensors to its dtype."""
    return {
        name: value.to(model.device, dtype=model.dtype if value.is_floating_point() else None)
        if isinstance(value, torch.Tensor)
        else value
        for name, value in inputs.items()
    }


def _select_row(
    architecture: Architecture, cache: DynamicCache, row: int, length: int, delta: int, cross_masks: torch.Tensor | None
) -> Prefix:
    """Return one row of a cache, without the padding."""
    alone = copy.copy(cache)
    alone.layers = [copy.copy(layer) for layer in cache.layers]
    several = not architecture.recurrent and any(len(layer.keys) > 1 for layer in cache.layers)
    if several:
        for index, layer in enumerate(alone.layers):
            start = 0 if index in architecture.cross_attention_layers else layer.keys.shape[-2] - length
            layer.keys = layer.keys[row : row + 1, :, start:].clone()
            layer.values = layer.values[row : row + 1, :, start:].clone()
    cross_mask = None if cross_masks is None else cross_masks[row : row + 1, -1:]
    size = sum(tensor.nbytes for layer in alone.layers for tensor in _tensors(vars(layer)))
    return Prefix(alone, length, delta, cross_mask, size)


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for part in value for tensor in _tensors(part)]
    return []
