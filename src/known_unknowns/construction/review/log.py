"""The file of decisions: one JSON object on each line, appended, and on the disk before `DecisionLog.append` returns.

The last field of a line is ``crc32``, the checksum of the line's bytes before it. A line that a crash left incomplete
at the end of the file was never acknowledged. It is moved to ``<file>.torn`` when the file is opened for writing.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
from pathlib import Path
from types import TracebackType
from zlib import crc32

from known_unknowns.construction.review.records import Decision
from known_unknowns.errors import DataError, MachineError

_SUFFIX = b', "crc32": "%08x"}\n'
_SUFFIX_SIZE = len(_SUFFIX % 0)


def decision_line(decision: Decision) -> bytes:
    """Return the line of a decision, with its checksum and line feed."""
    text = json.dumps(decision.as_dict(), ensure_ascii=True, allow_nan=False).encode().removesuffix(b"}")
    return text + _SUFFIX % crc32(text)


def parse_decision(line: bytes) -> Decision | None:
    """Return the decision in a line; None if the line is torn or damaged."""
    text, suffix = line[:-_SUFFIX_SIZE], line[-_SUFFIX_SIZE:]
    if suffix != _SUFFIX % crc32(text):
        return None
    try:
        return Decision.from_dict(json.loads(text + b"}"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def read_log(path: Path) -> tuple[list[Decision], int]:
    """Return the decisions of a file, and the offset at which the last whole line ends.

    Raises
    ------
    DataError
        If a line other than an incomplete last one is damaged.
    """
    decisions: list[Decision] = []
    end = 0
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                decision = parse_decision(line)
                if decision is None:
                    if not line.endswith(b"\n"):
                        break
                    raise DataError(
                        "this decision is damaged: its checksum is wrong. Restore the line from a copy, or move it to "
                        "another file; its question is then reviewed again",
                        file=path,
                        line=number,
                    )
                decisions.append(decision)
                end += len(line)
    except OSError as error:
        raise DataError(f"cannot read the decisions: {error.strerror}", file=path) from error
    return decisions, end


class DecisionLog:
    """A decision file opened for appending; a context manager. One process at a time may hold it.

    Parameters
    ----------
    path : str or Path
        The file. It and its folder are created if they are absent.

    Raises
    ------
    DataError
        If a line is damaged.
    MachineError
        If another process holds the file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        created = not self.path.exists()
        self._lock = threading.Lock()
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise MachineError(
                f"{self.path}: another review is writing this file. Stop it, or give --decisions another file; several "
                "files are merged when the decisions are applied"
            ) from None
        try:
            self._decisions, self._end = read_log(self.path)
            self._keys = {decision.key for decision in self._decisions}
            self._set_torn_aside()
            if created:
                _sync_folder(self.path.parent)
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> DecisionLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and release it for other processes."""
        os.close(self._file)

    @property
    def decisions(self) -> list[Decision]:
        """All decisions of the file, undone ones and undos included."""
        with self._lock:
            return list(self._decisions)

    def append(self, decision: Decision) -> bool:
        """Append a decision. When this returns, it is on the disk.

        Returns
        -------
        bool
            False if a decision with the same key was there before, for example because a browser sent it again.

        Raises
        ------
        MachineError
            If the disk is full. The file is as before.
        """
        line = decision_line(decision)
        with self._lock:
            if decision.key in self._keys:
                return False
            try:
                written = 0
                while written < len(line):
                    written += os.write(self._file, line[written:])
                os.fsync(self._file)
            except OSError as error:
                os.ftruncate(self._file, self._end)
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise MachineError(
                        f"{self.path}: the disk is full; free some space. All earlier decisions are kept"
                    ) from error
                raise
            self._end += len(line)
            self._decisions.append(decision)
            self._keys.add(decision.key)
            return True

    def _set_torn_aside(self) -> None:
        size = os.fstat(self._file).st_size
        if size > self._end:
            torn = os.pread(self._file, size - self._end, self._end)
            with self.path.with_name(f"{self.path.name}.torn").open("ab") as aside:
                aside.write(torn + b"\n")
                aside.flush()
                os.fsync(aside.fileno())
            os.ftruncate(self._file, self._end)
            os.fsync(self._file)


def _sync_folder(folder: Path) -> None:
    """Write the folder's entry of a new file to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
