"""Phi-4 multimodal: a language model, a vision tower and an audio tower."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import transformers
from transformers.feature_extraction_utils import BatchFeature
from transformers.image_processing_backends import PilBackend

from tests.unit.engines.tiny.weights import PATCH, TILE, enliven, rope, text, vision
from tests.unit.engines.tiny.words import template, tokenizer

_SIDE = TILE // PATCH
"""Patches along a tile's side; two by two of them are a token."""


class _Images(PilBackend):
    """What transformers' own makes, which needs torchvision: a single whole, then its tiles, from 32 pixels up."""

    model_input_names = ("image_pixel_values", "image_sizes", "image_attention_mask")

    def __call__(self, images: Any, return_tensors: str | None = None, **_: Any) -> BatchFeature:
        flat = [single for row in images for single in row] if isinstance(images[0], list) else list(images)
        grids = [(-(-single.height // TILE), -(-single.width // TILE)) for single in flat]
        most = 1 + max(rows * columns for rows, columns in grids)
        pixels = torch.zeros(len(flat), most, 3, TILE, TILE)
        seen = torch.ones(len(flat), most, _SIDE, _SIDE)
        for number, (single, (rows, columns)) in enumerate(zip(flat, grids, strict=True)):
            tiles = _tensor(single, columns * TILE, rows * TILE).unfold(1, TILE, TILE).unfold(2, TILE, TILE)
            pixels[number, 0] = _tensor(single, TILE, TILE)
            pixels[number, 1 : 1 + rows * columns] = tiles.permute(1, 2, 0, 3, 4).flatten(0, 1)
        half = _SIDE // 2
        tokens = [half * (half + 1) + 1 + rows * half * (columns * half + 1) for rows, columns in grids]
        sizes = torch.tensor([(rows * TILE, columns * TILE) for rows, columns in grids])
        data = {"image_pixel_values": pixels, "image_sizes": sizes, "image_attention_mask": seen}
        return BatchFeature(data | {"num_img_tokens": tokens})


def _tensor(single: Any, width: int, height: int) -> torch.Tensor:
    """Return an image as a tensor (3, height, width), from -1 to 1."""
    resized = np.asarray(single.convert("RGB").resize((width, height)), dtype=np.float32)
    return torch.from_numpy(resized / 127.5 - 1).permute(2, 0, 1)


def phi4_multimodal(**changes: Any) -> tuple[Any, Any]:
    """``changes`` are made to the language model's settings."""
    words = tokenizer("<|image|>", "<|audio|>", image_token="<|image|>", audio_token="<|audio|>")
    sounds = transformers.Phi4MultimodalAudioConfig(
        num_blocks=2,
        hidden_size=16,
        num_attention_heads=2,
        intermediate_size=16,
        ext_pw_out_channel=16,
        depthwise_separable_out_channel=16,
        nemo_conv_channels=16,
        bias_max_distance=50,
        audio_token_id=words.audio_token_id,
    )
    vision_config = transformers.Phi4MultimodalVisionConfig(
        **vision(crop_size=TILE, image_token_id=words.image_token_id)
    )
    config = transformers.Phi4MultimodalConfig(
        **text(words, rope_parameters=rope()) | changes,
        vision_config=vision_config,
        audio_config=sounds,
    )
    processor = transformers.Phi4MultimodalProcessor(
        _Images(), transformers.Phi4MultimodalFeatureExtractor(), words, chat_template=template("<|image|>")
    )
    return enliven(transformers.Phi4MultimodalForCausalLM(config), words), processor
