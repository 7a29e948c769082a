"""A tiny LLaVA-1.5 that other programs load: its configuration and weight names are those of the published checkpoints.

``python -m tests.unit.engines.tiny.released FOLDER`` writes it, for a server that is started by hand.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file

from tests.unit.engines.tiny.weights import PATCH, TILE, enliven, text, vision
from tests.unit.engines.tiny.words import template, tokenizer

_SEED = 9
"""With it, replies begin with several letters and with other tokens."""
_HEAD = 32
"""Servers have attention kernels for heads of 32 values, and none for the smaller ones of the other checkpoints."""


def llava_1_5() -> tuple[Any, Any]:
    """A CLIP tower whose class token is dropped, a projector and a Llama. 16 tokens for each image, of any size."""
    words = tokenizer("<image>")
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**vision(projection_dim=32)),
        text_config=transformers.LlamaConfig(**text(words, head_dim=_HEAD, max_position_embeddings=1024)),
        image_token_index=words.convert_tokens_to_ids("<image>"),
        image_seq_length=(TILE // PATCH) ** 2,
        tie_word_embeddings=False,
    )
    processor = transformers.LlavaProcessor(
        image_processor=transformers.CLIPImageProcessorPil(
            size={"shortest_edge": TILE}, crop_size={"height": TILE, "width": TILE}
        ),
        tokenizer=words,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=template("<image>"),
    )
    return _readable(enliven(transformers.LlavaForConditionalGeneration(config), words, seed=_SEED), words), processor


@torch.no_grad()
def _readable(model: Any, words: Any) -> Any:
    """Make tokens unlikely that are no ASCII text: servers differ in how they show the parts of a character."""
    parts = [token for text, token in words.get_vocab().items() if not text.strip("ĠĊ").isascii()]
    model.get_output_embeddings().weight[parts] = 0
    return model


def build(folder: Path) -> None:
    """Write the checkpoint, always the same, to ``folder``."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_SEED)
        model, processor = llava_1_5()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    published = {
        name.replace("vision_tower.", "vision_tower.vision_model."): weight for name, weight in weights.items()
    }
    save_file(published, folder / "model.safetensors", {"format": "pt"})


if __name__ == "__main__":
    build(Path(sys.argv[1]))
