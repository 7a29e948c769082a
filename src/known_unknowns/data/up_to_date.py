"""Which tables are up to date: a job that makes the tables of many models makes only those whose inputs have changed.

Snakemake runs a job as a whole. The job keeps a JSON file with the digest of the inputs of each table, and of the table
itself. A table is kept if both are unchanged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from known_unknowns.tables import write_text


class UpToDate:
    """The tables that a job made.

    Parameters
    ----------
    file : Path, optional
        The JSON file: the name of each table, to the digests of its inputs and of itself. Without it, no table is up
        to date.
    code : str
        The digest of the code that makes the tables.
    """

    def __init__(self, file: Path | None = None, *, code: str = "") -> None:
        self._file, self._code = file, code
        self._files: dict[Path, str] = {}
        self._made = _read(file)

    def digest_of(self, inputs: Iterable[Path], settings: Any) -> str:
        """Return the digest of what a table is made from: the code, files, and settings that JSON can express."""
        parts = [self._code, settings, [self._of_file(path) for path in inputs]]
        return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def keep(self, table: Path, inputs: str) -> bool:
        """Return whether a table is up to date, and if so set its time, because Snakemake compares times."""
        if not table.is_file() or self._made.get(str(table)) != [inputs, _digest(table)]:
            return False
        os.utime(table)
        return True

    def add(self, table: Path, inputs: str) -> None:
        """Record that a table was made from inputs with this digest."""
        self._made[str(table)] = [inputs, _digest(table)]
        if self._file is not None:
            write_text(self._file, json.dumps(self._made, indent=0, sort_keys=True) + "\n")

    def _of_file(self, path: Path) -> str:
        """The digest of an input, computed once; empty if it is absent, which is an error later."""
        if path not in self._files:
            self._files[path] = _digest(path) if path.is_file() else ""
        return self._files[path]


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _read(file: Path | None) -> dict[str, list[str]]:
    """The recorded digests; none if the file is absent or damaged, so that all tables are made again."""
    try:
        found = json.loads(file.read_bytes()) if file is not None else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
