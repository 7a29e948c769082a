"""Read a log of inspect_ai in its format ``.eval``: a zip archive of JSON files, which newer versions compress by zstd.

The header and the samples become the object that the format ``.json`` of the same log is.
"""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from known_unknowns.errors import DataError

MAX_BYTES = 2**31
"""Largest size of a log when it is unpacked, in bytes."""
_ZSTD = 93
_START = "_journal/start.json"
"""What a log has until its evaluation ends, when it gets its header."""
_LOCAL_HEADER, _LENGTHS = 30, 26


def read_eval_log(file: Path) -> dict[str, Any]:
    """Return the header of a log with its ``samples``. Raises DataError if it is none, or has no sample yet."""
    if not file.is_file():
        raise DataError("no such file", file=file)
    try:
        with zipfile.ZipFile(file) as archive, file.open("rb") as content:
            members = {member.filename: member for member in archive.infolist()}
            size = sum(member.file_size for member in members.values())
            if size > MAX_BYTES:
                raise DataError(f"it unpacks to {size:,} bytes; the limit is {MAX_BYTES:,}", file=file)
            names = [name for name in members if name.startswith("samples/")]
            header = "header.json" if "header.json" in members else _START
            if header not in members or (header == _START and not names):
                raise DataError("a log without header.json: the evaluation did not finish; run it again", file=file)
            log = {"status": "started"} | json.loads(_content(archive, content, members[header]))
            log["samples"] = [json.loads(_content(archive, content, members[name])) for name in names]
    except (
        zipfile.BadZipFile,
        OSError,
        ValueError,
        TypeError,
        RecursionError,
        struct.error,
        pa.ArrowException,
    ) as error:
        raise DataError(f"not a readable log of inspect_ai ({error})", file=file) from error
    return log


def _content(archive: zipfile.ZipFile, content: BinaryIO, member: zipfile.ZipInfo) -> bytes:
    """Return the bytes of a member. Python's zipfile knows zstd from version 3.14 on."""
    if member.compress_type != _ZSTD:
        return archive.read(member)
    content.seek(member.header_offset)
    of_name, of_extra = struct.unpack_from("<HH", content.read(_LOCAL_HEADER), _LENGTHS)
    content.seek(of_name + of_extra, 1)
    compressed = pa.py_buffer(content.read(member.compress_size))
    with pa.input_stream(compressed, compression="zstd") as stream:
        return bytes(stream.read())
