"""Architectures that treat the image's tokens in a way of their own: Gemma 3, PaliGemma, Mllama and BLIP-2."""

from __future__ import annotations

from typing import Any

import transformers

from tests.unit.engines.tiny.llava import siglip
from tests.unit.engines.tiny.weights import HIDDEN, PATCH, TILE, enliven, rope, text, vision
from tests.unit.engines.tiny.words import template, tokenizer

_SQUARE = {"height": TILE, "width": TILE}
_GEMMA = {"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"}


def gemma3() -> tuple[Any, Any]:
    """An image's tokens see each other both ways; the first layer sees 16 tokens back."""
    words = tokenizer(*_GEMMA.values(), **_GEMMA)
    config = transformers.Gemma3Config(
        text_config=text(
            words,
            head_dim=16,
            query_pre_attn_scalar=16,
            sliding_window=16,
            layer_types=["sliding_attention", "full_attention"],
        ),
        vision_config=siglip(),
        mm_tokens_per_image=4,
        boi_token_index=words.boi_token_id,
        eoi_token_index=words.eoi_token_id,
        image_token_index=words.image_token_id,
        tie_word_embeddings=False,
    )
    processor = transformers.Gemma3Processor(
        transformers.Gemma3ImageProcessorPil(size=_SQUARE),
        words,
        image_seq_length=4,
        chat_template=template("<start_of_image>"),
    )
    return enliven(transformers.Gemma3ForConditionalGeneration(config), words), processor


def paligemma() -> tuple[Any, Any]:
    """The whole prompt sees itself both ways: no prefix is the same under two questions."""
    words = tokenizer("<image>", image_token="<image>")
    image_processor = transformers.SiglipImageProcessorPil(size=_SQUARE)
    image_processor.image_seq_length = (TILE // PATCH) ** 2
    processor = transformers.PaliGemmaProcessor(image_processor, words, chat_template=template("<image>"))
    config = transformers.PaliGemmaConfig(  # the processor has added 1,152 tokens to the vocabulary
        vision_config=siglip(),
        text_config=transformers.GemmaConfig(**text(words, head_dim=16)),
        image_token_index=words.image_token_id,
        projection_dim=HIDDEN,
        hidden_size=HIDDEN,
        tie_word_embeddings=False,
    )
    return enliven(transformers.PaliGemmaForConditionalGeneration(config), words), processor


def mllama() -> tuple[Any, Any]:
    """The image enters by cross-attention in the second layer; in the prompt it is one token, beyond the head's."""
    words = tokenizer("<|python_tag|>", "<|image|>")
    config = transformers.MllamaConfig(
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_global_layers": 1,
            "attention_heads": 2,
            "vision_output_dim": 64,
            "image_size": TILE,
            "patch_size": PATCH,
            "max_num_tiles": 4,
            "intermediate_layers_indices": [0],
            "supported_aspect_ratios": [[1, 1], [1, 2], [1, 3], [1, 4], [2, 1], [2, 2], [3, 1], [4, 1]],
        },
        text_config=text(
            words,
            vocab_size=len(words) - 1,
            num_hidden_layers=3,
            cross_attention_layers=[1],
            rope_parameters=rope(),
        ),
        image_token_index=words.convert_tokens_to_ids("<|image|>"),
    )
    processor = transformers.MllamaProcessor(
        transformers.MllamaImageProcessorPil(size=_SQUARE, max_image_tiles=4),
        words,
        chat_template=template("<|image|>"),
    )
    return enliven(transformers.MllamaForConditionalGeneration(config), words), processor


def blip2() -> tuple[Any, Any]:
    """One image, always in front of the prompt; every forward pass of the model wants its pixels."""
    words = tokenizer("<image>", image_token="<image>")
    config = transformers.Blip2Config(
        vision_config=vision(),
        qformer_config={
            "vocab_size": len(words),
            "hidden_size": 32,
            "encoder_hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 48,
        },
        text_config=transformers.OPTConfig(
            vocab_size=len(words),
            hidden_size=HIDDEN,
            word_embed_proj_dim=HIDDEN,
            ffn_dim=48,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=1024,
            dropout=0.0,
            bos_token_id=words.bos_token_id,
            eos_token_id=words.eos_token_id,
            pad_token_id=words.pad_token_id,
            tie_word_embeddings=False,
        ),
        num_query_tokens=8,
        image_token_index=words.image_token_id,
        tie_word_embeddings=False,
    )
    processor = transformers.Blip2Processor(transformers.BlipImageProcessorPil(size=_SQUARE), words, num_query_tokens=8)
    processor.image_token = transformers.AddedToken("<image>", normalized=False, special=True)
    processor.chat_template = template("")  # the processor itself writes the image's tokens
    return enliven(transformers.Blip2ForConditionalGeneration(config), words), processor
