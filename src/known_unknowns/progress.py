"""Progress on stderr: a bar on a terminal, lines in a log file, nothing for short tasks.

The lines state rate and time left. The workflow reads them from the logs of its running jobs.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

_QUIET_SECONDS = 2.0
_SHORTEST_PAUSE, _LONGEST_PAUSE = 5.0, 60.0
_SHARE_OF_ELAPSED = 0.1  # the pause between two lines grows with the duration
_LINE = re.compile(r"(?P<task>.+): (?P<done>[\d,]+) of (?P<total>[\d,]+) \(\d+%\), (?P<rate>[\d,.]+) per second")


class Advance(Protocol):
    """Report that ``steps`` more steps are done."""

    def __call__(self, steps: int = 1) -> None: ...


@dataclass(frozen=True)
class Status:
    """The state of a task: its description, steps done and in total (0 if unknown), and steps per second."""

    task: str
    done: int
    total: int
    rate: float

    @property
    def seconds_left(self) -> float | None:
        """The time left at the present rate; None if it is unknown."""
        return (self.total - self.done) / self.rate if self.total and self.rate else None

    def __str__(self) -> str:
        out_of = f" of {self.total:,} ({self.done / self.total:.0%})" if self.total else ""
        rate = f"{self.rate:,.0f}" if self.rate >= 100 else f"{self.rate:.3g}"
        left = f", {duration(self.seconds_left)} left" if self.seconds_left else ""
        return f"{self.task}: {self.done:,}{out_of}, {rate} per second{left}"

    @classmethod
    def last_of(cls, text: str) -> Status | None:
        """Return the status in the last line of progress of a log; None if there is none with a total."""
        for line in reversed(text.splitlines()):
            if found := _LINE.match(line):
                done, total = (int(found[name].replace(",", "")) for name in ("done", "total"))
                return cls(found["task"], done, total, float(found["rate"].replace(",", "")))
        return None


def duration(seconds: float) -> str:
    """Return a duration as text with at most two units: ``45 s``, ``3 min 12 s``, ``2 h 5 min``, ``3 d 4 h``."""
    whole = round(seconds)
    for unit, size, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            count, rest = divmod(whole, size)
            return f"{count} {unit} {rest // part} {smaller}"
    return f"{whole} s"


@contextmanager
def progress(description: str, total: int) -> Iterator[Advance]:
    """Show the progress of a task with ``total`` steps, 0 if unknown. Call the result with the steps just done."""
    if sys.stderr.isatty():
        yield from _bar(description, total)
    else:
        yield _lines(description, total)


def _bar(description: str, total: int) -> Iterator[Advance]:
    # Only a terminal needs rich, and each job would load it.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=total or None)
        yield lambda steps=1: bar.advance(task, steps)


def _lines(description: str, total: int) -> Advance:
    start = time.monotonic()
    done, quiet_until = 0, start + _QUIET_SECONDS

    def advance(steps: int = 1) -> None:
        nonlocal done, quiet_until
        done += steps
        now = time.monotonic()
        elapsed = now - start
        complete = done == total and elapsed > _QUIET_SECONDS
        if now > quiet_until or complete:
            quiet_until = now + min(max(_SHORTEST_PAUSE, _SHARE_OF_ELAPSED * elapsed), _LONGEST_PAUSE)
            print(Status(description, done, total, done / elapsed), file=sys.stderr, flush=True)

    return advance
