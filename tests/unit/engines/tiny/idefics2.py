"""Idefics2: a perceiver that turns an image of any size into a fixed number of tokens."""

from __future__ import annotations

from typing import Any

import transformers

from tests.unit.engines.tiny.weights import HIDDEN, TILE, enliven, text, vision
from tests.unit.engines.tiny.words import template, tokenizer

_TOKENS = 8


def idefics2() -> tuple[Any, Any]:
    words = tokenizer("<fake_token_around_image>", "<image>", "<end_of_utterance>")
    config = transformers.Idefics2Config(
        vision_config=vision(),
        perceiver_config={
            "hidden_size": HIDDEN,
            "resampler_n_latents": _TOKENS,
            "resampler_depth": 1,
            "resampler_n_heads": 2,
            "resampler_head_dim": 16,
            "num_key_value_heads": 2,
        },
        text_config=transformers.MistralConfig(**text(words)),
        image_token_id=words.convert_tokens_to_ids("<image>"),
        tie_word_embeddings=False,
    )
    processor = transformers.Idefics2Processor(
        transformers.Idefics2ImageProcessorPil(
            size={"shortest_edge": TILE // 2, "longest_edge": TILE}, do_image_splitting=False
        ),
        words,
        image_seq_len=_TOKENS,
        chat_template=template("<image>"),
    )
    return enliven(transformers.Idefics2ForConditionalGeneration(config), words), processor
