"""The file of decisions: one JSON object on each line, appended, and on the disk before `DecisionLog.append` returns.

The last field of a line is ``crc32``, the checksum of the line's bytes before it. A line that a crash left incomplete
at the end of the file was never acknowledged. It is moved to ``<file>.torn`` when the file is opened for writing.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from zlib import crc32

from pydantic import ValidationError

from known_unknowns.errors import DataError
from known_unknowns.files.append_file import AppendFile, Closing
from known_unknowns_construction.review.records import DECISION, Decision

_SUFFIX = b', "crc32": "%08x"}\n'
_SUFFIX_SIZE = len(_SUFFIX % 0)
_BUSY = (
    "another review is writing this file. Stop it, or give --decisions another file; several files are merged when the "
    "decisions are applied"
)


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
        return DECISION.validate_json(text + b"}")
    except ValidationError:
        return None


def read_log(path: Path) -> tuple[list[Decision], int]:
    """Return the decisions of a file, and the offset at which the last whole line ends.

    Raises DataError if a line other than an incomplete last one is damaged.
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


class DecisionLog(Closing):
    """A decision file opened for appending; a context manager. One process at a time may hold it.

    The file and its folder are created. Raises DataError if a line is damaged, MachineError if another process holds
    it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._file = AppendFile(self.path, busy=_BUSY)
        try:
            self._decisions, end = read_log(self.path)
            self._keys = {decision.key for decision in self._decisions}
            self._set_torn_aside(end)
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Close the file and release it for other processes."""
        self._file.close()

    @property
    def decisions(self) -> list[Decision]:
        """All decisions of the file, undone ones and undos included."""
        with self._lock:
            return list(self._decisions)

    def append(self, decision: Decision) -> bool:
        """Append a decision. When this returns, it is on the disk.

        False if a decision with the same key was there before, for example because a browser sent it again. Raises
        MachineError if the disk is full; the file is then as before.
        """
        line = decision_line(decision)
        with self._lock:
            if decision.key in self._keys:
                return False
            self._file.append(line, full="free some space. All earlier decisions are kept")
            self._decisions.append(decision)
            self._keys.add(decision.key)
            return True

    def _set_torn_aside(self, end: int) -> None:
        if torn := self._file.rest(end):
            with AppendFile(self.path.with_name(f"{self.path.name}.torn"), busy=_BUSY) as aside:
                aside.append(torn + b"\n", full="free some space")
            self._file.cut(end)
