"""Progress on stderr: a bar on a terminal, a line every ten per cent in a log file, nothing for short work."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_QUIET_SECONDS = 2.0
_SECONDS_BETWEEN = 10.0


class Advance(Protocol):
    def __call__(self, steps: int = 1) -> None: ...


@contextmanager
def progress(description: str, total: int) -> Iterator[Advance]:
    """Yield a function to call with the number of steps just done. A ``total`` of 0 is one that is not known."""
    if sys.stderr.isatty():
        yield from _bar(description, total)
    else:
        yield _lines(description, total)


def _bar(description: str, total: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=total or None)
        yield lambda steps=1: bar.advance(task, steps)


def _lines(description: str, total: int) -> Advance:
    start = time.monotonic()
    done, told, quiet_until = 0, 0, start + _QUIET_SECONDS

    def advance(steps: int = 1) -> None:
        nonlocal done, told, quiet_until
        done += steps
        now = time.monotonic()
        tenth = 10 * done // total if total else told + 1  # of an unknown total, a line now and then
        if tenth > told and now > quiet_until:
            told = tenth
            quiet_until = now + (0 if total else _SECONDS_BETWEEN)
            of = f" of {total}" if total else ""
            print(f"{description}: {done}{of} ({now - start:.0f} s)", file=sys.stderr, flush=True)

    return advance
