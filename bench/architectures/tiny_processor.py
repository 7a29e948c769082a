"""A real processor of any model class: the shared tiny tokenizer with the class's tokens, and small images."""

from __future__ import annotations

import inspect
import re
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import transformers
from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES
from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

from bench.architectures.specials import Special
from tests.unit.engines.tiny.processors import pixtral_processor
from tests.unit.engines.tiny.weights import PATCH, TILE
from tests.unit.engines.tiny.words import piece_tokenizer, template, tokenizer

_LITERAL = re.compile(r"""["'](<[^"'\s]{1,40}>|\[[A-Z_]+\])["']""")
_ROLE = re.compile(r"""tokenizer\.(\w+_token)(?:_ids?)?\b|getattr\(\s*(?:self\.)?tokenizer,\s*["'](\w+_token)["']""")
_ORDINARY = {"bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "add_bos_token", "add_eos_token"}
_MANY_PIXELS = 1024
_GRIDS = [[TILE, 2 * TILE], [2 * TILE, TILE], [2 * TILE, 2 * TILE]]
_PIXELS = {"shortest_edge": 32 * 32, "longest_edge": 48 * 48}
_VIDEOS = {"merge_size": 2, "num_frames": None, "fps": None, "temporal_patch_size": 2}
_VIDEOS |= {"slice_mode": False, "downsample_mode": "16x", "model_input_names": []}
_EDGES = {"shortest_edge": TILE, "longest_edge": 2 * TILE}


_WITHOUT_TORCHVISION = ("Emu3ImageProcessor", "VideoLlavaImageProcessor")
"""Image processors by Pillow whose names do not say so."""


class NotBuilt(Exception):
    """No tiny processor can be built for a class, with the reason."""


class NotApplicable(NotBuilt):
    """The class cannot be asked a question about an image, with the reason."""


def processor_of(model_type: str, special: Special) -> Any:
    """Return a class's processor."""
    kind = _class(special.processor or PROCESSOR_MAPPING_NAMES.get(model_type), "processor")
    words = _tokenizer(kind, special)
    parts: dict[str, Any] = {}
    for name in inspect.signature(kind.__init__).parameters:
        if name == "image_processor":
            parts[name] = image_processor_of(model_type, special)
        elif name == "tokenizer":
            parts[name] = words
        elif name == "qformer_tokenizer":
            parts[name] = tokenizer()
        elif name in ("video_processor", "feature_extractor"):
            parts[name] = SimpleNamespace(**_VIDEOS)
        elif name == "patch_size":
            parts[name] = PATCH
    parts |= special.processor_settings
    processor = _for_images(kind)(**parts)
    for name, value in special.processor_attributes.items():
        setattr(processor, name, value)
    processor.chat_template = template(_image_text(processor, special))
    return processor


def _class(name: str | None, what: str) -> type:
    if not name:
        raise NotBuilt(f"transformers names no {what} for it")
    if name == "PixtralProcessor":
        return pixtral_processor()
    return getattr(transformers, name)


def _for_images(kind: type) -> type:
    """Return a subclass that takes anything for the parts that only videos and sounds need."""

    class ForImages(kind):  # type: ignore[misc,valid-type]
        def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> Any:
            if argument_name in ("video_processor", "feature_extractor"):
                return None
            return super().check_argument_for_proper_class(argument_name, argument)

    ForImages.__name__ = kind.__name__
    return ForImages


def _tokenizer(kind: type, special: Special) -> Any:
    if special.pieces:
        return piece_tokenizer(special.pieces)
    module = find_spec(kind.__module__)
    source = Path(str(module and module.origin)).read_text(encoding="utf-8")
    roles = {name for pair in _ROLE.findall(source) for name in pair if name} - _ORDINARY
    named = {role: f"<|{role.removesuffix('_token')}|>" for role in sorted(roles)} | special.roles
    tokens = dict.fromkeys([*named.values(), *sorted(set(_LITERAL.findall(source))), *special.tokens])
    ours = tokenizer()
    return tokenizer(*(token for token in tokens if token not in ours.get_vocab()), **named)


def image_processor_of(model_type: str, special: Special) -> Any:
    """Return a class's image processor, by Pillow if there is one, for images of about 32 x 32 pixels."""
    kind = _class(_image_processor_name(model_type, special), "image processor")
    default = kind()
    settings: dict[str, Any] = {}
    for key, small in (("patch_size", PATCH), ("image_grid_pinpoints", _GRIDS), ("tile_size", TILE)):
        value = getattr(default, key, None)
        if value is not None:
            plain = isinstance(value, int | list | tuple)
            settings[key] = small if plain else dict.fromkeys(_entries(value), small)
    for key in ("size", "crop_size", "max_image_size"):
        value = getattr(default, key, None)
        if value is not None:
            settings[key] = TILE if isinstance(value, int) else _small_size(_entries(value))
    if getattr(default, "max_pixels", None):
        settings |= {"min_pixels": _PIXELS["shortest_edge"], "max_pixels": _PIXELS["longest_edge"]}
    return kind(**settings | special.image_settings)


def _entries(size: Any) -> dict[str, int]:
    """Return the entries of a size that are set."""
    entries = size if isinstance(size, dict) else vars(size)
    return {key: value for key, value in entries.items() if value is not None}


def _image_processor_name(model_type: str, special: Special) -> str | None:
    """Return the name of a class's image processor, by Pillow if there is one."""
    if special.image_processor:
        return special.image_processor
    kinds = IMAGE_PROCESSOR_MAPPING_NAMES.get(model_type) or {}
    found = kinds.get("pil") or kinds.get("torchvision")
    return found if isinstance(found, str) else getattr(found, "__name__", None)


def needs_torchvision(model_type: str, special: Special) -> bool:
    """Return whether a class's image processor is torchvision's."""
    name = _image_processor_name(model_type, special)
    return name is not None and not name.endswith("Pil") and name not in _WITHOUT_TORCHVISION


def _small_size(size: dict[str, Any]) -> dict[str, Any]:
    if {"shortest_edge", "longest_edge"} <= size.keys():
        return dict(_PIXELS if size["shortest_edge"] > _MANY_PIXELS else _EDGES)
    if "min_pixels" in size:
        return {"min_pixels": _PIXELS["shortest_edge"], "max_pixels": _PIXELS["longest_edge"]}
    return {key: TILE if key != "longest_edge" else 2 * TILE for key in size}


def _image_text(processor: Any, special: Special) -> str:
    if special.image is not None:
        return special.image
    token = getattr(processor, "image_token", None) or getattr(processor.tokenizer, "image_token", None)
    if token is None:
        raise NotBuilt("its processor names no image token")
    return str(token)
