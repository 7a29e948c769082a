"""A file that only grows. What has been appended is on the disk, and so are the file's name and its folder."""

from __future__ import annotations

import errno
import fcntl
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Self

from known_unknowns.errors import MachineError


class Closing(ABC):
    """A context manager that closes at its end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Release what it holds."""


class AppendFile(Closing):
    """A file opened for appending; a context manager. One process at a time may hold it.

    Parameters
    ----------
    path : Path
        The file. It and its folders are created if they are absent.
    busy : str
        The end of the message if another process holds the file.

    Attributes
    ----------
    end : int
        The size of the file.

    Raises
    ------
    MachineError
        If another process holds the file, or it cannot be opened for writing.
    """

    def __init__(self, path: Path, *, busy: str) -> None:
        self.path = path
        try:
            _make_folder(path.parent)
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise MachineError(
                f"{path}: cannot be opened for writing ({error.strerror}); correct this and run again"
            ) from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._handle)
            raise MachineError(f"{path}: {busy}") from None
        # Also if the file was there: the process that created it may have been killed before it did this.
        _sync_folder(path.parent)
        self.end = os.fstat(self._handle).st_size

    def close(self) -> None:
        """Close the file and release it for other processes."""
        os.close(self._handle)

    def append(self, data: bytes, *, full: str) -> None:
        """Append ``data``. When this returns, it is on the disk; if it fails, the file is as before.

        Raises
        ------
        MachineError
            If the disk is full; ``full`` is the end of the message.
        """
        try:
            written = 0
            while written < len(data):
                written += os.write(self._handle, data[written:])
            os.fsync(self._handle)
        except OSError as error:
            os.ftruncate(self._handle, self.end)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise MachineError(f"{self.path}: the disk is full; {full}") from error
            raise
        self.end += len(data)

    def rest(self, end: int) -> bytes:
        """Return the bytes after the first ``end``."""
        return os.pread(self._handle, max(self.end - end, 0), end)

    def cut(self, end: int) -> None:
        """Shorten the file to ``end`` bytes, on the disk too."""
        if end < self.end:
            os.ftruncate(self._handle, end)
            os.fsync(self._handle)
            self.end = end


def _make_folder(folder: Path) -> None:
    """Create a folder and its parents. The name of each new one is on the disk."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    """Write the folder's entries to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems cannot, and need not
            raise
    finally:
        os.close(handle)
