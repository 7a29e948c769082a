"""Stop a run that asks questions on SIGTERM or Ctrl-C: no new requests, and the requests under way are journaled."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from types import FrameType

from known_unknowns.errors import MachineError

GRACE_SECONDS = 25.0
"""How long requests under way may take. Slurm kills a process 30 seconds after SIGTERM by default."""
_STEP = 0.25

_since: float | None = None


class StoppedError(MachineError):
    """A signal stopped the run. The same command continues it."""

    exit_code = 5

    def __init__(self) -> None:
        super().__init__("stopped by a signal; the replies so far are kept, and the same command asks what is missing")


def install() -> None:
    """Handle SIGTERM and SIGINT in this process. A second SIGINT ends it at once.

    A second SIGTERM does not: a job of a cluster receives several, from its scheduler and from the programs around it.
    The scheduler ends it after a grace period of its own.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _handle)


def requested() -> bool:
    """Whether a signal has come."""
    return _since is not None


def out_of_time() -> bool:
    """Whether a signal has come and the time for requests under way is over."""
    return _since is not None and time.monotonic() - _since > GRACE_SECONDS


def raise_if_requested() -> None:
    """Raise StoppedError if a signal has come."""
    if requested():
        raise StoppedError


async def sleep(seconds: float) -> None:
    """Sleep, but no longer than until a signal comes."""
    end = time.monotonic() + seconds
    while not requested() and (left := end - time.monotonic()) > 0:
        await asyncio.sleep(min(left, _STEP))


class PauseEnded(BaseException):  # no Exception: a client that repeats failed requests would catch it
    """A signal came in a pause before a request."""


async def pause(seconds: float) -> None:
    """Sleep before a request that is not under way yet.

    Raises PauseEnded when a signal comes.
    """
    await sleep(seconds)
    if requested():
        raise PauseEnded


def _handle(number: int, frame: FrameType | None) -> None:
    global _since
    if _since is not None and number == signal.SIGINT:
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # unlike a handler, this also holds while the interpreter ends
    if _since is not None:
        return
    _since = time.monotonic()
    print(f"stopping: the requests under way have {GRACE_SECONDS:.0f} s to end", file=sys.stderr, flush=True)
