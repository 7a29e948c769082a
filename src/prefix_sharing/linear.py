"""Linear layers on a CPU through oneDNN, where torch's own matrix product is slow, and convolutions as products.

torch multiplies float32 matrices with Intel's MKL, which uses 256 of the 512 vector bits of other makers' processors.
In half precision torch calls oneDNN itself, but converts the weights to oneDNN's layout for every product. oneDNN adds
the same terms in another order; float32 stays float32.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import linear

MIN_TOKENS = 64
"""Number of tokens from which oneDNN is faster."""
_PACKING_TOKENS = 1024
"""Number of tokens that the packed layout is optimised for."""
_MEMORY_FRACTION = 16
"""The packed copy of the weights may take 1 / 16 of the machine's memory."""
_TOLERANCES = 1e-5, 2e-2
"""Accepted difference from torch's product, in standard deviations: in float32, and in half precision, where both
products round to about 0.4%.
"""


@dataclass(frozen=True)
class Machine:
    """What decides which product is faster. Not timing: the same machine should give the same bits every time."""

    onednn: bool
    """Whether torch was built with oneDNN."""
    mkl: bool
    intel: bool
    avx512: bool
    bfloat16: bool
    """Whether oneDNN multiplies bfloat16 on this processor."""
    memory: int
    """In bytes."""

    def implementation(self, dtype: torch.dtype, nbytes: int) -> str:
        """Return what multiplies weights of this type and size in bytes fastest; see `use_onednn`."""
        packed = nbytes * _MEMORY_FRACTION <= self.memory
        if dtype == torch.float32:
            faster = self.avx512 and self.mkl and not self.intel
        else:
            faster = dtype == torch.bfloat16 and packed and self.bfloat16
        if not self.onednn or not faster:
            return "torch"
        return "onednn, packed" if packed else "onednn"


def this_machine() -> Machine:
    """Describe the machine that this process runs on."""
    bfloat16 = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)
    return Machine(
        onednn=torch.backends.mkldnn.is_available(),
        mkl=torch.backends.mkl.is_available(),
        intel=_is_intel(),
        avx512=torch.backends.cpu.get_cpu_capability() == "AVX512",
        bfloat16=bfloat16 is not None and bfloat16(),
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    )


def use_onednn(model: torch.nn.Module, machine: Machine | None = None) -> str:
    """Let a model's linear layers use oneDNN, if that is faster on the machine; None is this one.

    Returns
    -------
    str
        The implementation used: "torch", "onednn", or "onednn, packed", with a copy of the weights in oneDNN's layout.
    """
    dtype = next(model.parameters()).dtype
    layers: list[Any] = [part for part in model.modules() if type(part) is torch.nn.Linear]
    layers = [layer for layer in layers if layer.weight.dtype == dtype]
    nbytes = sum(layer.weight.nbytes for layer in layers)
    implementation = (machine or this_machine()).implementation(dtype, nbytes)
    if not layers or implementation == "torch" or not onednn_agrees(dtype):
        return "torch"
    for layer in layers:
        layer.forward = _forward(layer, packed=implementation == "onednn, packed")
    return implementation


def _forward(layer: torch.nn.Linear, *, packed: bool) -> Callable[[torch.Tensor], torch.Tensor]:
    dtype = layer.weight.dtype
    packed_weight = pack_weight(layer.weight.data) if packed else None

    def forward(inputs: torch.Tensor) -> torch.Tensor:
        # The check against generate casts the weights to float32; the packed copy is not valid then.
        if not layer.weight.dtype == inputs.dtype == dtype or inputs.numel() < MIN_TOKENS * inputs.shape[-1]:
            return linear(inputs, layer.weight, layer.bias)
        return onednn_linear(inputs, layer.weight if packed_weight is None else packed_weight, layer.bias)

    return forward


def multiply_patches(model: torch.nn.Module) -> None:
    """Let a model's convolutions multiply matrices where the input is one patch, as the vision towers of Qwen have it.

    torch's convolution takes about six times as long for this product on a CPU.
    """
    convolutions: list[Any] = [layer for layer in model.modules() if type(layer) in (torch.nn.Conv2d, torch.nn.Conv3d)]
    for layer in convolutions:
        if layer.groups == 1 and not any(layer.padding):
            layer.forward = _of_patches(layer)


def _of_patches(layer: torch.nn.Conv2d | torch.nn.Conv3d) -> Callable[[torch.Tensor], torch.Tensor]:
    convolve = layer.forward

    def forward(inputs: torch.Tensor) -> torch.Tensor:
        if inputs.shape[1:] != layer.weight.shape[1:]:
            return convolve(inputs)
        product = linear(inputs.flatten(1), layer.weight.flatten(1), layer.bias)
        return product.view(*product.shape, *[1] * (inputs.dim() - 2))

    return forward


def onednn_linear(inputs: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Compute a linear layer with oneDNN."""
    return torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, "none", [], "")


def pack_weight(weight: torch.Tensor) -> torch.Tensor:
    """Return the weight in oneDNN's layout."""
    return torch.ops.mkldnn._reorder_linear_weight(weight, _PACKING_TOKENS)


def onednn_agrees(dtype: torch.dtype) -> bool:
    """Return whether oneDNN's product exists and agrees with torch's. torch does not document these operations."""
    draw = torch.Generator().manual_seed(0)
    inputs, weight = (torch.randn(rows, 256, generator=draw).to(dtype) for rows in (96, 80))
    bias = torch.randn(80, generator=draw).to(dtype)
    expected = linear(inputs, weight, bias).float()
    try:
        found = [onednn_linear(inputs, weights, bias).float() for weights in (weight, pack_weight(weight))]
    except (AttributeError, RuntimeError, TypeError):
        return False
    near = _TOLERANCES[dtype != torch.float32] * expected.std().item()
    return all((one - expected).abs().max().item() <= near for one in found)


def _is_intel() -> bool:
    try:
        return "GenuineIntel" in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
