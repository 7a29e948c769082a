"""InstructBLIP: a Q-Former that reads the question besides the image, in front of any language model."""

from __future__ import annotations

from typing import Any

import transformers

from tests.unit.engines.tiny.weights import TILE, enliven, text, vision
from tests.unit.engines.tiny.words import tokenizer


def instructblip() -> tuple[Any, Any]:
    """One image, always in front of the prompt. It has no chat template, as on the hub."""
    words, questions = tokenizer("<image>"), tokenizer()
    config = transformers.InstructBlipConfig(
        vision_config=vision(),
        qformer_config={
            "vocab_size": len(questions),
            "hidden_size": 32,
            "encoder_hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 48,
        },
        text_config=transformers.LlamaConfig(**text(words)),
        num_query_tokens=8,
        image_token_index=words.convert_tokens_to_ids("<image>"),
        tie_word_embeddings=False,
    )
    images = transformers.BlipImageProcessorPil(size={"height": TILE, "width": TILE})
    processor = transformers.InstructBlipProcessor(images, words, questions, num_query_tokens=8)
    return enliven(transformers.InstructBlipForConditionalGeneration(config), words), processor
