"""Write files so that a reader sees the old content or the new one, never a part."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from known_unknowns.errors import MachineError

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextlib.contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``, which replaces ``path`` if the block succeeds and is removed otherwise.

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
    MachineError
        If the disk is full. ``path`` is unchanged.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    partial = Path(name)
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
