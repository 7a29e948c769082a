"""Images cut into tiles, some tokens each: Idefics3, SmolVLM, InternVL and Aya Vision; and Mistral 3's rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import mock

import transformers
from transformers.models.smolvlm import processing_smolvlm

from tests.unit.engines.tiny.llava import siglip
from tests.unit.engines.tiny.processors import pixtral_processor, without_videos
from tests.unit.engines.tiny.weights import PATCH, TILE, enliven, text, vision
from tests.unit.engines.tiny.words import template, tokenizer

_IDEFICS = ("<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>")
_IDEFICS += tuple(f"<row_{row}_col_{column}>" for row in (1, 2) for column in (1, 2))
_INTERN = {"start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>"}
_INTERN |= {"video_token": "<video>"}
_AYA = ("<image>", "<|START_OF_IMG|>", "<|END_OF_IMG|>", "<|IMG_PATCH|>", "TILE_GLOBAL", "TILE_1", "TILE_2")
_TOKENS_A_TILE = (TILE // PATCH // 2) ** 2


def _idefics_config(kind: type, words: Any) -> Any:
    return kind(
        vision_config=vision(),
        text_config=transformers.LlamaConfig(**text(words)),
        image_token_id=words.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=words.pad_token_id,
        tie_word_embeddings=False,
    )


def idefics3() -> tuple[Any, Any]:
    words = tokenizer(*_IDEFICS)
    processor = transformers.Idefics3Processor(
        transformers.Idefics3ImageProcessorPil(size={"longest_edge": 2 * TILE}, max_image_size={"longest_edge": TILE}),
        words,
        image_seq_len=_TOKENS_A_TILE,
        chat_template=template("<image>"),
    )
    config = _idefics_config(transformers.Idefics3Config, words)
    return enliven(transformers.Idefics3ForConditionalGeneration(config), words), processor


def smolvlm() -> tuple[Any, Any]:
    """Its processor wants num2words, too, to say how many frames a video has."""
    words = tokenizer(*_IDEFICS)
    with mock.patch.object(processing_smolvlm, "num2words", object()):
        processor = without_videos(processing_smolvlm.SmolVLMProcessor)(
            transformers.SmolVLMImageProcessorPil(
                size={"longest_edge": 2 * TILE}, max_image_size={"longest_edge": TILE}
            ),
            words,
            SimpleNamespace(num_frames=None, fps=None),
            image_seq_len=_TOKENS_A_TILE,
            chat_template=template("<image>"),
        )
    config = _idefics_config(transformers.SmolVLMConfig, words)
    return enliven(transformers.SmolVLMForConditionalGeneration(config), words), processor


def internvl() -> tuple[Any, Any]:
    words = tokenizer(*_INTERN.values(), **_INTERN)
    config = transformers.InternVLConfig(
        vision_config=vision(image_size=[TILE, TILE], patch_size=[PATCH, PATCH], layer_scale_init_value=1.0),
        text_config=transformers.Qwen2Config(**text(words)),
        image_token_id=words.context_image_token_id,
        image_seq_length=_TOKENS_A_TILE,
        tie_word_embeddings=False,
    )
    processor = without_videos(transformers.InternVLProcessor)(
        image_processor=transformers.GotOcr2ImageProcessorPil(
            size={"height": TILE, "width": TILE}, crop_to_patches=True, max_patches=2
        ),
        tokenizer=words,
        video_processor=None,
        image_seq_length=_TOKENS_A_TILE,
        chat_template=template("<img><IMG_CONTEXT></img>"),
    )
    return enliven(transformers.InternVLForConditionalGeneration(config), words), processor


def aya_vision() -> tuple[Any, Any]:
    """On a Cohere 2, whose first layer sees 16 tokens back."""
    words = tokenizer(*_AYA)
    config = transformers.AyaVisionConfig(
        vision_config=siglip(),
        text_config=transformers.Cohere2Config(
            **text(words, sliding_window=16, layer_types=["sliding_attention", "full_attention"], logit_scale=1.0)
        ),
        image_token_index=words.convert_tokens_to_ids("<|IMG_PATCH|>"),
        downsample_factor=2,
        tie_word_embeddings=False,
    )
    processor = transformers.AyaVisionProcessor(
        image_processor=transformers.GotOcr2ImageProcessorPil(
            size={"height": TILE, "width": TILE}, crop_to_patches=True, max_patches=2
        ),
        tokenizer=words,
        patch_size=PATCH,
        img_size=TILE,
        downsample_factor=2,
        chat_template=template("<image>"),
    )
    return enliven(transformers.AyaVisionForConditionalGeneration(config), words), processor


def mistral3() -> tuple[Any, Any]:
    """An image keeps its shape; a token ends each of its rows."""
    words = tokenizer("[IMG]", "[IMG_BREAK]", "[IMG_END]")
    config = transformers.Mistral3Config(
        vision_config=transformers.PixtralVisionConfig(**vision(image_size=2 * TILE)),
        text_config=transformers.MistralConfig(**text(words, sliding_window=None)),
        image_token_index=words.convert_tokens_to_ids("[IMG]"),
        spatial_merge_size=2,
        tie_word_embeddings=False,
    )
    processor = pixtral_processor()(
        image_processor=transformers.PixtralImageProcessorPil(
            size={"longest_edge": 48}, patch_size={"height": PATCH, "width": PATCH}
        ),
        tokenizer=words,
        patch_size=PATCH,
        spatial_merge_size=2,
        chat_template=template("[IMG]"),
    )
    return enliven(transformers.Mistral3ForConditionalGeneration(config), words), processor
