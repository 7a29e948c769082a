"""What the engine changes on a GPU, so that it is not kept waiting by the host."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from known_unknowns.engines._aligned_layers import align_inner_sizes
from known_unknowns.engines._vision_attention import use_window_attention

_SWITCH_SECONDS = 1e-4


def prepare(model: Any) -> tuple[str, str]:
    """Prepare a model on a GPU. Return the implementations of its linear layers and of its vision tower's attention.

    cuDNN's attention is switched off: it prepares a plan for each combination of sizes, and the questions of almost
    every chunk have another one.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)
    attention = use_window_attention(model)
    tower = getattr(getattr(model, "model", model), "visual", None)
    half = isinstance(tower, torch.nn.Module) and model.dtype != torch.float32
    return "torch, aligned" if half and align_inner_sizes(tower) else "torch", attention


@contextmanager
def short_thread_switches(device: str) -> Iterator[None]:
    """Beside a GPU, let threads of this process take turns every 0.1 ms instead of 5 ms.

    The thread that launches kernels waits for its turn after each of them, while another prepares prompts.
    """
    before = sys.getswitchinterval()
    if device.startswith("cuda"):
        sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
