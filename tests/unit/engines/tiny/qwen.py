"""Images of any size, positions in three dimensions: Qwen2-VL, Qwen2.5-VL, Qwen3-VL, Qwen3.5 and GLM-4V."""

from __future__ import annotations

from typing import Any

import transformers

from tests.unit.engines.tiny.processors import without_videos
from tests.unit.engines.tiny.weights import HIDDEN, PATCH, enliven, rope, text, vision
from tests.unit.engines.tiny.words import template, tokenizer

_SPECIAL = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
_GLM_SPECIAL = ("<|begin_of_image|>", "<|end_of_image|>", "<|begin_of_video|>", "<|end_of_video|>")
_GLM_SPECIAL += ("<|image|>", "<|video|>")


def mrope(**changes: Any) -> dict[str, Any]:
    return rope(mrope_section=[2, 3, 3], **changes)


def _ids(words: Any) -> dict[str, int]:
    names = ("vision_start_token_id", "vision_end_token_id", "image_token_id", "video_token_id")
    return dict(zip(names, words.convert_tokens_to_ids(list(_SPECIAL)), strict=True))


def _processor(kind: type, words: Any) -> Any:
    """16 to 36 patches of 8 x 8 pixels an image, four of them a token."""
    image_processor = transformers.Qwen2VLImageProcessorPil(
        patch_size=PATCH, merge_size=2, size={"shortest_edge": 32 * 32, "longest_edge": 48 * 48}
    )
    image = "<|vision_start|><|image_pad|><|vision_end|>"
    return without_videos(kind)(
        image_processor=image_processor, tokenizer=words, video_processor=None, chat_template=template(image)
    )


def _tower(**changes: Any) -> dict[str, Any]:
    sizes = {"depth": 2, "hidden_size": 32, "num_heads": 2, "patch_size": PATCH, "spatial_merge_size": 2}
    return sizes | {"out_hidden_size": HIDDEN, "intermediate_size": 48} | changes


def qwen2_vl() -> tuple[Any, Any]:
    words = tokenizer(*_SPECIAL)
    config = transformers.Qwen2VLConfig(
        text_config=text(words, rope_parameters=mrope()),
        vision_config={"depth": 2, "embed_dim": 32, "hidden_size": HIDDEN, "num_heads": 2, "mlp_ratio": 2}
        | {"patch_size": PATCH},
        **_ids(words),
    )
    model = transformers.Qwen2VLForConditionalGeneration(config)
    return enliven(model, words), _processor(transformers.Qwen2VLProcessor, words)


def qwen2_5_vl(**changes: Any) -> tuple[Any, Any]:
    words = tokenizer(*_SPECIAL)
    config = transformers.Qwen2_5_VLConfig(
        text_config=text(words, rope_parameters=mrope(), **changes),
        vision_config=_tower(fullatt_block_indexes=[1], window_size=32),
        **_ids(words),
    )
    model = transformers.Qwen2_5_VLForConditionalGeneration(config)
    return enliven(model, words), _processor(transformers.Qwen2_5_VLProcessor, words)


def qwen2_5_vl_sliding() -> tuple[Any, Any]:
    """Its second layer sees 16 tokens back, less than any prompt is long."""
    return qwen2_5_vl(use_sliding_window=True, sliding_window=16, max_window_layers=1)


def qwen3_vl() -> tuple[Any, Any]:
    """The image enters again after the first layer ("deepstack")."""
    words = tokenizer(*_SPECIAL)
    config = transformers.Qwen3VLConfig(
        text_config=text(words, head_dim=16, rope_parameters=mrope(mrope_interleaved=True)),
        vision_config=_tower(num_position_embeddings=16, deepstack_visual_indexes=[0]),
        **_ids(words),
    )
    model = transformers.Qwen3VLForConditionalGeneration(config)
    return enliven(model, words), _processor(transformers.Qwen3VLProcessor, words)


def qwen3_5() -> tuple[Any, Any]:
    """A hybrid: its first layer keeps a state instead of keys and values."""
    words = tokenizer(*_SPECIAL)
    config = transformers.Qwen3_5Config(
        text_config=text(
            words,
            head_dim=16,
            rope_parameters=mrope(mrope_interleaved=True, partial_rotary_factor=1.0),
            layer_types=["linear_attention", "full_attention"],
            linear_num_value_heads=2,
            linear_num_key_heads=1,
            linear_key_head_dim=16,
            linear_value_head_dim=16,
        ),
        vision_config=_tower(num_position_embeddings=16),
        **_ids(words),
    )
    model = transformers.Qwen3_5ForConditionalGeneration(config)
    return enliven(model, words), _processor(transformers.Qwen3VLProcessor, words)


def glm4v() -> tuple[Any, Any]:
    words = tokenizer(*_GLM_SPECIAL)
    names = ("image_start", "image_end", "video_start", "video_end", "image", "video")
    ids = {
        f"{name}_token_id": words.convert_tokens_to_ids(token) for name, token in zip(names, _GLM_SPECIAL, strict=True)
    }
    config = transformers.Glm4vConfig(
        text_config=text(words, rope_parameters=mrope()),
        vision_config=vision(depth=2, num_heads=2, out_hidden_size=HIDDEN, image_size=64),
        **ids,
    )
    image_processor = transformers.Glm4vImageProcessorPil(
        patch_size=PATCH, merge_size=2, size={"shortest_edge": 2 * 32 * 32, "longest_edge": 2 * 48 * 48}
    )
    image = "<|begin_of_image|><|image|><|end_of_image|>"
    processor = without_videos(transformers.Glm4vProcessor)(
        image_processor=image_processor, tokenizer=words, video_processor=None, chat_template=template(image)
    )
    return enliven(transformers.Glm4vForConditionalGeneration(config), words), processor
