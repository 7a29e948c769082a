"""Progress on stderr: a bar on a terminal, a line every ten per cent in a log file, nothing for short tasks."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_QUIET_SECONDS = 2.0
_SECONDS_BETWEEN = 10.0


class Advance(Protocol):
    """Report that ``steps`` more steps are done."""

    def __call__(self, steps: int = 1) -> None: ...


@contextmanager
def progress(description: str, total: int) -> Iterator[Advance]:
    """Show the progress of a task.

    Parameters
    ----------
    description : str
    total : int
        The number of steps; 0 if it is unknown.

    Yields
    ------
    Advance
        A function to call with the number of steps just done.
    """
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
    done, printed, quiet_until = 0, 0, start + _QUIET_SECONDS

    def advance(steps: int = 1) -> None:
        nonlocal done, printed, quiet_until
        done += steps
        now = time.monotonic()
        tenth = 10 * done // total if total else printed + 1  # for an unknown total, a line after each interval
        if tenth > printed and now > quiet_until:
            printed = tenth
            quiet_until = now + (0 if total else _SECONDS_BETWEEN)
            out_of = f" of {total}" if total else ""
            print(f"{description}: {done}{out_of} ({now - start:.0f} s)", file=sys.stderr, flush=True)

    return advance
