"""The device and the number of threads of a model that runs in this process."""

from __future__ import annotations

import os
import platform

import torch

from known_unknowns.errors import ConfigError


def select_device(device: str, *, path: str) -> str:
    """Return the torch device for an entry's ``device``; "auto" is a GPU if there is one.

    Raises
    ------
    ConfigError
        torch does not see this GPU.
    """
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda"):
        index = int(device.partition(":")[2] or 0)
        if index >= torch.cuda.device_count():
            message = f"there is no {device}: torch sees {torch.cuda.device_count()} GPU(s); use cpu or auto"
            raise ConfigError(message, path=path)
    return device


def device_name(device: str) -> str:
    """Return a name for the record: the GPU's, or "cpu" with the processor's architecture."""
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else f"cpu ({platform.machine()})"


def limit_threads(threads: int) -> None:
    """Let torch use this many threads, or fewer if Snakemake, through OMP_NUM_THREADS, granted the job fewer cores."""
    granted = os.environ.get("OMP_NUM_THREADS", "")
    torch.set_num_threads(min(threads, int(granted)) if granted.isdecimal() and int(granted) else threads)
