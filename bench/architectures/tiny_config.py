"""A tiny configuration of any model class: its default configuration with small sizes and the tokenizer's tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.unit.engines.tiny.weights import HEADS, HIDDEN, LAYERS, PATCH, TILE

_MIDDLE, _HEAD, _EXPERTS, _WINDOW = 48, 16, 4, 16
_POSITIONS = 4096

_SMALL: tuple[tuple[str, int], ...] = (
    (r"max_(source_|2d_)?position_embeddings", _POSITIONS),
    (r"(num_|n_|encoder_|decoder_|num_decoder_|num_global_|conf_num_)?(hidden_)?layers|depth|resampler_depth", LAYERS),
    (r".*(key_value_heads|num_key_heads)", 1),
    (r".*(attention_heads|num_heads|n_heads|value_heads|resampler_heads|linear_num_heads|mamba_num_heads)", HEADS),
    (r".*(lora_rank|laurel_rank|lowrank)", _HEAD),
    (r"(.*_)?(num|n)_(routed_|local_)?experts|moe_num_experts", _EXPERTS),
    (r"num_experts_per_tok|moe_topk|moe_k", 2),
    (r"(n|moe_num)_shared_experts|(n|topk)_group", 1),
    (r".*head_dim|d_kv|resampler_(dim_head|head_dim)", _HEAD),
    (r".*(intermediate|ffn|mlp|ff)_?(hidden_)?(size|dim).*|d_ff", _MIDDLE),
    (r"image_size|max_image_size|max_img_size|resolution", TILE),
    (r"patch_size|encoder_stride", PATCH),
    (r".*sliding_window(_size)?|attention_chunk_size", _WINDOW),
    (r"first_k_dense_replace|max_window_layers", 1),
)
_LARGE = re.compile(r".*(size|dim|d_model|hidden|channels|features)$")
_LEAST_LARGE = 64
_TOKEN = re.compile(r"(?P<name>\w+?)(_token)?_(id|index)$")
_COMPUTED = ("id2label", "label2id", "_name_or_path", "transformers_version", "dtype", "per_layer_config")
"""Keys that the configuration computes from others, or that hold settings of single layers."""


def shrunk(config: Any, token: Callable[[str], int | None], vocabulary: int) -> dict[str, Any]:
    """Return the settings of a configuration with small sizes, as arguments of its class.

    ``token`` returns the token with a name such as "image" or "boi", None if there is none.
    """
    return _small(config.to_dict(), token, vocabulary)


def _small(settings: Mapping[str, Any], token: Callable[[str], int | None], vocabulary: int) -> dict[str, Any]:
    kinds = settings.get("layer_types")
    kept = _one_of_each(kinds) if kinds else []
    small: dict[str, Any] = {}
    for key, value in settings.items():
        name = str(key)
        if name in _COMPUTED:
            continue
        if isinstance(value, Mapping):
            small[name] = _small(value, token, vocabulary)
        elif isinstance(value, list) and len(value) == settings.get("num_hidden_layers") and len(value) > LAYERS:
            small[name] = [value[place] for place in kept] if kept else value[:LAYERS]
        else:
            small[name] = _value(name, value, token, vocabulary)
    if kept:
        small["num_hidden_layers"] = len(kept)
    return small


def _one_of_each(kinds: list[str]) -> list[int]:
    """Return the first layer of each kind, and at least two."""
    found = [place for place, kind in enumerate(kinds) if kind not in kinds[:place]]
    return found if len(found) >= LAYERS else [*found, *range(found[-1] + 1, found[-1] + LAYERS)]


def _value(name: str, value: Any, token: Callable[[str], int | None], vocabulary: int) -> Any:
    if name == "tie_word_embeddings":
        return False
    if isinstance(value, bool) or not isinstance(value, int | None):
        return value
    if (found := _TOKEN.fullmatch(name)) and (number := token(found["name"])) is not None:
        return number
    if value is None:
        return None
    if "vocab_size" in name:
        return vocabulary
    for pattern, small in _SMALL:
        if re.fullmatch(pattern, name):
            return min(value, small) if value > 0 else value
    if found:
        return value if value < vocabulary else 0
    return HIDDEN if _LARGE.fullmatch(name) and value >= _LEAST_LARGE else value


def merge(settings: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with changes, key by key in nested ones."""
    merged = dict(settings)
    for name, value in changes.items():
        inner = merged.get(name)
        merged[name] = merge(inner, value) if isinstance(inner, dict) and isinstance(value, Mapping) else value
    return merged
