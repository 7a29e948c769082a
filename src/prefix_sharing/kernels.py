"""Implementations of linear layers and attention, chosen for a model's device."""

from __future__ import annotations

from typing import Any

import torch

from prefix_sharing.aligned_layers import align_inner_sizes
from prefix_sharing.linear import multiply_patches, use_onednn
from prefix_sharing.vision_attention import use_window_attention


def choose_kernels(model: Any) -> dict[str, str]:
    """Let a model use the fastest implementations on its device that agree with torch's and transformers'.

    On a GPU, cuDNN's attention is switched off: it prepares a plan for each combination of sizes, and almost every pass
    has another one.

    Returns
    -------
    dict
        The implementations used: "linear_layers" and "vision_attention".
    """
    device = model.device.type
    if device != "cuda":
        linear = "torch"
        if device == "cpu":
            linear = use_onednn(model)
            multiply_patches(model)
        return {"linear_layers": linear, "vision_attention": "transformers"}
    torch.backends.cuda.enable_cudnn_sdp(False)
    attention = use_window_attention(model)
    tower = getattr(getattr(model, "model", model), "visual", None)
    half = model.dtype != torch.float32
    aligned = half and isinstance(tower, torch.nn.Module) and align_inner_sizes(tower) > 0
    return {"linear_layers": "torch, aligned" if aligned else "torch", "vision_attention": attention}
