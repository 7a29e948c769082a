"""Errors that a user can act on: each says what is wrong, where, and what to do.

The command line prints them without a traceback and exits with ``exit_code``:
2 for a mistake in the configuration or the arguments, 3 for bad data, 4 for a fault of the machine
(a full disk, say) after which the same command may be run again.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class KnownUnknownsError(Exception):
    exit_code = 1


class ConfigError(KnownUnknownsError):
    """A mistake in params.yaml. ``path`` is the dotted path of the bad key."""

    exit_code = 2

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path


class DataError(KnownUnknownsError):
    """A file that does not hold what it must. Names the file and, where there is one, the row (from 0, of a table)
    or the line (from 1, of a text file)."""

    exit_code = 3

    def __init__(
        self, message: str, *, file: str | Path, row: int | str | None = None, line: int | None = None
    ) -> None:
        where = str(file)
        if line is not None:
            where += f", line {line}"
        elif row is not None:
            where += f", row {row}"
        super().__init__(f"{where}: {message}")
        self.file, self.row, self.line = Path(file), row, line


class MachineError(KnownUnknownsError):
    """The machine failed, not the data: nothing was lost, the same command continues where it stopped."""

    exit_code = 4


def unknown_name(name: str, known: Iterable[str]) -> str:
    """What to say of a name that is not among the known ones, with the nearest of them."""
    names = sorted(known)
    close = difflib.get_close_matches(str(name), names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{name!r} is not known; {hint}known are {', '.join(names)}"
