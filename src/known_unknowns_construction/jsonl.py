"""Files with one record on each line, as a JSON object. They are read and written without holding them in memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from known_unknowns.errors import DataError
from known_unknowns.files import atomic_path


def read_records(path: str | Path, adapter: TypeAdapter[Any], what: str) -> Iterator[tuple[int, Any]]:
    """Yield the number and the record of each line that is not empty.

    ``what`` names a record in messages, such as "candidate". Raises DataError, which names the file and the line, if a
    line is not such a record.
    """
    path = Path(path)
    try:
        lines = path.open("rb")
    except OSError as error:
        raise DataError(f"cannot read the {what}s: {error.strerror}", file=path) from error
    with lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    yield number, adapter.validate_json(line)
                except ValidationError as error:
                    raise DataError(_problem(error, what), file=path, line=number) from error


def write_records(path: str | Path, records: Iterable[Any]) -> int:
    """Write dataclasses to a file, atomically, and return their number. They are consumed one at a time.

    The folder is created. An existing file is replaced when the last record is written.
    """
    count = 0
    with atomic_path(Path(path)) as partial, partial.open("wb") as file:
        for record in records:
            file.write(line_of(record))
            count += 1
    return count


def line_of(record: Any) -> bytes:
    """Return the line of a record, with its line feed."""
    return json.dumps(asdict(record), ensure_ascii=False, allow_nan=False, default=list).encode() + b"\n"


def _problem(error: ValidationError, what: str) -> str:
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"the {what} has no {place!r}"
    return f"not a {what}: {place}{': ' if place else ''}{first['msg'].removeprefix('Value error, ')}"
