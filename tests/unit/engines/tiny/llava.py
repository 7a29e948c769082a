"""A vision tower, a projector and any language model: LLaVA, LLaVA-NeXT and LLaVA-OneVision."""

from __future__ import annotations

from typing import Any

import transformers

from tests.unit.engines.tiny.processors import without_videos
from tests.unit.engines.tiny.weights import PATCH, TILE, enliven, text, vision
from tests.unit.engines.tiny.words import template, tokenizer

_GRIDS = [[TILE, 2 * TILE], [2 * TILE, TILE], [2 * TILE, 2 * TILE]]
_SQUARE = {"height": TILE, "width": TILE}


def siglip() -> transformers.SiglipVisionConfig:
    return transformers.SiglipVisionConfig(**vision(vision_use_head=False))


def llava(language: type = transformers.LlamaConfig, **changes: Any) -> tuple[Any, Any]:
    """16 tokens an image, of whatever size."""
    words = tokenizer("<image>")
    config = transformers.LlavaConfig(
        vision_config=siglip(),
        text_config=language(**text(words, **changes)),
        image_token_index=words.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        tie_word_embeddings=False,
    )
    processor = transformers.LlavaProcessor(
        image_processor=transformers.SiglipImageProcessorPil(size=_SQUARE),
        tokenizer=words,
        patch_size=PATCH,
        vision_feature_select_strategy="full",
        chat_template=template("<image>"),
    )
    return enliven(transformers.LlavaForConditionalGeneration(config), words), processor


def llava_sliding() -> tuple[Any, Any]:
    """On a Mistral whose layers see 32 tokens back, less than a prompt is long."""
    return llava(transformers.MistralConfig, sliding_window=32)


def llava_next() -> tuple[Any, Any]:
    """As many tiles, and as many tokens, as an image's size asks for."""
    words = tokenizer("<image>")
    config = transformers.LlavaNextConfig(
        vision_config=transformers.CLIPVisionConfig(**vision(projection_dim=32)),
        text_config=transformers.MistralConfig(**text(words, sliding_window=None)),
        image_token_index=words.convert_tokens_to_ids("<image>"),
        image_grid_pinpoints=_GRIDS,
        tie_word_embeddings=False,
    )
    processor = transformers.LlavaNextProcessor(
        image_processor=transformers.LlavaNextImageProcessorPil(
            size={"shortest_edge": TILE}, crop_size=_SQUARE, image_grid_pinpoints=_GRIDS
        ),
        tokenizer=words,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=template("<image>"),
    )
    return enliven(transformers.LlavaNextForConditionalGeneration(config), words), processor


def llava_onevision() -> tuple[Any, Any]:
    """One image in a prompt is cut into tiles, several are not."""
    words = tokenizer("<image>", "<video>")
    config = transformers.LlavaOnevisionConfig(
        vision_config=siglip(),
        text_config=transformers.Qwen2Config(**text(words)),
        image_token_index=words.convert_tokens_to_ids("<image>"),
        video_token_index=words.convert_tokens_to_ids("<video>"),
        image_grid_pinpoints=_GRIDS,
        tie_word_embeddings=False,
    )
    processor = without_videos(transformers.LlavaOnevisionProcessor)(
        image_processor=transformers.LlavaOnevisionImageProcessorPil(size=_SQUARE, image_grid_pinpoints=_GRIDS),
        tokenizer=words,
        video_processor=None,
        num_image_tokens=(TILE // PATCH) ** 2,
        vision_feature_select_strategy="full",
        chat_template=template("<image>"),
    )
    return enliven(transformers.LlavaOnevisionForConditionalGeneration(config), words), processor
