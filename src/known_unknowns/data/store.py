"""The store of downloads beside the data folders: complete files by their hash, and partial downloads.

    data/full/raw/.fetched/files/sha256-...              complete and checked
    data/full/raw/.fetched/parts/<data set>/sha256-...   partial

A workflow deletes an output folder before a job starts and after it fails. The store is not deleted. So a download
continues, and a folder is restored from the store by hard links, without a download and without more disk space.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from known_unknowns.errors import DataError, MachineError
from known_unknowns.files import copy_file, link_or_copy
from known_unknowns.files.pins import FilePin, Files, difference, is_right

FOLDER = ".fetched"
MANIFEST = ".git-files.json"
"""The list of files in a folder that git fetched (`known_unknowns.data.git`)."""
_IGNORED = (".snakemake_timestamp", MANIFEST)


class Store:
    """The store beside the folder ``out``."""

    def __init__(self, out: Path) -> None:
        self.out, self.root = out, out.parent / FOLDER

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Allow one fetch into ``out`` at a time; others wait. The lock ends with the process, even if it is killed."""
        self.root.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.root / f"{self.out.name}.lock"):
                yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise MachineError(
                    f"{self.root}: the disk is full; downloads are kept; free some space and run the same command again"
                ) from error
            raise MachineError(str(error)) from error

    def path_of(self, pinned: FilePin) -> Path:
        """Return the path of a complete, correct file. All data sets of the store share these files."""
        return self._in("files") / pinned.label.replace(" ", "-")

    def part(self, pinned: FilePin) -> Path:
        """Return the path of a partial download. Each data set has its own, as two may run at once."""
        return self.unlocked_part(pinned.label.replace(" ", "-"))

    def unlocked_part(self, name: str) -> Path:
        """Return the path of a partial download whose hash is unknown."""
        return self._in(f"parts/{self.out.name}") / name

    def _in(self, folder: str) -> Path:
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        return self.root / folder

    def has(self, pinned: FilePin) -> bool:
        """Whether the store has the file. A file with a wrong hash is removed."""
        path = self.path_of(pinned)
        if is_right(path, pinned):
            return True
        path.unlink(missing_ok=True)
        return False

    def move_if_right(self, part: Path, pinned: FilePin, *, origin: str) -> None:
        """Move a complete download into the store if its hash is right; otherwise remove it and raise DataError."""
        wrong = difference(pinned.of(part), pinned)
        if wrong is not None:
            part.unlink()
            raise DataError(f"{wrong}; it was refused", file=origin)
        part.replace(self.path_of(pinned))

    def copy_if_right(self, path: Path, pinned: FilePin) -> str | None:
        """Copy a file into the store if the copy's hash is right; otherwise return what is wrong."""
        part = self.part(pinned)
        copy = part.with_name(part.name + ".copy")
        try:
            copy_file(path, copy)
            wrong = difference(pinned.of(copy), pinned)
            if wrong is None:
                copy.replace(self.path_of(pinned))
            return wrong
        finally:
            copy.unlink(missing_ok=True)

    def missing_in_folder(self, files: Files) -> list[str]:
        """Return the paths of ``files`` that are missing or wrong in ``out``."""
        return [path for path, pinned in files.items() if not is_right(self.out / path, pinned)]

    def unexpected_files(self, files: Mapping[str, object]) -> list[str]:
        """Return the files in ``out`` that are not in ``files``."""
        there = (path for path in self.out.rglob("*") if path.is_file() or path.is_symlink())
        found = (path.relative_to(self.out).as_posix() for path in there)
        return sorted(path for path in found if path not in files and path not in _IGNORED)

    def assemble(self, files: Files, *, manifest: str = "") -> None:
        """Build ``out`` from the files of the store, with a manifest, and replace the old folder in one step."""
        new = self.root / f"{self.out.name}.new"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        for path, pinned in files.items():
            (new / path).parent.mkdir(parents=True, exist_ok=True)
            link_or_copy(self.path_of(pinned), new / path)
        if manifest:
            (new / MANIFEST).write_text(manifest, encoding="utf-8")
        replace_folder(new, self.out, self.root / f"{self.out.name}.old")


def replace_folder(new: Path, out: Path, old: Path) -> None:
    """Replace the folder ``out`` with ``new``. ``old`` is a temporary name; ``out`` is never a mixture of both."""
    shutil.rmtree(old, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.exists():
        out.rename(old)
    new.rename(out)
    shutil.rmtree(old, ignore_errors=True)
