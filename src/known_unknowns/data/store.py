"""Where downloads are kept until they are whole, and where files lie by their hash, beside the folders of data.

    data/full/raw/.fetched/files/sha256-...                whole and checked
    data/full/raw/.fetched/parts/humblebench/sha256-...    begun

A workflow deletes a folder before it makes it anew, and after a failure. What lies here survives that, so that a
download continues, and a folder that is made again takes no time and, by hard links, no space.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from known_unknowns.data.files import FilePin, Files, difference, is_right
from known_unknowns.errors import DataError, MachineError

FOLDER = ".fetched"
_IGNORED = (".snakemake_timestamp",)


class Store:
    """The store beside the folder ``out``."""

    def __init__(self, out: Path) -> None:
        self.out, self.root = out, out.parent / FOLDER

    @contextmanager
    def lock(self) -> Iterator[None]:
        """One fetch into ``out`` at a time; others wait. The lock goes with the process, however that ends."""
        self.root.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.root / f"{self.out.name}.lock"):
                yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise MachineError(
                    f"{self.root}: the disk is full; what was downloaded is kept: free some space and run the same "
                    "command again"
                ) from error
            raise MachineError(str(error)) from error

    def path_of(self, pinned: FilePin) -> Path:
        """Where a file lies when it is whole and right. All data sets of the store share these."""
        return self._in("files") / pinned.label.replace(" ", "-")

    def part(self, pinned: FilePin) -> Path:
        """Where a file is downloaded to. Each data set has its own: two may be fetched at once, and share a file."""
        return self.unlocked_part(pinned.label.replace(" ", "-"))

    def unlocked_part(self, name: str) -> Path:
        """Where a file is downloaded to whose hash is not known yet."""
        return self._in(f"parts/{self.out.name}") / name

    def _in(self, folder: str) -> Path:
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        return self.root / folder

    def has(self, pinned: FilePin) -> bool:
        """Whether the file is here, and still what it was. One that is not any more is removed."""
        path = self.path_of(pinned)
        if is_right(path, pinned):
            return True
        path.unlink(missing_ok=True)
        return False

    def move_if_right(self, part: Path, pinned: FilePin, *, origin: str) -> None:
        """Keep a part that is whole, if it is right. Raises DataError for one that is not, which is removed."""
        wrong = difference(pinned.of(part), pinned)
        if wrong is not None:
            part.unlink()
            raise DataError(f"{wrong}; it was refused", file=origin)
        part.replace(self.path_of(pinned))

    def copy_if_right(self, path: Path, pinned: FilePin) -> str | None:
        """Keep a copy of somebody's file, if it is right, and else say what is wrong. The copy is what is checked."""
        part = self.part(pinned)
        copy = part.with_name(part.name + ".copy")
        try:
            shutil.copyfile(path, copy)
            wrong = difference(pinned.of(copy), pinned)
            if wrong is None:
                copy.replace(self.path_of(pinned))
            return wrong
        finally:
            copy.unlink(missing_ok=True)

    def missing_in_folder(self, files: Files) -> list[str]:
        """The paths of ``files`` that ``out`` lacks, or that are not right there."""
        return [path for path, pinned in files.items() if not is_right(self.out / path, pinned)]

    def unexpected_files(self, files: Mapping[str, object]) -> list[str]:
        """The files in ``out`` that are not among ``files``."""
        there = (path for path in self.out.rglob("*") if path.is_file() or path.is_symlink())
        found = (path.relative_to(self.out).as_posix() for path in there)
        return sorted(path for path in found if path not in files and path not in _IGNORED)

    def assemble(self, files: Files) -> None:
        """Make ``out`` of the files that are kept: it appears whole, in place of what was there."""
        new = self.root / f"{self.out.name}.new"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        for path, pinned in files.items():
            (new / path).parent.mkdir(parents=True, exist_ok=True)
            _link(self.path_of(pinned), new / path)
        replace_folder(new, self.out, self.root / f"{self.out.name}.old")


def replace_folder(new: Path, out: Path, old: Path) -> None:
    """Put the folder ``new`` in the place of ``out``, by way of ``old``: ``out`` is never half of either."""
    shutil.rmtree(old, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.exists():
        out.rename(old)
    new.rename(out)
    shutil.rmtree(old, ignore_errors=True)


def _link(source: Path, target: Path) -> None:
    """The same file under another name; a copy where the file system has no links."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        shutil.copyfile(source, target)
