"""Pointers of Git LFS, which stand in place of large files in a clone made without git-lfs."""

from __future__ import annotations

from pathlib import Path

from known_unknowns.errors import DataError

_BEGINNING = b"version https://git-lfs.github.com/spec/"
_LARGEST = 1024


def check(data: bytes, *, file: str | Path, row: int | None = None) -> None:
    """Raise DataError if data are a pointer."""
    if data.startswith(_BEGINNING):
        text = "a pointer of Git LFS, not the file itself; install git-lfs, and run `git lfs pull` in its repository"
        raise DataError(text, file=file, row=row)


def check_file(file: Path) -> None:
    """Raise DataError if a file is a pointer."""
    if file.stat().st_size <= _LARGEST:
        check(file.read_bytes(), file=file)
