"""Which GPUs of this machine the processes of this user have taken."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path

_LOCKS: list[int] = []
"""Open files: a lock lasts as long as the process."""


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
