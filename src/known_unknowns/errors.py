"""Errors that a user can act on. Each message says what is wrong, where, and what to do.

The command line prints the message without a traceback and exits with ``exit_code``: 2 for a mistake in the
configuration or the arguments, 3 for bad data, 4 for a fault of the machine (for example a full disk), after which the
same command can be run again.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any


class KnownUnknownsError(Exception):
    """Base class of the package's errors."""

    exit_code = 1

    def __reduce__(self) -> tuple[Any, ...]:
        """Let the errors of other processes keep their message and their attributes."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[KnownUnknownsError], args: tuple[Any, ...], attributes: dict[str, Any]) -> KnownUnknownsError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(attributes)
    return error


class ConfigError(KnownUnknownsError):
    """A mistake in the configuration or the arguments.

    Parameters
    ----------
    message : str
    path : str
        The dotted path of the key, or the argument.
    """

    exit_code = 2

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path


class DataError(KnownUnknownsError):
    """A file whose content is wrong.

    Parameters
    ----------
    message : str
    file : str or os.PathLike
        A path, or a part of a table (`known_unknowns.tables.Part`).
    row : int or str, optional
        The row of a table, from 0.
    line : int, optional
        The line of a text file, from 1.

    Attributes
    ----------
    text : str
        The message without the place.
    """

    exit_code = 3

    def __init__(
        self, message: str, *, file: str | PathLike[str], row: int | str | None = None, line: int | None = None
    ) -> None:
        where = str(file)
        if line is not None:
            where += f", line {line}"
        elif row is not None:
            where += f", row {row}"
        super().__init__(f"{where}: {message}")
        self.text, self.file, self.row, self.line = message, Path(file), row, line


class DamagedError(DataError):
    """A file of results that is damaged or was changed. A run makes it again if it is gone."""


class MachineError(KnownUnknownsError):
    """A fault of the machine or the network. Nothing is lost, and the same command continues the work."""

    exit_code = 4


def unknown_name(name: str, known: Iterable[str]) -> str:
    """Return the message for an unknown name, with the most similar known name."""
    names = sorted(set(known))
    close = difflib.get_close_matches(str(name), names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{name!r} is not known; {hint}known are {', '.join(names)}"
