"""Tiny random models of any image-text-to-text class, with their processors."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

from bench.architectures.specials import SPECIALS, Special
from bench.architectures.tiny_config import merge, shrunk
from bench.architectures.tiny_processor import NotApplicable, NotBuilt, needs_torchvision, processor_of
from tests.unit.engines.tiny import instructblip, llava, others, qwen, tiles
from tests.unit.engines.tiny.weights import enliven

CLASSES: dict[str, str] = dict(MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES)
BY_HAND: dict[str, Callable[[], tuple[Any, Any]]] = {
    "aya_vision": tiles.aya_vision,
    "blip-2": others.blip2,
    "gemma3": others.gemma3,
    "glm4v": qwen.glm4v,
    "idefics3": tiles.idefics3,
    "instructblip": instructblip.instructblip,
    "internvl": tiles.internvl,
    "llava": llava.llava,
    "llava_next": llava.llava_next,
    "llava_onevision": llava.llava_onevision,
    "mistral3": tiles.mistral3,
    "mllama": others.mllama,
    "paligemma": others.paligemma,
    "qwen2_5_vl": qwen.qwen2_5_vl,
    "qwen2_vl": qwen.qwen2_vl,
    "qwen3_5": qwen.qwen3_5,
    "qwen3_vl": qwen.qwen3_vl,
    "smolvlm": tiles.smolvlm,
}
"""The classes whose tiny model the unit tests build by hand."""
_SECTIONS = [2, 3, 3]
_MOST = 20_000_000
"""Parameters of a model that is still tiny."""


def build(model_type: str) -> tuple[Any, Callable[[], Any]]:
    """Return a class's tiny model, and a function that makes its processor.

    Raises
    ------
    NotBuilt
        No tiny model is built, with the reason; `NotApplicable` if the class answers no question about an image.
    """
    special = SPECIALS.get(model_type, Special())
    if special.reason:
        raise NotApplicable(special.reason)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if by_hand := BY_HAND.get(model_type):
            return by_hand()[0], lambda: by_hand()[1]
        processor = processor_of(model_type, special)
        words = processor.tokenizer
        kind = getattr(transformers, CLASSES[model_type])
        model = kind(config_of(model_type, special, processor, kind)).float()
    if sum(weight.numel() for weight in model.parameters()) > _MOST:
        raise NotBuilt(f"its smallest model has more than {_MOST:,} parameters")
    return _with_weights(model, words), lambda: processor_of(model_type, special)


def packages_of(model_type: str) -> list[str]:
    """Return the packages that a class needs besides those of transformers, such as torchvision for its images."""
    special = SPECIALS.get(model_type, Special())
    if model_type in BY_HAND or special.reason:
        return []
    return [*special.packages, *(["torchvision"] if needs_torchvision(model_type, special) else [])]


def config_of(model_type: str, special: Special, processor: Any, kind: type) -> Any:
    """Return a class's tiny configuration."""
    words = processor.tokenizer

    def token(name: str) -> int | None:
        if name in special.names:
            return int(words.convert_tokens_to_ids(special.names[name]))
        for owner in (processor, words):
            value = getattr(owner, f"{name}_token", None)
            if value is not None and (number := words.convert_tokens_to_ids(str(value))) is not None:
                return number
        return None

    config = CONFIG_MAPPING[model_type]
    settings = merge(shrunk(config(), token, len(words)), special.config)
    if "vocabulary_map" in settings:
        settings["vocabulary_map"] = words.get_vocab()
    if "mrope_section" in inspect.getsource(sys.modules[kind.__module__]):
        for part in (settings, settings.get("text_config") or {}):
            if isinstance(rope := part.get("rope_parameters"), dict) and "rope_type" in rope:
                rope.setdefault("mrope_section", _SECTIONS)
    return config(**settings)


def _with_weights(model: Any, words: Any) -> Any:
    try:
        return enliven(model, words)
    except (AttributeError, RuntimeError, IndexError):  # no output embeddings, or weights of another form
        model.generation_config.eos_token_id = words.eos_token_id
        model.generation_config.pad_token_id = words.pad_token_id
        return model.eval()
