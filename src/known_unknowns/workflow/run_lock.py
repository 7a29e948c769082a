"""One run at a time in a folder: the lock of a run, and that of its jobs, which may outlive a killed run.

Snakemake's own lock outlives a killed run and has to be removed by hand. The default profile disables it (nolock).
These locks end with the processes that hold them.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from known_unknowns.errors import MachineError

RUN = Path(".snakemake/known-unknowns.lock")
JOBS = Path(".snakemake/known-unknowns.jobs")
"""Each job of the present run holds it, together with the others."""
_SECONDS = 10.0
"""How long to wait for the jobs of a run that was stopped."""


def lock_run(run: Path = RUN, jobs: Path = JOBS, *, seconds: float = _SECONDS) -> TextIO:
    """Lock the working folder for one run; the lock lasts as long as the returned file is open.

    Raises
    ------
    MachineError
        If another run, or a job of one, is active. The message names its process.
    """
    held = _locked(run, fcntl.LOCK_EX)
    if held is None:
        raise MachineError(f"another run is active in this folder{_named(run)}; wait for it to end, or stop it")
    _write_name(held)
    end = time.monotonic() + seconds
    while (of_jobs := _locked(jobs, fcntl.LOCK_EX)) is None:
        if time.monotonic() > end:
            held.close()
            raise MachineError(
                f"jobs of a stopped run are active in this folder{_named(jobs)}; wait for them to end, or stop them"
            )
        time.sleep(0.2)
    of_jobs.truncate(0)
    of_jobs.close()
    return held


def join_run(jobs: Path = JOBS) -> TextIO | None:
    """Hold the lock of a run's jobs as long as the returned file is open; None if the file system has no locks."""
    with suppress(OSError):
        held = _locked(jobs, fcntl.LOCK_SH)
        if held is not None:
            held.write(f"{os.getpid()} {socket.gethostname()}\n")
            held.flush()
        return held
    return None


def _locked(path: Path, kind: int) -> TextIO | None:
    """Return the file with a lock; None if another process has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a", encoding="utf-8")
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def _write_name(file: TextIO) -> None:
    file.truncate(0)
    file.write(f"{os.getpid()} {socket.gethostname()}\n")
    file.flush()


def _named(path: Path) -> str:
    """Return the processes that a file names, in parentheses, without those of this machine that have ended."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        process, _, host = line.partition(" ")
        if host == socket.gethostname():
            if Path("/proc").is_dir() and not Path("/proc", process).is_dir():
                continue
            found.append(process)
        else:
            found.append(f"{process} on {host}")
    return f" (process {', '.join(found)})" if found else ""
