"""The device and the threads of a model that runs in this process, and how much goes through it at once."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from typing import Any

import tokenizers
import torch
import transformers

from known_unknowns.engines import gpus
from known_unknowns.errors import ConfigError

CACHE_BYTES = 2**30
"""Size of the cache for prefixes and image features."""
_EFFICIENT_FLOPS_CPU, _EFFICIENT_FLOPS_GPU = 2e11, 1e14
"""Floating-point operations of one pass beyond which longer passes are not more efficient."""
_MIN_TOKENS, _MAX_TOKENS = 512, 16384
_CHUNK_TOKENS_CPU, _CHUNK_FLOPS_CPU = 4096, 4e12
"""Size of a chunk on a CPU: this many tokens of questions, or more if they take at most this many floating-point
operations. An interrupted run repeats what it has not written to the journal.
"""
_IMAGES_CPU, _IMAGES_GPU = 24, 256
"""Number of images whose pixels, some megabytes each, are held at once."""
_PROMPT_FACTOR = 6
"""Length of a whole prompt, images included, relative to the part after its images."""
_TOKENS_PER_QUESTION = 64
_TOKENS_PER_PREFIX = 1024


def select_device(device: str, *, path: str) -> str:
    """Return the torch device for an entry's ``device``; "auto" is a GPU if there is one.

    Of several GPUs, "auto" is the first that no other process of this user has taken in this way.

    Raises ConfigError if torch does not see this GPU.
    """
    if device == "auto":
        if not torch.cuda.is_available():
            return "cpu"
        count = torch.cuda.device_count()
        return "cuda" if count == 1 else f"cuda:{gpus.take(count) or 0}"
    if device.startswith("cuda"):
        index = int(device.partition(":")[2] or 0)
        if index >= torch.cuda.device_count():
            message = f"there is no {device}: torch sees {torch.cuda.device_count()} GPU(s); use cpu or auto"
            raise ConfigError(message, path=path)
    return device


def device_name(device: str) -> str:
    """Return a name for the record: the GPU's, or "cpu" with the processor's architecture."""
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else f"cpu ({platform.machine()})"


def environment(device: str) -> dict[str, Any]:
    """Return what is recorded of the machine and the libraries."""
    return {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "tokenizers": tokenizers.__version__,
        "device": device_name(device),
        "threads": torch.get_num_threads(),
    }


def limit_threads(threads: int) -> None:
    """Let torch use this many threads, or fewer if Snakemake, through OMP_NUM_THREADS, granted the job fewer cores."""
    granted = os.environ.get("OMP_NUM_THREADS", "")
    torch.set_num_threads(min(threads, int(granted)) if granted.isdecimal() and int(granted) else threads)


@dataclass(frozen=True, slots=True)
class Capacity:
    """How much is computed together: questions in one chunk, their tokens, tokens of one pass, and so on.

    On a CPU these numbers depend on the machine's total memory, not on the free memory, so that a resumed run uses the
    same chunks. Prefixes are computed one at a time there, so that their bits do not depend on other prefixes in the
    pass. ``images`` is the approximate number of different images in one chunk.
    """

    tokens: int
    tokens_per_pass: int
    batch_size: int
    prefixes: int
    images: int


def capacity(model: Any, device: str) -> Capacity:
    """Return the capacity for a loaded model."""
    per_token = _bytes_per_token(model)
    weights = sum(weight.numel() for weight in model.parameters())
    on_gpu = device.startswith("cuda")
    if on_gpu:
        tokens = min(_MAX_TOKENS, torch.cuda.mem_get_info(device)[0] // 2 // per_token)
    else:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        tokens = min(
            _MAX_TOKENS, max(_CHUNK_TOKENS_CPU, int(_CHUNK_FLOPS_CPU / (2 * weights))), whole // 8 // per_token
        )
    tokens = _power_of_two(tokens)
    worth = max(_MIN_TOKENS, int((_EFFICIENT_FLOPS_GPU if on_gpu else _EFFICIENT_FLOPS_CPU) / (2 * weights)))
    return Capacity(
        tokens=tokens,
        tokens_per_pass=min(tokens, worth),
        batch_size=max(1, min(256, tokens // _TOKENS_PER_QUESTION)),
        prefixes=max(1, tokens // _TOKENS_PER_PREFIX) if on_gpu else 1,
        images=_IMAGES_GPU if on_gpu else _IMAGES_CPU,
    )


def has_spare_core(device: str) -> bool:
    """Return whether there is a core that the model does not compute on."""
    return device.startswith("cuda") or torch.get_num_threads() < len(os.sched_getaffinity(0))


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an error reports that memory ran out."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return "can't allocate memory" in str(error) or "not enough memory" in str(error)


def report_halving(name: str, about: dict[str, Any], turns: int, failure: str) -> None:
    """Say, and record in an engine's ``about``, that memory ran out with this many turns at once."""
    counts = about.setdefault("out_of_memory", {})
    if str(turns) not in counts:
        print(f"{name}: out of memory with {turns} questions at once ({failure}); halved", file=sys.stderr, flush=True)
    counts[str(turns)] = counts.get(str(turns), 0) + 1


def _bytes_per_token(model: Any) -> int:
    """Return the bytes per token of a question: activations of one layer, keys and values of all layers."""
    config = model.config.get_text_config()
    hidden = config.hidden_size
    # Layers may differ, as those of Gemma 4 do. Then only their own configurations have some of the settings.
    layers = getattr(config, "per_layer_config", None) or [config] * config.num_hidden_layers
    kept = sum(_size_of_keys(layer, hidden) for layer in layers) * _PROMPT_FACTOR
    widths = [getattr(layer, "intermediate_size", None) or 4 * hidden for layer in layers]
    computed = 10 * hidden + 3 * max(max(width) if isinstance(width, (list, tuple)) else width for width in widths)
    return (kept + computed) * model.dtype.itemsize


def _size_of_keys(layer: Any, hidden: int) -> int:
    """Return the number of a token's keys and values in a layer with this configuration."""
    heads = getattr(layer, "num_key_value_heads", None) or layer.num_attention_heads
    return 2 * heads * (getattr(layer, "head_dim", None) or hidden // layer.num_attention_heads)


def _power_of_two(number: int) -> int:
    return 1 << max(0, int(number).bit_length() - 1)
