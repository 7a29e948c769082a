"""Which implementations of linear layers and attention a model uses on its device."""

from __future__ import annotations

from typing import Any

import torch

from known_unknowns.engines._aligned_layers import align_inner_sizes
from known_unknowns.engines._linear import use_onednn
from known_unknowns.engines._vision_attention import use_window_attention


def prepare(model: Any, device: str) -> dict[str, str]:
    """Choose the implementations for a model on a device. Return what is recorded of them.

    On a GPU, cuDNN's attention is switched off: it prepares a plan for each combination of sizes, and the questions of
    almost every chunk have another one.
    """
    if not device.startswith("cuda"):
        linear = use_onednn(model) if device == "cpu" else "torch"
        return {"linear_layers": linear, "vision_attention": "transformers"}
    torch.backends.cuda.enable_cudnn_sdp(False)
    attention = use_window_attention(model)
    tower = getattr(getattr(model, "model", model), "visual", None)
    half = isinstance(tower, torch.nn.Module) and model.dtype != torch.float32
    aligned = half and align_inner_sizes(tower)
    return {"linear_layers": "torch, aligned" if aligned else "torch", "vision_attention": attention}
