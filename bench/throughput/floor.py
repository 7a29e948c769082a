"""The floor: FLOPs that a question set needs, over the rate at which this machine multiplies the model's matrices.

A FLOP is a multiplication or an addition. Counted are the matrix products and the attention (causal: what a token does
not see is not counted), which are all but a few per mille of the work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from prefix_sharing.linear import onednn_agrees, onednn_linear, pack_weight

MOST_ROWS = 512
"""Maximum number of an image's tokens per product when the matrix rate is measured; more is no faster."""


@dataclass(frozen=True, slots=True)
class Group:
    """The turns of one image: its patches (rows, columns), the tokens that all prompts begin with, and each
    prompt's own tokens after them."""

    grid: tuple[int, int]
    prefix: int
    suffixes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Flops:
    """FLOPs of the parts of a Qwen2.5-VL, from its configuration."""

    config: Any

    def tower(self, grid: tuple[int, int]) -> int:
        """An image of ``grid`` patches through the vision tower and its merger."""
        vision = self.config.vision_config
        width, patches = vision.hidden_size, grid[0] * grid[1]
        merged = vision.spatial_merge_size**2
        block = 4 * width**2 + 3 * width * vision.intermediate_size
        embedding = vision.in_channels * vision.temporal_patch_size * vision.patch_size**2 * width
        merger = (merged * width) * (merged * width + vision.out_hidden_size)
        linear = 2 * patches * (vision.depth * block + embedding) + 2 * (patches // merged) * merger
        whole = len(vision.fullatt_block_indexes)
        attended = whole * patches**2 + (vision.depth - whole) * sum(n**2 for n in self.windows(grid))
        return linear + 4 * width * attended

    def windows(self, grid: tuple[int, int]) -> list[int]:
        """The patches in each window of the layers without full attention."""
        vision = self.config.vision_config
        merge = vision.spatial_merge_size
        side = vision.window_size // merge // vision.patch_size
        rows, columns = (
            [min(side, length // merge - start) for start in range(0, length // merge, side)] for length in grid
        )
        return [merge**2 * high * wide for high in rows for wide in columns]

    def language(self, new: int, past: int = 0) -> int:
        """``new`` tokens through the decoder layers, after ``past`` that are in the cache."""
        text = self.config.text_config
        width = text.hidden_size
        heads = width // text.num_attention_heads
        linear = 2 * width**2 + 2 * width * text.num_key_value_heads * heads + 3 * width * text.intermediate_size
        seen = new * past + new * (new + 1) // 2
        return text.num_hidden_layers * (2 * linear * new + 4 * width * seen)

    def head(self) -> int:
        """The logits of one position."""
        return 2 * self.config.text_config.vocab_size * self.config.text_config.hidden_size

    def shared(self, found: Sequence[Group]) -> int:
        """The minimum that gives every question's first logits: each image and each prefix once."""
        total = 0
        for group in found:
            total += self.tower(group.grid) + self.language(group.prefix)
            total += sum(self.language(own, group.prefix) + self.head() for own in group.suffixes)
        return total

    def unshared(self, found: Sequence[Group]) -> int:
        """What a loop computes that asks each question alone and stops after a letter and the end token."""
        total = 0
        for group in found:
            for own in group.suffixes:
                length = group.prefix + own
                total += self.tower(group.grid) + self.language(length) + self.language(1, length) + 2 * self.head()
        return total


class MatrixRate:
    """Multiplies the model's own weights with random activations: FLOPs a second, without anything around them."""

    def __init__(self, model: Any, group: Group) -> None:
        self.model = model
        at_once = 8 if model.device.type == "cuda" else 1  # images: a GPU needs more rows to be busy
        patches = group.grid[0] * group.grid[1] * at_once
        merged = patches // model.config.vision_config.spatial_merge_size**2
        tokens = min(MOST_ROWS, max(group.prefix, sum(group.suffixes))) * at_once
        work = []
        for name, module in model.named_modules():
            if isinstance(module, torch.nn.Linear):
                rows = tokens
                if "visual" in name:
                    rows = merged if "merger" in name else patches
                elif "lm_head" in name:
                    rows = min(MOST_ROWS, len(group.suffixes)) * at_once
                work.append((rows, module.weight))
        draw_from = torch.Generator(model.device).manual_seed(0)
        shapes = {(rows, weight.shape[1]) for rows, weight in work}
        like = {"device": model.device, "dtype": model.dtype, "generator": draw_from}
        self._inputs = {shape: torch.randn(shape, **like) for shape in shapes}
        self._work = [(rows, weight, None) for rows, weight in work]
        onednn = model.device.type == "cpu" and onednn_agrees(model.dtype)
        self._packed = [(rows, weight, pack_weight(weight.data)) for rows, weight in work] if onednn else None
        self.flops = sum(2 * rows * weight.numel() for rows, weight in work)

    def measure(self, *, least_seconds: float = 0.5) -> float:
        """FLOPs a second, over at least so many seconds, as ``torch.nn.functional.linear`` multiplies."""
        return self._measure(self._work, least_seconds)[0]

    def measure_onednn(self, *, least_seconds: float = 0.5) -> tuple[float, float] | None:
        """FLOPs a second and a CPU-second, as oneDNN multiplies with the weights in its order; None on a GPU, or
        without oneDNN."""
        return self._measure(self._packed, least_seconds) if self._packed else None

    @torch.inference_mode()
    def _measure(
        self, work: Sequence[tuple[int, torch.Tensor, torch.Tensor | None]], least_seconds: float
    ) -> tuple[float, float]:
        self._once(work)
        passes, started, spent = 0, time.perf_counter(), time.process_time()
        while (seconds := time.perf_counter() - started) < least_seconds or not passes:
            self._once(work)
            passes += 1
        return passes * self.flops / seconds, passes * self.flops / (time.process_time() - spent)

    def _once(self, work: Sequence[tuple[int, torch.Tensor, torch.Tensor | None]]) -> None:
        for rows, weight, packed in work:
            inputs = self._inputs[rows, weight.shape[1]]
            if packed is None:
                torch.nn.functional.linear(inputs, weight)
            else:
                onednn_linear(inputs, packed, None)
        if self.model.device.type == "cuda":
            torch.cuda.synchronize()


def executed_flops(work: Callable[[], Any]) -> int:
    """The FLOPs that ``work`` really executes: matrix products, convolutions and attention, as torch is called.

    Half of a causal attention is not executed, and not counted.
    """
    with FlopCounterMode(display=False, custom_mapping=_FORMULAS) as counter:
        work()
    return counter.get_total_flops()


def _attention_flops(query: Sequence[int], key: Sequence[int], value: Sequence[int], causal: bool) -> int:
    """``query`` is (batch, heads, new, width), ``key`` (batch, heads or groups of heads, all, width)."""
    new, every = query[-2], key[-2]
    flops = 2 * prod(query[:-2]) * new * every * (query[-1] + value[-1])
    return flops * (2 * every - new + 1) // (2 * every) if causal else flops


def _formula(place: int) -> Callable[..., int]:
    """The formula of an operator whose ``place``-th argument after query, key and value is ``is_causal``."""

    def count(query: Any, key: Any, value: Any, *args: Any, is_causal: bool = False, **_: Any) -> int:
        return _attention_flops(query, key, value, args[place] if len(args) > place else is_causal)

    return count


def _linear_flops(inputs: Sequence[int], weight: Sequence[int], *_: Any, **__: Any) -> int:
    return 2 * prod(inputs) * weight[0]


def _window_flops(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, bounds: torch.Tensor, *_: Any, **__: Any
) -> int:
    """``query`` is (tokens, heads, width); each token attends to its window."""
    lengths = bounds[1:] - bounds[:-1]
    return 2 * query.shape[1] * int((lengths.long() ** 2).sum()) * (query.shape[2] + value.shape[2])


_window_flops._get_raw = True  # type: ignore[attr-defined]  # torch passes shapes to the others
_FORMULAS = {
    torch.ops.mkldnn._linear_pointwise: _linear_flops,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _formula(1),
    torch.ops.aten._scaled_dot_product_flash_attention: _formula(1),
    torch.ops.aten._scaled_dot_product_efficient_attention: _formula(3),
    torch.ops.aten._scaled_dot_product_cudnn_attention: _formula(3),
}
if hasattr(torch.ops.torch_attn, "_varlen_attn"):
    _FORMULAS[torch.ops.torch_attn._varlen_attn] = _window_flops
