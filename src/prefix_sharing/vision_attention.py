"""Attention in vision towers that process several images, or windows of an image, in one sequence.

Without the package flash-attn, transformers calls attention once for each window: 844 times per image and pass for
Qwen2.5-VL, which takes a GPU longer to launch than to compute. Here one call serves all windows: torch's own
variable-length attention on a GPU in half precision, else one call for all windows of equal length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from inspect import signature
from itertools import pairwise
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

varlen: Any
try:
    varlen = import_module("torch.nn.attention.varlen")
except ImportError:  # torch before 2.10
    varlen = None

WINDOWS = "prefix_sharing_flash_windows"
"""transformers passes the windows' bounds to implementations with "flash" in their name."""
_TOLERANCES = {torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 2e-2}
"""Accepted difference from transformers' attention, in standard deviations of its output."""
_OTHER_KINDS = ("is_causal", "softcap", "sliding_window", "s_aux")
"""Arguments of transformers for attention that is causal, capped, within a sliding window, or has a sink."""
_CHECKED_LENGTHS = (64, 64, 32, 16, 64)


def window_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    *,
    cu_seq_lens_q: torch.Tensor,
    max_length_q: int,
    **more: Any,
) -> tuple[torch.Tensor, None]:
    """Compute attention within windows; the signature is that of attention functions in transformers.

    Parameters
    ----------
    query, key, value : Tensor, shape (1, heads, tokens, size)
    cu_seq_lens_q : Tensor, shape (windows + 1,)
        The bounds of the windows.
    max_length_q : int
        Length of the longest window.

    Returns
    -------
    Tensor, shape (1, tokens, heads, size)

    Raises
    ------
    ValueError
        For another kind of attention. `use_window_attention` leaves a tower with such a layer as it is.
    """
    if given := [name for name in _OTHER_KINDS if not (more.get(name) is None or more[name] is False)]:
        raise ValueError(f"attention within windows takes no {', '.join(given)}")
    if _has_kernel(query):
        rows = [tensor[0].transpose(0, 1) for tensor in (query, key, value)]
        bounds = cu_seq_lens_q.to(torch.int32)
        return varlen.varlen_attn(*rows, bounds, bounds, max_length_q, max_length_q, scale=scaling)[None], None
    found = torch.empty_like(query)
    for tokens in _of_equal_length(cu_seq_lens_q):
        queries, keys, values = (tensor[0][:, tokens].transpose(0, 1) for tensor in (query, key, value))
        attended = scaled_dot_product_attention(queries, keys, values, scale=scaling)
        found[0][:, tokens.flatten()] = attended.transpose(0, 1).flatten(1, 2)
    return found.transpose(1, 2), None


AttentionInterface.register(WINDOWS, window_attention)


def _has_kernel(query: torch.Tensor) -> bool:
    return (
        varlen is not None
        and query.is_cuda
        and query.dtype in (torch.float16, torch.bfloat16)
        and query.shape[-1] % 8 == 0
        and torch.cuda.get_device_capability(query.device) >= (8, 0)
    )


def _of_equal_length(bounds: torch.Tensor) -> Sequence[torch.Tensor]:
    """Return, for each length, the places (windows, length) of its windows' tokens.

    They are kept on the tensor, because all layers of a pass receive the same one.
    """
    known: Sequence[torch.Tensor] | None = getattr(bounds, "_places_by_length", None)
    if known is None:
        known = list(_places(bounds.tolist(), bounds.device))
        bounds._places_by_length = known  # type: ignore[attr-defined]
    return known


def _places(bounds: Sequence[int], device: torch.device) -> Iterator[torch.Tensor]:
    starts: dict[int, list[int]] = {}
    for start, end in pairwise(bounds):
        starts.setdefault(end - start, []).append(start)
    for length, found in starts.items():
        yield (torch.tensor(found)[:, None] + torch.arange(length)).to(device)


def use_window_attention(model: torch.nn.Module) -> str:
    """Let a model's vision tower compute all windows in one call, if every layer agrees with transformers'.

    Returns
    -------
    str
        The implementation used: "windows" or "transformers".
    """
    parts = list(_window_modules(model))
    if not parts or not all(map(_agrees, parts)):
        return "transformers"
    for config in {id(part.config): part.config for part in parts}.values():
        config._attn_implementation = WINDOWS
    return "windows"


def _window_modules(model: torch.nn.Module) -> Iterator[Any]:
    wanted = {"hidden_states", "cu_seqlens", "position_embeddings"}
    for part in model.modules():
        implementation = getattr(getattr(part, "config", None), "_attn_implementation", "")
        # The block around it takes the same arguments, but has no scaling.
        if (
            implementation == "sdpa"
            and hasattr(part, "scaling")
            and wanted <= signature(part.forward).parameters.keys()
        ):
            yield part


@torch.inference_mode()
def _agrees(part: Any) -> bool:
    """Compare a layer's attention on random inputs with transformers'."""
    weight = next(part.parameters())
    draw = torch.Generator().manual_seed(0)
    tokens, size = sum(_CHECKED_LENGTHS), getattr(part, "head_dim", None) or part.qkv.in_features // part.num_heads
    inputs = torch.randn(tokens, part.qkv.in_features, generator=draw).to(weight)
    angles = torch.rand(tokens, size, generator=draw).to(weight.device)
    bounds = torch.tensor((0, *_CHECKED_LENGTHS), device=weight.device).cumsum(0).to(torch.int32)
    config, before = part.config, part.config._attn_implementation
    found = []
    try:
        for implementation in (before, WINDOWS):
            config._attn_implementation = implementation
            found.append(part(inputs, cu_seqlens=bounds, position_embeddings=(angles.cos(), angles.sin())).float())
    except Exception:  # any error of a layer that is called in another way
        return False
    finally:
        config._attn_implementation = before
    worst = (found[0] - found[1]).abs().max() / found[0].std()
    return bool(worst <= _TOLERANCES.get(weight.dtype, 0.0))
