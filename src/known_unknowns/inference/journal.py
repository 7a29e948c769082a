"""The journal: an append-only file of replies. Turns with a reply in the journal are not asked again.

Each line is a JSON object with ``key`` (`Turn.key`), the reply's index ``i`` of ``n`` in its batch, the reply without
the fields that have their default, and ``crc32``: the checksum of the line's bytes before it (lines of earlier versions
have none, and all fields). An incomplete batch at the
end, for example after a kill, is dropped when the journal is opened. Its turns are asked again in the same batch, so
that a resumed run gives the same replies as an uninterrupted one. The last of several replies with the same key counts.
"""

from __future__ import annotations

import fcntl
import json
import re
from collections.abc import ItemsView, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from zlib import crc32

from known_unknowns.errors import ConfigError, DataError, MachineError
from known_unknowns.files import atomic_path
from known_unknowns.files.append_file import AppendFile, Closing
from known_unknowns.records import Continuation, Reply, is_token_count

_to_json = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=dict).encode
_FIELDS = [(field.name, field.default) for field in fields(Reply)]
_SUFFIX_START = b', "crc32": "'
_SUFFIX = _SUFFIX_START + b'%08x"}\n'
_SUFFIX_SIZE = len(_SUFFIX % 0)
_KEY = re.compile(rb'"key": "([0-9a-f]{64})"')


class Journal(Closing):
    """A journal opened for reading and appending; a context manager. One process at a time may hold it.

    Raises MachineError when another process holds it, DataError when a line is damaged.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file = AppendFile(self.path, busy="another run is writing this journal; wait for it, or stop it")
        try:
            self._replies, end = read_batches(self.path)
            self._file.cut(end)
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Release the file."""
        self._file.close()

    def __len__(self) -> int:
        return len(self._replies)

    def __contains__(self, key: str) -> bool:
        return key in self._replies

    def __getitem__(self, key: str) -> Reply:
        return self._replies[key]

    def items(self) -> ItemsView[str, Reply]:
        """Return the keys and their replies."""
        return self._replies.items()

    def forget(self, keys: Iterable[str]) -> None:
        """Treat these keys as missing. The file keeps their replies until new ones are appended."""
        for key in keys:
            self._replies.pop(key, None)

    def append(self, batch: Sequence[tuple[str, Reply]]) -> None:
        """Add a batch of (key, reply). When this returns, the batch is on the disk, whole."""
        data = b"".join(journal_line(key, i, len(batch), reply) for i, (key, reply) in enumerate(batch))
        self._file.append(
            data,
            full="the replies so far are kept. Free some space and run the same command again: it asks only what is "
            "missing",
        )
        self._replies.update(batch)


def read_batches(path: Path) -> tuple[dict[str, Reply], int]:
    """Return the replies of all whole batches of a journal, and the offset at which the last of them ends.

    Another process may be appending to the file. DataError if a line is damaged.
    """
    replies: dict[str, Reply] = {}
    batch: list[tuple[str, Reply]] = []
    offset = end = 0
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            offset += len(line)
            parsed = parse_line(line)
            if parsed is None:
                if line.endswith(b"\n"):
                    raise DataError(
                        "this line is damaged; `known-unknowns journal repair` moves it to another file, and its "
                        "question is then asked again",
                        file=path,
                        line=number,
                    )
                break
            key, i, n, reply = parsed
            if i == 0:
                batch = []
            batch.append((key, reply))
            if len(batch) == n == i + 1:
                replies.update(batch)
                batch, end = [], offset
    return replies, end


def journal_line(key: str, i: int, n: int, reply: Reply) -> bytes:
    """Return the line of the ``i``-th reply of a batch of ``n``. It ends with the checksum of what precedes it."""
    values = {name: value for name, default in _FIELDS if (value := getattr(reply, name)) != default}
    entry = {"key": key, "i": i, "n": n, "reply": values}
    text = _to_json(entry).encode().removesuffix(b"}")
    return text + _SUFFIX % crc32(text)


def parse_line(line: bytes) -> tuple[str, int, int, Reply] | None:
    """Return the key, the index and size of the batch, and the reply in a line; None if it is torn or damaged."""
    if not line.endswith(b"\n"):
        return None
    text, suffix = line[:-_SUFFIX_SIZE], line[-_SUFFIX_SIZE:]
    if suffix.startswith(_SUFFIX_START):
        if suffix != _SUFFIX % crc32(text):
            return None
        line = text + b"}"
    try:
        entry: dict[str, Any] = json.loads(line)
        if entry.keys() != {"key", "i", "n", "reply"}:
            return None
        return entry["key"], entry["i"], entry["n"], _reply(entry["reply"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _reply(values: dict[str, Any]) -> Reply:
    """Return a reply without numbers of tokens that no table can hold, which earlier versions recorded."""
    for name in ("input_tokens", "visual_tokens", "output_tokens"):
        if not is_token_count(values.get(name)):
            values[name] = None
    if continuations := values.get("continuations"):
        values["continuations"] = {label: Continuation(*each) for label, each in continuations.items()}
    return Reply(**values)


@dataclass(frozen=True, slots=True)
class JournalCheck:
    """The content of a journal: key, index in the batch, size of the batch, and reply of each sound line.

    ``damaged`` has the bytes of each damaged line by its number, from 1.
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

    Raises MachineError if a run holds the journal.
    """
    with path.open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise MachineError(f"{path}: a run is writing this journal; wait for it, or stop it") from None
        checked = check(path)
        if checked.damaged:
            with AppendFile(path.with_name(f"{path.name}.damaged"), busy="another repair is writing it") as aside:
                aside.append(b"".join(checked.damaged.values()), full="the journal is as before")
            with atomic_path(path) as partial:
                partial.write_bytes(b"".join(_lines(checked.replies)))
    return checked


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
