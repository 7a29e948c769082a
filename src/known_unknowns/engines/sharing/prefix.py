"""Prefixes: the keys and values of a prompt's tokens up to its last picture, kept within a bound of bytes."""

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
    """The cache (1 row) of a prompt's first ``length`` tokens. The position of token i of the text after it is
    ``length + delta + i``: pictures may take more tokens than positions. ``crossing`` is what every later token sees
    of the pictures, (1, 1, pictures, tiles), in models that look at them aside from the text."""

    cache: DynamicCache
    length: int
    delta: int
    crossing: torch.Tensor | None
    bytes: int


class Store:
    """Things kept from one wave of turns to the next, at most ``limit`` bytes of them.

    Nothing is thrown out to make room: waves go over the same pictures in the same order, and whatever came last
    would always push out what is needed first.
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


class Prefixes:
    """Computes prefixes and remembers them. ``at_once`` is how many are computed in one forward pass: with 1, a
    prefix has the same bits whatever is computed beside it, and whether or not it was remembered."""

    def __init__(self, model: Any, architecture: Architecture, *, limit: int, at_once: int) -> None:
        self._model = model
        self._architecture = architecture
        self.at_once = at_once
        self.computed = 0
        self.tokens = 0
        self._kept = Store(limit)
        self._features = Store(limit // 4)
        self._last: dict[Hashable, Prefix] = {}

    def keep_only(self, heads: Collection[Hashable], pictures: Collection[Hashable]) -> None:
        """Forget what the coming turns do not need."""
        self._kept.keep_only(heads)
        self._features.keep_only(pictures)
        self._last = {key: prefix for key, prefix in self._last.items() if key in heads}

    def clear(self) -> None:
        self._kept.clear()
        self._features.clear()
        self._last = {}

    @torch.inference_mode()
    def of(self, prompts: Sequence[Prompt]) -> list[Prefix]:
        """The prefixes of some prompts, one with each head."""
        found = {prompt.head: self._last.get(prompt.head) or self._kept.get(prompt.head) for prompt in prompts}
        missing = [prompt for prompt in prompts if found[prompt.head] is None]
        for start in range(0, len(missing), self.at_once):
            some = missing[start : start + self.at_once]
            for prompt, prefix in zip(some, self._compute(some), strict=True):
                found[prompt.head] = prefix
                self._kept.put(prompt.head, prefix, prefix.bytes)
        self._last = found
        return [found[prompt.head] for prompt in prompts]

    def _compute(self, prompts: Sequence[Prompt]) -> list[Prefix]:
        self.computed += len(prompts)
        self.tokens += sum(prompt.cut for prompt in prompts)
        cache = new_cache(self._model, self._architecture)
        inputs = self._with_features(prompts[0]) if len(prompts) == 1 else several_rows(prompts)
        deltas = run(self._model, self._architecture, inputs, cache)
        crossings = inputs.get("cross_attention_mask")
        return [
            _row(self._architecture, cache, row, prompt.cut, int(deltas[row]), crossings)
            for row, prompt in enumerate(prompts)
        ]

    def _with_features(self, prompt: Prompt) -> dict[str, Any]:
        """A prompt's tensors, with what the vision tower makes of the pictures in their place; that is remembered."""
        inputs = one_row(prompt)
        if not self._architecture.takes_features:
            return inputs
        get: Callable[..., Any] = self._model.get_image_features
        wanted = {name: inputs[name] for name in signature(get).parameters if name in inputs}
        features = self._features.get(prompt.pictures)
        if features is None:
            made = get(**_on(self._model, wanted), return_dict=True)
            features = type(made)(**{name: value for name, value in made.items() if name not in _NOT_NEEDED})
            self._features.put(prompt.pictures, features, sum(t.nbytes for t in _tensors(dict(features))))
        grids = {name: value for name, value in inputs.items() if name not in wanted or "grid" in name}
        return grids | {"mm_encoder_outputs": {"image": features}}


def new_cache(model: Any, architecture: Architecture) -> DynamicCache:
    """A cache that forgets nothing: one made from the configuration drops what has left a sliding layer's window,
    which the next question would still see. Recurrent layers need the configuration to have their state."""
    return DynamicCache(config=model.config) if architecture.recurrent else DynamicCache()


def run(model: Any, architecture: Architecture, inputs: Mapping[str, Any], cache: DynamicCache) -> Sequence[int]:
    """Fills the cache with the prompts' first tokens. Returns each row's difference of position and place."""
    if architecture.rotary is not None:
        architecture.rotary.rope_deltas = None  # it is the last pictures' otherwise
    rows, length = inputs["input_ids"].shape
    last = torch.full((rows, 1), length - 1, device=model.device)
    with last_layer.asked_at(architecture.language, last):
        model(**_on(model, inputs), past_key_values=cache, use_cache=True, logits_to_keep=1)
    deltas = getattr(architecture.rotary, "rope_deltas", None)
    return [0] * rows if deltas is None else deltas.reshape(-1).tolist()


def one_row(prompt: Prompt) -> dict[str, Any]:
    """The processor's tensors of a prompt, cut off behind its last picture."""
    return {name: value[:, : prompt.cut] if name in SEQUENCES else value for name, value in prompt.tensors.items()}


def several_rows(prompts: Sequence[Prompt]) -> dict[str, Any]:
    """The same of several prompts, padded on the left; the pictures' tensors one after another."""
    parts = [one_row(prompt) for prompt in prompts]
    longest = max(prompt.cut for prompt in prompts)
    inputs: dict[str, Any] = {}
    for name in parts[0]:
        values = [part[name] for part in parts]
        if name in SEQUENCES:
            inputs[name] = torch.cat([_padded_left(value, longest) for value in values])
        else:
            inputs[name] = torch.cat(_alike(values))
    if "mm_token_type_ids" not in inputs:
        places = inputs["attention_mask"].long().cumsum(-1) - 1
        inputs["position_ids"] = places.clamp(min=0)
    return inputs


def _padded_left(value: torch.Tensor, length: int) -> torch.Tensor:
    room = value.new_zeros((value.shape[0], length - value.shape[1], *value.shape[2:]))
    return torch.cat([room, value], dim=1)


def _alike(values: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Pads with zeros at the end, as processors do with a batch, until all but the first size are equal."""
    size = [max(sizes) for sizes in zip(*(value.shape[1:] for value in values), strict=True)]
    alike = []
    for value in values:
        whole = value.new_zeros((value.shape[0], *size))
        whole[(slice(None), *(slice(0, length) for length in value.shape[1:]))] = value
        alike.append(whole)
    return alike


def _on(model: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """On the model's device; what is no whole number in its dtype."""
    return {
        name: value.to(model.device, dtype=model.dtype if value.is_floating_point() else None)
        if isinstance(value, torch.Tensor)
        else value
        for name, value in inputs.items()
    }


def _row(
    architecture: Architecture, cache: DynamicCache, row: int, length: int, delta: int, crossings: torch.Tensor | None
) -> Prefix:
    """One row of a cache, without the padding."""
    alone = copy.copy(cache)
    alone.layers = [copy.copy(layer) for layer in cache.layers]
    several = not architecture.recurrent and any(len(layer.keys) > 1 for layer in cache.layers)
    if several:
        for index, layer in enumerate(alone.layers):
            start = 0 if index in architecture.crossing else layer.keys.shape[-2] - length
            layer.keys = layer.keys[row : row + 1, :, start:].clone()
            layer.values = layer.values[row : row + 1, :, start:].clone()
    crossing = None if crossings is None else crossings[row : row + 1, -1:]
    size = sum(tensor.nbytes for layer in alone.layers for tensor in _tensors(vars(layer)))
    return Prefix(alone, length, delta, crossing, size)


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for part in value for tensor in _tensors(part)]
    return []
