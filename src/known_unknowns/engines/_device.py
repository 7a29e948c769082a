"""The device and the number of threads of a model that runs in this process."""

from __future__ import annotations

import fcntl
import os
import platform
import tempfile
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers

from known_unknowns.errors import ConfigError

_LOCKS: list[int] = []
"""Open files: a lock lasts as long as the process."""


def select_device(device: str, *, path: str) -> str:
    """Return the torch device for an entry's ``device``; "auto" is a GPU if there is one.

    Of several GPUs, "auto" is the first that no other process of this user has taken in this way.

    Raises
    ------
    ConfigError
        torch does not see this GPU.
    """
    if device == "auto":
        if not torch.cuda.is_available():
            return "cpu"
        count = torch.cuda.device_count()
        return "cuda" if count == 1 else f"cuda:{_take_gpu(count)}"
    if device.startswith("cuda"):
        index = int(device.partition(":")[2] or 0)
        if index >= torch.cuda.device_count():
            message = f"there is no {device}: torch sees {torch.cuda.device_count()} GPU(s); use cpu or auto"
            raise ConfigError(message, path=path)
    return device


def _take_gpu(count: int) -> int:
    """Return the index of a GPU that no process has locked, and lock it until this process ends; 0 if there is none."""
    folder = Path(tempfile.gettempdir(), f"known-unknowns-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    for index in range(count):
        file = os.open(folder / f"gpu{index}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
        else:
            _LOCKS.append(file)
            return index
    return 0


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
