"""JSON files of results: written atomically, with a checksum that is verified when the file is read.

The same values give the same bytes. The checksum is the CRC-32 of the file without it, under the key "checksum". Files
of earlier versions have none.

`parse_json` reads JSON of others. A key that is given twice, nesting without end, and endless numbers are errors.
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
_DIGITS = "int_max_str_digits"


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


def parse_json(text: str) -> Any:
    """Return the value of a JSON document.

    Raises
    ------
    json.JSONDecodeError
        If ``text`` is not JSON.
    ValueError
        If an object has a key twice, of which Python keeps the last one, if values are nested too deep, or if an
        integer has more digits than Python reads.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        if _DIGITS in str(error):
            raise ValueError("an integer has too many digits") from None
        raise


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:60]!r} is given twice; remove one of them")
    return found
