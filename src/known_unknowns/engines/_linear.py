"""Linear layers on a CPU by oneDNN's matrix product, where torch's own leaves half of the processor idle.

torch multiplies float32 matrices with Intel's MKL, which uses 256 of the 512 bits of other makers' vector units. And
in half precision, where torch asks oneDNN itself, it has the weights brought into oneDNN's order anew for each product.
The sums are the same, taken in another order: float32 stays float32.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import torch
from torch.nn.functional import linear

_FEWEST = 64
"""Tokens from which on it is the faster product."""
_TYPICAL = 1024
"""Tokens that the order of the weights is made for."""
_SHARE = 16
"""Of the machine's memory, the part that a second copy of the weights, in oneDNN's order, may take."""
_NEAR = 1e-5, 2e-2
"""How far its product may be from torch's on the machine at hand, in their standard deviations: in float32, and in half
precision, where either rounds to some 0.4%."""


def by_onednn(model: torch.nn.Module) -> str:
    """Let a model's linear layers be multiplied by oneDNN, if that is faster on this machine.

    Returns what is done, for the record: "torch", "onednn", or "onednn, packed", with a copy of the weights in its
    order.
    """
    dtype = next(model.parameters()).dtype
    layers = [part for part in model.modules() if type(part) is torch.nn.Linear and part.weight.dtype == dtype]
    packed = sum(layer.weight.nbytes for layer in layers) * _SHARE <= _memory()
    if not layers or not _faster(dtype, packed=packed) or not agrees(dtype):
        return "torch"
    for layer in layers:
        layer.forward = _forward(layer, packed=packed)
    return "onednn, packed" if packed else "onednn"


def _forward(layer: torch.nn.Linear, *, packed: bool) -> Callable[[torch.Tensor], torch.Tensor]:
    dtype = layer.weight.dtype
    order = in_order(layer.weight.data) if packed else None

    def forward(inputs: torch.Tensor) -> torch.Tensor:
        # The self-check casts the weights up: they are not what was packed, then.
        if not layer.weight.dtype == inputs.dtype == dtype or inputs.numel() < _FEWEST * inputs.shape[-1]:
            return linear(inputs, layer.weight, layer.bias)
        return product(inputs, layer.weight if order is None else order, layer.bias)

    return forward


def product(inputs: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    return torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, "none", [], "")


def in_order(weight: torch.Tensor) -> torch.Tensor:
    return torch.ops.mkldnn._reorder_linear_weight(weight, _TYPICAL)


def _faster(dtype: torch.dtype, *, packed: bool) -> bool:
    """By the processor, not by timing: the same machine is to give the same bits each time."""
    if not torch.backends.mkldnn.is_available():
        return False
    if dtype == torch.float32:
        wide = torch.backends.cpu.get_cpu_capability() == "AVX512"
        return wide and torch.backends.mkl.is_available() and not _intel()
    return dtype == torch.bfloat16 and packed and _half()


def agrees(dtype: torch.dtype) -> bool:
    """These are operations that torch.compile writes into its programs; they are no promise to anybody else."""
    draw = torch.Generator().manual_seed(0)
    inputs, weight = (torch.randn(rows, 256, generator=draw).to(dtype) for rows in (96, 80))
    bias = torch.randn(80, generator=draw).to(dtype)
    expected = linear(inputs, weight, bias).float()
    try:
        found = [product(inputs, order, bias).float() for order in (weight, in_order(weight))]
    except (AttributeError, RuntimeError, TypeError):
        return False
    near = _NEAR[dtype != torch.float32] * expected.std().item()
    return all((one - expected).abs().max().item() <= near for one in found)


def _intel() -> bool:
    try:
        return "GenuineIntel" in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True


def _half() -> bool:
    supported = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)
    return supported is not None and supported()


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
