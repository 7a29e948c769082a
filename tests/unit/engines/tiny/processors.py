"""The real processors, where importing or making them needs torchvision for parts that images do not."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import Any
from unittest import mock


@cache
def without_videos(kind: type) -> type:
    """The processor class ``kind``, which takes None for its video processor."""

    class ForImages(kind):
        def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> Any:
            if argument_name == "video_processor":
                return None
            return super().check_argument_for_proper_class(argument_name, argument)

    ForImages.__name__ = kind.__name__
    return ForImages


@cache
def pixtral_processor() -> type:
    """Its module takes one function from the torchvision image processor; the PIL one has the same."""
    package = "transformers.models.pixtral"
    pil_module = import_module(f"{package}.image_processing_pil_pixtral")
    with mock.patch.dict(sys.modules, {f"{package}.image_processing_pixtral": pil_module}):
        return import_module(f"{package}.processing_pixtral").PixtralProcessor
