"""The log of submitted batches, in a file beside the journal.

One JSON line for each step of a batch, on the disk before the next step is taken:

    {"digest": ..., "images": {key: [...]}, "at": 1700000000}   about to be submitted
    {"digest": ..., "batch": "batch_..."}                       submitted
    {"digest": ..., "closed": "completed"}                      ended, and every reply of it is in the journal

The keys are `Turn.key`, which are the batch's custom ids. Each has the sha256 of its images as sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from known_unknowns.files.append_file import AppendFile


@dataclass(slots=True)
class BatchRecord:
    """A batch that was, or was about to be, submitted at ``at`` (seconds since 1970).

    ``images`` has a key for each of its questions.
    """

    digest: str
    images: Mapping[str, list[str]]
    at: int
    batch: str | None = None
    closed: str | None = None


class BatchLog:
    """The batches by their digest. Incomplete lines, which a killed run may leave, are ignored."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.batches: dict[str, BatchRecord] = {}
        for line in path.read_bytes().splitlines() if path.is_file() else ():
            try:
                self._apply(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue

    def unfinished(self) -> list[BatchRecord]:
        """Return the batches that have not ended."""
        return [record for record in self.batches.values() if record.closed is None]

    def add(self, **line: Any) -> BatchRecord:
        """Write a line. It is on the disk when this returns."""
        with AppendFile(self.path, busy="another run is writing it; wait for that run, or stop it") as file:
            torn = file.rest(max(file.end - 1, 0)) not in (b"", b"\n")
            file.append(b"\n" * torn + json.dumps(line).encode() + b"\n", full="free some space")
        return self._apply(line)

    def _apply(self, line: Mapping[str, Any]) -> BatchRecord:
        digest = line["digest"]
        if "images" in line:
            self.batches[digest] = BatchRecord(digest, dict(line["images"]), int(line["at"]))
        record = self.batches[digest]
        record.batch = line.get("batch", record.batch)
        record.closed = line.get("closed", record.closed)
        return record
