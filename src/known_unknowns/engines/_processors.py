"""Load a checkpoint's processor, without its video part if that cannot be loaded.

Many processors accept videos besides images and need torchvision for them, even to be created. This project asks about
images only. If torchvision is not installed or not selected, the processor is created from its other parts.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any

import transformers
from transformers import AutoConfig, AutoProcessor, ProcessorMixin
from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

_VIDEOS = "video_processor"
_VIDEO_ERROR_WORDS = ("torchvision", "video processor")
"""Words in errors that concern the video part. It names torchvision because it has no PIL backend."""
_PIXTRAL = "PixtralProcessor"
_NUMBER_WORDS = "num2words"
"""A package that writes numbers as words, for videos only."""


class _NoVideos:
    """Takes the place of the part for videos."""

    num_frames = fps = None


class _PartsWithoutVideos(ProcessorMixin):
    """Accepts a part for videos by name, as Gemma 4's processor gives it, and keeps none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.pop(_VIDEOS, None)
        super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]  # transformers gives it no types


def load(source: str, backend: str, where: Mapping[str, Any]) -> Any:
    """Load the processor of a folder or repository; ``where`` holds further arguments of ``from_pretrained``.

    Raises what transformers raises: OSError, ValueError, ImportError.
    """
    try:
        return AutoProcessor.from_pretrained(source, backend=backend, **where)
    except (ImportError, ValueError) as error:
        if not any(word in str(error).lower() for word in _VIDEO_ERROR_WORDS):
            raise
        if _PIXTRAL in str(error):
            return _pixtral().from_pretrained(source, backend=backend, **where)
        kind = _kind(source, where)
        if kind is None:
            raise
        return without_videos(kind).from_pretrained(source, backend=backend, **where)


def takes(processor: Any, argument: str) -> bool:
    """Return whether a processor, or its part for images, has an argument. `load` ignores those that neither has."""
    part = getattr(processor, "image_processor", None)
    known = getattr(getattr(part, "valid_kwargs", None), "__annotations__", {})
    return argument in known or hasattr(part, argument) or argument in signature(type(processor).__init__).parameters


@cache
def _pixtral() -> Any:
    """Return Pixtral's processor. Its module takes one function from the image processor that needs torchvision."""
    package = "transformers.models.pixtral"
    wanted = f"{package}.image_processing_pixtral"
    sys.modules.setdefault(wanted, import_module(f"{package}.image_processing_pil_pixtral"))
    try:
        return getattr(import_module(f"{package}.processing_pixtral"), _PIXTRAL)
    finally:
        del sys.modules[wanted]


def _kind(source: str, where: Mapping[str, Any]) -> Any:
    """Return the processor's class if video is one of its parts, else None."""
    name = PROCESSOR_MAPPING_NAMES.get(AutoConfig.from_pretrained(source, **where).model_type)
    kind = getattr(transformers, name, None) if name else None
    return kind if kind is not None and _VIDEOS in signature(kind.__init__).parameters else None


@cache
def without_videos(kind: Any) -> Any:
    """Return a subclass of the processor class ``kind`` that loads nothing for videos."""

    def get_attributes(cls: type[Any]) -> list[str]:
        return [part for part in kind.get_attributes() if part != _VIDEOS]

    def from_args_and_dict(cls: type[Any], /, args: Any, processor_dict: Mapping[str, Any], **settings: Any) -> Any:
        module = sys.modules[kind.__module__]
        if getattr(module, _NUMBER_WORDS, str) is None:  # SmolVLM's wants the package for the length of a video
            setattr(module, _NUMBER_WORDS, str)
        made = super(found, cls).from_args_and_dict(args, processor_dict, **settings | {_VIDEOS: None})
        (made[0] if isinstance(made, tuple) else made).video_processor = _NoVideos()
        return made

    members = {
        "from_args_and_dict": classmethod(from_args_and_dict),
        "get_attributes": classmethod(get_attributes),
        "__module__": kind.__module__,
    }
    found: Any = type(kind.__name__, (kind, _PartsWithoutVideos), members)
    return found
