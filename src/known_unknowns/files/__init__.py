"""Write files so that a reader sees the old content or the new one, never a part."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from known_unknowns.errors import ConfigError, MachineError

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")
"""Suffixes of compressed files, which are named in messages and not read."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_PARTIAL = re.compile(r"\..+\.[a-z0-9_]{8}\.part")
_cleaned: set[Path] = set()
"""Folders in which this process has removed what killed processes left."""


@contextlib.contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``, which replaces ``path`` if the block succeeds and is removed otherwise.

    The temporary file is locked while it is written. Those that a killed process left in the folder are not, and are
    removed.

    Parameters
    ----------
    path : str or Path
        The file to write. Its folder is created.

    Yields
    ------
    Path
        The file to write to.

    Raises
    ------
    ConfigError
        If ``path`` is a folder.
    MachineError
        If the disk is full. ``path`` is unchanged.
    """
    path = Path(path)
    if path.is_dir():
        raise ConfigError("is a folder; name a file in it", path=str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(path.parent)
    handle, partial = _locked_file(path)
    try:
        yield partial
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.chmod(0o666 & ~_umask())
        partial.replace(path)
    except OSError as error:
        if error.errno in _FULL:
            raise MachineError(
                f"{path}: the disk is full, so nothing was written; free some space and run the same command again"
            ) from error
        raise
    finally:
        partial.unlink(missing_ok=True)
        os.close(handle)


@contextlib.contextmanager
def disk_errors(path: str | Path) -> Iterator[None]:
    """Raise MachineError with the file that was written if the disk is full: the system's error has no name."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise MachineError(f"{path}: the disk is full; free some space and run the same command again") from error


def copy_file(source: Path, target: Path) -> None:
    """Copy a file's content. MachineError if the disk is full."""
    with disk_errors(target):
        shutil.copyfile(source, target)


def _locked_file(path: Path) -> tuple[int, Path]:
    """Create a temporary file beside ``path`` and lock it; return its handle, which holds the lock, and its path."""
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if (partial := Path(name)).exists():  # another process may remove it before it is locked
            return handle, partial
        os.close(handle)


def _remove_abandoned(folder: Path) -> None:
    """Remove the temporary files of killed processes from a folder, at its first use by this process."""
    if (folder := folder.absolute()) in _cleaned:
        return
    _cleaned.add(folder)
    with os.scandir(folder) as entries:
        found = [Path(entry) for entry in entries if _PARTIAL.fullmatch(entry.name)]
    for partial in found:
        with contextlib.suppress(OSError), partial.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its process lives
            partial.unlink()


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def write_text(path: str | Path, text: str) -> None:
    """Write a UTF-8 text file atomically."""
    with atomic_path(path) as partial:
        partial.write_text(text, encoding="utf-8")


def link_or_copy(source: Path, target: Path) -> None:
    """Create a hard link, or a copy if the file system has no links.

    Raises
    ------
    OSError
        If the disk is full, or if ``target`` exists and cannot be overwritten.
    """
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno in _FULL:
            raise
        shutil.copyfile(source, target)
