"""Progress on stderr: a bar on a terminal, a line every ten per cent in a log file, nothing for short work."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_QUIET_SECONDS = 2.0


class Advance(Protocol):
    def __call__(self, steps: int = 1) -> None: ...


@contextmanager
def progress(description: str, total: int) -> Iterator[Advance]:
    """Yield a function to call with the number of steps just done."""
    if sys.stderr.isatty():
        yield from _bar(description, total)
    else:
        yield _lines(description, total)


def _bar(description: str, total: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=total)
        yield lambda steps=1: bar.advance(task, steps)


def _lines(description: str, total: int) -> Advance:
    done, told, start = 0, 0, time.monotonic()

    def advance(steps: int = 1) -> None:
        nonlocal done, told
        done += steps
        tenth = 10 * done // max(total, 1)
        seconds = time.monotonic() - start
        if tenth > told and seconds > _QUIET_SECONDS:
            told = tenth
            print(f"{description}: {done} of {total} ({seconds:.0f} s)", file=sys.stderr, flush=True)

    return advance
