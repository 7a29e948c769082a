"""Which tables are up to date: a job that makes the tables of many models makes only those whose inputs have changed.

Snakemake runs a job as a whole, and removes all of its tables if it fails. The job keeps a JSON file with the digest of
the inputs of each table, and of the table itself. A table is kept if both are unchanged. Until the job succeeds, a
folder beside the file has copies of the tables that it made, so that those of other models survive a failure.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from known_unknowns.files import atomic_path, write_text


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
        made_from, content = self._made.get(str(table), ("", ""))
        if made_from == inputs and (_has(table, content) or self._restore(table, content)):
            os.utime(table)
            return True
        if self._file is not None:
            self._copy(table).unlink(missing_ok=True)  # that of an earlier job, which must not be restored
        return False

    def add(self, table: Path, inputs: str) -> None:
        """Record that a table was made from inputs with this digest."""
        content = _digest(table)
        self._made[str(table)] = [inputs, content]
        if self._file is not None:
            copy = self._copy(table)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(table, copy)  # no link: Snakemake writes former versions into the same files
            write_text(self._file, json.dumps(self._made, indent=0, sort_keys=True) + "\n")

    def restore_removed(self) -> None:
        """Put the tables that a failed job made, and that were removed, back to their places."""
        for name, (_, content) in self._made.items():
            if not Path(name).exists():
                self._restore(Path(name), content)

    def succeed(self) -> None:
        """Remove the copies: all tables are in their places."""
        if self._file is not None:
            shutil.rmtree(_copies(self._file), ignore_errors=True)

    def _restore(self, table: Path, content: str) -> bool:
        """Put the copy of a table to its place, with its time, if it has this digest; return whether it has."""
        if self._file is None or not _has(copy := self._copy(table), content):
            return False
        with atomic_path(table) as partial:
            shutil.copy2(copy, partial)
        return True

    def _copy(self, table: Path) -> Path:
        assert self._file is not None
        return _copies(self._file) / sha256(str(table).encode()).hexdigest()

    def _of_file(self, path: Path) -> str:
        """The digest of an input, computed once; empty if it is absent, which is an error later."""
        if path not in self._files:
            self._files[path] = _digest(path) if path.is_file() else ""
        return self._files[path]


def restore_removed(folder: Path) -> None:
    """Apply `UpToDate.restore_removed` to every JSON file below a folder."""
    for file in sorted(folder.glob("**/*.json")):
        UpToDate(file).restore_removed()


def _copies(file: Path) -> Path:
    return file.with_suffix(".tables")


def _has(path: Path, content: str) -> bool:
    return path.is_file() and _digest(path) == content


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _read(file: Path | None) -> dict[str, list[str]]:
    """The recorded digests; none if the file is absent or damaged, so that all tables are made again."""
    try:
        found = json.loads(file.read_bytes()) if file is not None else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
