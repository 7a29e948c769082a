"""What a run must remember of the batches that it submitted, in a file beside the journal.

One JSON line for each step of a batch, on the disk before the next step is taken:

    {"digest": ..., "images": {key: [...]}, "at": 1700000000}   about to be submitted
    {"digest": ..., "batch": "batch_..."}                       submitted
    {"digest": ..., "closed": "completed"}                      over, and every reply of it is in the journal

The keys are `Turn.key`, which are the batch's custom ids; each has the sha256 of its pictures as sent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class Note:
    """A batch that was, or was about to be, submitted at ``at`` (seconds since 1970). ``images`` has a key for each of
    its questions."""

    digest: str
    images: Mapping[str, list[str]]
    at: int
    batch: str | None = None
    closed: str | None = None


class Notes:
    """The batches by their digest. A line that a kill tore off tells of a step that was not taken, and is skipped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.batches: dict[str, Note] = {}
        for line in path.read_bytes().splitlines() if path.is_file() else ():
            try:
                self._take(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue

    def open(self) -> list[Note]:
        """The batches that are not over."""
        return [note for note in self.batches.values() if note.closed is None]

    def add(self, **line: Any) -> Note:
        """Write a line; when this returns, it is on the disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        torn = self.path.is_file() and not self.path.read_bytes().endswith(b"\n")
        with self.path.open("ab") as file:
            file.write(b"\n" * torn + json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        return self._take(line)

    def _take(self, line: Mapping[str, Any]) -> Note:
        digest = line["digest"]
        if "images" in line:
            self.batches[digest] = Note(digest, dict(line["images"]), int(line["at"]))
        note = self.batches[digest]
        note.batch = line.get("batch", note.batch)
        note.closed = line.get("closed", note.closed)
        return note
