"""JSON files of results: written atomically, with a checksum that is verified when the file is read.

The same values give the same bytes. The checksum is the CRC-32 of the file without it, under the key "checksum". Files
of earlier versions have none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from known_unknowns.errors import DamagedError, DataError
from known_unknowns.files import write_text

KEY = "checksum"
_PREFIX = "crc32:"


def write(path: str | Path, values: Mapping[str, Any]) -> None:
    """Write a JSON object with its checksum."""
    write_text(path, dumps(values))


def dumps(values: Mapping[str, Any]) -> str:
    """Return the text of a JSON object with its checksum."""
    return _text({**values, KEY: f"{_PREFIX}{crc32(_text(values).encode()):08x}"})


def read(path: str | Path) -> dict[str, Any]:
    """Return the values of a JSON file without the checksum.

    Raises
    ------
    DataError
        The file is missing.
    DamagedError
        It is not a JSON object, or was changed.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError("no such file", file=path)
    try:
        text = path.read_text(encoding="utf-8")
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"not a JSON file, or damaged ({error}); delete it and run again", file=path) from error
    if not isinstance(values, dict):
        raise DamagedError("not a JSON object; delete it and run again", file=path)
    checksummed = KEY in values or any(str(value).startswith(_PREFIX) for value in values.values())
    values.pop(KEY, None)
    if checksummed and dumps(values) != text:
        raise DamagedError("the file was changed after it was written; delete it and run again", file=path)
    return values


def _text(values: Mapping[str, Any]) -> str:
    return json.dumps(values, indent=2, sort_keys=True) + "\n"
