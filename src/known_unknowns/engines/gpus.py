"""The GPUs of this machine: which there are, and which of them the processes of this user have taken."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path

from known_unknowns.data import provenance
from known_unknowns.engines import memory_needs

_LOCKS: list[int] = []
"""Open files: a lock lasts as long as the process."""


def visible() -> list[str]:
    """Return the GPUs that this process may use, by the names that CUDA_VISIBLE_DEVICES has for them."""
    # The driver's tool is faster than an import of torch, but only NVIDIA's driver has it.
    present = [str(index) for index in range(len(provenance.gpu_names()))]
    if not present:
        return [str(index) for index in range(len(memory_needs.this_machine().gpus))]
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None:
        return present
    found: list[str] = []
    for name in (each.strip() for each in chosen.split(",")):
        if name not in present and not name.startswith(("GPU-", "MIG-")):
            break  # CUDA ignores what follows an unknown name
        found.append(name)
    return found


def take(count: int) -> int | None:
    """Return the index of one of ``count`` GPUs that no process has locked, and lock it until this process ends.

    None if there is none.
    """
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
    return None
