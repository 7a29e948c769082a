"""Check journals, and set damaged lines aside."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.files import atomic_path
from known_unknowns.files.append_file import AppendFile
from known_unknowns.inference.journal import journal_line, parse_line
from known_unknowns.records import Reply

_KEY = re.compile(rb'"key": "([0-9a-f]{64})"')


@dataclass(frozen=True, slots=True)
class JournalCheck:
    """The content of a journal.

    Attributes
    ----------
    path : Path
        The journal.
    replies : list of (str, int, int, Reply)
        Key, index in the batch, size of the batch, and reply of each sound line.
    damaged : dict of int to bytes
        Number of each damaged line, from 1, to its bytes.
    """

    path: Path
    replies: list[tuple[str, int, int, Reply]]
    damaged: dict[int, bytes]

    @property
    def lost_keys(self) -> list[str]:
        """Keys in damaged lines that no sound line has."""
        sound = {key for key, *_ in self.replies}
        named = (key.decode() for line in self.damaged.values() for key in _KEY.findall(line))
        return sorted({key for key in named if key not in sound})

    def __str__(self) -> str:
        found = f"{self.path}: {len(self.replies)} sound lines"
        if not self.damaged:
            return found
        numbers = ", ".join(map(str, self.damaged))
        return f"{found}, {len(self.damaged)} damaged (line {numbers})"


def journals(paths: Iterable[Path], root: Path = Path("journal")) -> list[Path]:
    """Return these journals, or by default all below ``root``. ConfigError if one is missing."""
    found = list(paths) or sorted(path for path in root.rglob("*.jsonl") if not path.name.endswith(".notes.jsonl"))
    for path in found:
        if not path.is_file():
            raise ConfigError(f"there is no journal {path}")
    return found


def check(path: Path) -> JournalCheck:
    """Read a journal. A torn last line, which a kill leaves, is not damage."""
    replies, damaged = [], {}
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            parsed = parse_line(line.lstrip(b"\0"))  # a page of NULs, which a crash of the machine leaves
            if parsed is not None:
                replies.append(parsed)
                if line.startswith(b"\0"):
                    damaged[number] = line
            elif line.endswith(b"\n"):
                damaged[number] = line
    return JournalCheck(path, replies, damaged)


def repair(path: Path) -> JournalCheck:
    """Move damaged lines to <journal>.damaged, and keep every sound reply. Return what was found.

    The other replies of a batch that has lost a line are kept as batches of their own.

    Raises
    ------
    MachineError
        If a run holds the journal.
    """
    with path.open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise MachineError(f"{path}: a run is writing this journal; wait for it, or stop it") from None
        found = check(path)
        if found.damaged:
            with AppendFile(path.with_name(f"{path.name}.damaged"), busy="another repair is writing it") as aside:
                aside.append(b"".join(found.damaged.values()), full="the journal is as before")
            with atomic_path(path) as partial:
                partial.write_bytes(b"".join(_lines(found.replies)))
    return found


def _lines(replies: list[tuple[str, int, int, Reply]]) -> Iterable[bytes]:
    batch: list[tuple[str, int, int, Reply]] = []
    for entry in [*replies, None]:
        begins = entry is None or entry[1] == 0
        if batch and begins:
            whole = [i for _, i, _, _ in batch] == list(range(batch[0][2]))
            for key, i, n, reply in batch:
                yield journal_line(key, i if whole else 0, n if whole else 1, reply)
            batch = []
        if entry is not None:
            batch.append(entry)
