"""Image features: the output of a model's vision encoder, computed once for each image.

The encoder treats images separately. So the features of a prompt's images are those of each image alone, and the
language model takes them in place of the pixels (``mm_encoder_outputs``). `prefix_plans.PrefixPlans` compares the first
prefixes that are computed this way with those computed from the pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch

from prefix_sharing.prompts import Prompt, digest

_FIELDS = ("pooler_output", "deepstack_features")
"""What language models take from an encoder's output; the others are not kept."""
_GRID = "image_grid_thw"

Unit = dict[str, torch.Tensor]
"""The processor's tensors of one image, or of one tile of it, which the encoder treats separately."""


class FeatureCache:
    """Objects within a limit of bytes. To make room, those that no coming prompt needs are dropped, oldest first.

    The others stay: prompts often use the images in the same order again, so that the least recently used one would
    always be needed next.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.bytes = 0
        self._kept: dict[Hashable, tuple[Any, int, frozenset[str]]] = {}
        self._needed: Collection[str] = frozenset()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable) -> Any | None:
        return self._kept[key][0] if key in self._kept else None

    def put(self, key: Hashable, value: Any, size: int, images: Collection[str]) -> None:
        """Keep a value that belongs to one of ``images``, if there is room."""
        if key in self._kept or size > self.limit:
            return
        for other in [other for other, (_, _, of) in self._kept.items() if of.isdisjoint(self._needed)]:
            if self.bytes + size <= self.limit:
                break
            self.bytes -= self._kept.pop(other)[1]
        if self.bytes + size <= self.limit:
            self._kept[key] = value, size, frozenset(images)
            self.bytes += size

    def need(self, images: Collection[str]) -> None:
        """Tell which images the coming prompts show."""
        self._needed = frozenset(images)

    def clear(self) -> None:
        self._kept.clear()
        self.bytes = 0


@dataclass(frozen=True, slots=True)
class EncodedImages:
    """The features of one prompt's images.

    Attributes
    ----------
    keys : tuple of bytes
        The digest of each unit's tensors.
    features : tuple of mapping
        The encoder's output for each unit.
    single : bool
        Each unit is one of the prompt's images.
    """

    keys: tuple[bytes, ...]
    features: tuple[Mapping[str, Any], ...]
    single: bool

    @property
    def tokens(self) -> list[int]:
        """Return the number of tokens of each unit."""
        return [_tokens(unit["pooler_output"]) for unit in self.features]


def features_of(model: Any) -> Callable[..., Any] | None:
    """Return the function of a model that computes image features; None if there is none."""
    parts: tuple[Any, ...] = (model, getattr(model, "model", None))
    return next((part.get_image_features for part in parts if hasattr(part, "get_image_features")), None)


class ImageEncoder:
    """Computes and caches the features of images.

    Parameters
    ----------
    model : PreTrainedModel
        A model with `features_of`, whose forward pass takes ``mm_encoder_outputs``.
    limit : int
        Bytes for cached features.
    together : bool
        Encode several images in one pass. Otherwise an image's features have the same bits in any prompt.

    Attributes
    ----------
    computed, reused : int
        Units whose features were computed, and whose features were cached.
    """

    def __init__(self, model: Any, *, limit: int, together: bool) -> None:
        self._model = model
        get = features_of(model)
        if get is None:
            raise ValueError("it has no function that computes image features")
        self._get = get
        self._names = frozenset(signature(self._get).parameters)
        self._together = together
        self._kept = FeatureCache(limit)
        self.computed = self.reused = 0

    def prepare(self, prompts: Sequence[Prompt], pool: Executor) -> None:
        """Compute the digests of the coming prompts' images in other threads, while the model computes."""
        waiting = {id(prompt.tensors): prompt for prompt in prompts if prompt.tensors.units is None}
        for prompt, units in zip(waiting.values(), pool.map(self._split, waiting.values()), strict=True):
            prompt.tensors.units = units

    def need(self, images: Collection[str]) -> None:
        self._kept.need(images)

    def clear(self) -> None:
        self._kept.clear()

    def forget(self) -> None:
        """Drop all features and counts."""
        self.clear()
        self.computed = self.reused = 0

    def remaining_inputs(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the tensors that a forward pass needs besides the features."""
        return {name: value for name, value in inputs.items() if name not in self._names or "grid" in name}

    def encode(self, prompts: Sequence[Prompt]) -> list[EncodedImages]:
        """Return the features of the prompts' images."""
        units, keys = zip(*map(self._units, prompts), strict=True)
        images = {key: prompt.images for prompt, of in zip(prompts, keys, strict=True) for key in of}
        waiting = {key: unit for of, some in zip(keys, units, strict=True) for key, unit in zip(of, some, strict=True)}
        found: dict[bytes, Any] = {key: self._kept.get(key) for key in waiting}
        missing = [key for key, features in found.items() if features is None]
        self.computed += len(missing)
        self.reused += sum(map(len, keys)) - len(missing)
        for key, features in zip(missing, self._compute([waiting[key] for key in missing]), strict=True):
            found[key] = features
            self._kept.put(key, features, _nbytes(features), images[key])
        return [
            EncodedImages(of, tuple(found[key] for key in of), len(of) == len(prompt.images))
            for prompt, of in zip(prompts, keys, strict=True)
        ]

    def _units(self, prompt: Prompt) -> tuple[list[Unit], tuple[bytes, ...]]:
        """Return the tensors of each of a prompt's images, and their digests."""
        if prompt.tensors.units is None:
            prompt.tensors.units = self._split(prompt)
        found: tuple[list[Unit], tuple[bytes, ...]] = prompt.tensors.units
        return found

    def _split(self, prompt: Prompt) -> tuple[list[Unit], tuple[bytes, ...]]:
        units = split(self._wanted(prompt), len(prompt.images))
        return units, tuple(map(digest, units))

    def output(self, features: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return ``mm_encoder_outputs`` for units in the order of their tokens."""
        return {"image": self._kind(**{name: _join([unit[name] for unit in features]) for name in features[0]})}

    def _wanted(self, prompt: Prompt) -> dict[str, torch.Tensor]:
        return {name: value for name, value in prompt.tensors.items() if name in self._names}

    def _compute(self, units: Sequence[Unit]) -> list[dict[str, Any]]:
        moved = [self._moved(unit) for unit in units]
        if self._together and len(units) > 1 and (all_at_once := _concatenated(moved)) is not None:
            features = self._forward(all_at_once)
            counts = {len(value) for name, value in features.items() if name == "pooler_output"}
            if counts == {len(units)}:
                return [
                    {name: _pick(value, index, name == "deepstack_features") for name, value in features.items()}
                    for index in range(len(units))
                ]
        return [self._forward(unit) for unit in moved]

    def _moved(self, unit: Unit) -> Unit:
        device, dtype = self._model.device, self._model.dtype
        return {name: value.to(device, dtype if value.is_floating_point() else None) for name, value in unit.items()}

    @torch.inference_mode()
    def _forward(self, unit: Unit) -> dict[str, Any]:
        made = self._get(**unit, return_dict=True)
        self._kind = type(made)
        return {name: made[name] for name in _FIELDS if made.get(name) is not None}


def split(wanted: Mapping[str, torch.Tensor], images: int) -> list[Unit]:
    """Return the tensors of each image, or of each tile where the tensors do not tell which tiles an image has.

    The tensors of all images are one unit if they cannot be split.
    """
    if images == 1:
        return [dict(wanted)]
    shared = {name: value for name, value in wanted.items() if value.numel() == 1 and name != "pixel_values"}
    own = {name: value for name, value in wanted.items() if name not in shared}
    if _GRID in wanted:
        sizes = wanted[_GRID].prod(dim=-1).tolist()
        if len(sizes) != images or any(len(value) not in (sum(sizes), images) for value in own.values()):
            return [dict(wanted)]
        parts = {name: value.split(1 if len(value) == images else sizes) for name, value in own.items()}
        return [shared | {name: value[index] for name, value in parts.items()} for index in range(images)]
    pixels = own.get("pixel_values")
    if pixels is None:
        return [dict(wanted)]
    dim = 1 if len(pixels) == 1 and pixels.dim() == 5 else 0  # a batch of one prompt with all its tiles
    if any(value.dim() <= dim or value.shape[dim] != pixels.shape[dim] for value in own.values()):
        return [dict(wanted)]
    count = pixels.shape[dim]
    return [shared | {name: value.narrow(dim, index, 1) for name, value in own.items()} for index in range(count)]


def _concatenated(units: Sequence[Unit]) -> Unit | None:
    """Return one unit of all, or None if their tensors have unequal sizes."""
    shapes = {tuple((name, value.shape[1:], value.dim()) for name, value in sorted(unit.items())) for unit in units}
    if len(shapes) > 1:
        return None
    return {name: torch.cat([unit[name] for unit in units]) for name in units[0]}


def _pick(value: Any, index: int, layered: bool) -> Any:
    if layered:
        return [_pick(layer, index, False) for layer in value]
    picked = value[index : index + 1]
    return picked.clone() if isinstance(picked, torch.Tensor) else [tensor.clone() for tensor in picked]


def _join(parts: Sequence[Any]) -> Any:
    """Concatenate tensors, and lists of them; deepstack features are lists for each layer."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, torch.Tensor):
        return torch.cat(list(parts))
    if isinstance(first[0], torch.Tensor):
        return [tensor for part in parts for tensor in part]
    return [_join(layer) for layer in zip(*parts, strict=True)]


def _tokens(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel() // value.shape[-1]
    return sum(map(_tokens, value))


def _nbytes(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return int(value.untyped_storage().nbytes())
    if isinstance(value, Mapping):
        value = list(value.values())
    return sum(map(_nbytes, value))
