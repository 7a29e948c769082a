"""Shards: files of compressed data that the page loads on demand, also from ``file://``.

A shard is a classic script of one statement, ``shard("<name>","<base64>");``, because a page that was opened from a
file cannot fetch other files. The payload is gzip data. Base64 has no character that could end a script element or a
string, so that no text of a model can change what the statement does. The name is the start of the payload's sha256.
"""

from __future__ import annotations

import base64
import gzip
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from known_unknowns.files import disk_errors

_STATEMENT = re.compile(rb'shard\("([0-9a-f]{16})","([A-Za-z0-9+/=]*)"\);\n')
_LEVEL = 4


class ShardFolder:
    """Writes shards to a folder. Shards with the same content are one file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def write_json(self, value: Any) -> str:
        """Write a JSON-able value (NaN is null), and return the shard's name."""
        return self.write(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY))

    def write(self, data: bytes) -> str:
        """Write bytes, and return the shard's name."""
        payload = gzip.compress(data, _LEVEL, mtime=0)
        name = sha256(payload).hexdigest()[:16]
        statement = b'shard("%s","%s");\n' % (name.encode(), base64.b64encode(payload))
        path = self._folder / f"{name}.js"
        with disk_errors(path):
            path.write_bytes(statement)
        return name


def read(path: Path) -> bytes:
    """Return the data of a shard.

    Raises
    ------
    ValueError
        If the file is not a shard, or has another name than its payload.
    """
    match = _STATEMENT.fullmatch(path.read_bytes())
    if match is None:
        raise ValueError(f"{path} is not a shard")
    payload = base64.b64decode(match[2], validate=True)
    if not path.stem == match[1].decode() == sha256(payload).hexdigest()[:16]:
        raise ValueError(f"{path} has another name than its content")
    return gzip.decompress(payload)
