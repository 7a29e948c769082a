"""How much goes through a model at once, by its size and the memory that there is."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import Any

import torch

CACHE_GIB = 1.0
"""Room for prefixes and visual features that are kept from one wave to the next, where the entry names none."""
_WORTH_CPU, _WORTH_GPU = 2e11, 1e14
"""Floating-point operations in one pass beyond which a longer one is no more efficient."""
_FEWEST, _MOST = 512, 16384
_KEPT_CPU, _LONG_CPU = 4096, 4e12
"""Tokens of questions that are answered, and written down, together on a CPU: so many, or more where they take no more
than so many floating-point operations. What a run that is cut off has not written down is computed again."""
_PICTURES_CPU, _PICTURES_GPU = 24, 256
"""Whose pixels, some megabytes each, are held at once."""
_PROMPT = 6
"""A question's prompt, pictures and all, in units of what comes after its pictures."""
_TOKENS_A_QUESTION = 64
_TOKENS_A_PREFIX = 1024
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3


@dataclass(frozen=True, slots=True)
class Room:
    """``tokens`` of questions, and ``batch_size`` questions, that are answered together, and about how many different
    ``pictures`` at most; ``tokens_a_pass``, beyond which a pass is no more efficient; and ``prefixes`` computed in one
    pass.

    On a CPU they depend on the machine's whole memory, not on what is free just now, so that a run that was cut off
    goes on with the same chunks; and prefixes are computed one at a time there, whose bits then do not depend on
    what is beside them.
    """

    tokens: int
    tokens_a_pass: int
    batch_size: int
    prefixes: int
    pictures: int


def room(model: Any, device: str) -> Room:
    """What a loaded model leaves room for."""
    per_token = _bytes_per_token(model)
    weights = sum(weight.numel() for weight in model.parameters())
    on_gpu = device.startswith("cuda")
    if on_gpu:
        tokens = min(_MOST, torch.cuda.mem_get_info(device)[0] // 2 // per_token)
    else:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        tokens = min(_MOST, max(_KEPT_CPU, int(_LONG_CPU / (2 * weights))), whole // 8 // per_token)
    tokens = _power_of_two(tokens)
    worth = max(_FEWEST, int((_WORTH_GPU if on_gpu else _WORTH_CPU) / (2 * weights)))
    return Room(
        tokens=tokens,
        tokens_a_pass=min(tokens, worth),
        batch_size=max(1, min(256, tokens // _TOKENS_A_QUESTION)),
        prefixes=max(1, tokens // _TOKENS_A_PREFIX) if on_gpu else 1,
        pictures=_PICTURES_GPU if on_gpu else _PICTURES_CPU,
    )


def keep_freed() -> None:
    """Tell the C library to keep freed memory for the next pass, which wants as much again.

    By default it hands large blocks back to the system, which clears each page anew when it is next touched: on a CPU
    that took a tenth of the time. It is glibc's; elsewhere nothing is done.
    """
    tune = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    for setting, value in ((_M_MMAP_THRESHOLD, 2**25), (_M_TRIM_THRESHOLD, 2**30), (_M_TOP_PAD, 2**26)):
        if tune is not None:
            tune(setting, value)


def spare_core(device: str) -> bool:
    """Whether there is a core that the model does not compute on."""
    return device.startswith("cuda") or torch.get_num_threads() < len(os.sched_getaffinity(0))


def is_exhausted(error: Exception) -> bool:
    """Whether an error says that memory ran out."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return "can't allocate memory" in str(error) or "not enough memory" in str(error)


def _bytes_per_token(model: Any) -> int:
    """Of a question in a pass: what one layer computes with, and the keys and values of its prompt in all layers."""
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    kept = 2 * heads * head * config.num_hidden_layers * _PROMPT
    computed = 10 * config.hidden_size + 3 * (getattr(config, "intermediate_size", None) or 4 * config.hidden_size)
    return (kept + computed) * model.dtype.itemsize


def _power_of_two(number: int) -> int:
    return 1 << max(0, int(number).bit_length() - 1)
