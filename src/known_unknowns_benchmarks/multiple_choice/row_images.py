"""The images of a row: paths of files, base64, bytes as the hub stores them, or the id of a row with the image."""

from __future__ import annotations

import ast
import base64
import binascii
import json
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from known_unknowns.errors import DataError
from known_unknowns.images import MAX_BYTES, read_foreign, viewed
from known_unknowns_benchmarks.multiple_choice.options import ColumnError

MAX_IMAGES = 32
"""Largest number of images of a question."""
_SUFFIX = re.compile(r"\.(?:png|jpe?g|webp|gif|bmp|tiff?|ppm)$", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
_QUOTED = re.compile(r"""\s*\[\s*(['"])[A-Za-z0-9+/=]+\1(?:\s*,\s*(['"])[A-Za-z0-9+/=]+\2)*\s*\]\s*""")
_LONGEST_PATH, _LONGEST_INDEX = 1024, 64
_MAX_LIST = 100_000


class ImageFolder(NamedTuple):
    """Where paths of images start: the folder of all files, and the folders that are searched within it."""

    root: Path
    searched: tuple[Path, ...]


def cells(value: Any, column: str, folder: ImageFolder) -> list[bytes | str]:
    """Return the images in a cell: a text (path, base64), the hub's struct of bytes and path, or a list of these.

    A short text that is no path stays a text: it may be the id of another row, whose image it is, or base64
    (`decoded`). Raises ColumnError if there is no such image, it is too large, or its path leads out of the folder.
    """
    values = _listed(value, column)
    if len(values) > MAX_IMAGES:
        raise ColumnError(column, f"{len(values)} images; the limit is {MAX_IMAGES}")
    return [_cell(each, column, folder) for each in values]


def _listed(value: Any, column: str) -> list[Any]:
    if isinstance(value, str) and value.lstrip().startswith("["):
        if _QUOTED.fullmatch(value):
            return re.findall(r"[A-Za-z0-9+/=]+", value)
        if len(value) > _MAX_LIST:
            raise ColumnError(column, "not a list of paths or of images in base64")
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            try:
                parsed = ast.literal_eval(value.strip())  # literals only; nothing is executed
            except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                raise ColumnError(column, f"{value[:60]!r} is not a list of images; write it in JSON") from None
        return list(parsed) if isinstance(parsed, list | tuple) else [parsed]
    return list(value) if isinstance(value, list | tuple) else [value]


def _cell(value: Any, column: str, folder: ImageFolder) -> bytes | str:
    if isinstance(value, Mapping):
        data, path = value.get("bytes"), value.get("path")
        if isinstance(data, bytes):
            return _bounded(data, column)
        if data is not None or not isinstance(path, str) or not path:
            raise ColumnError(column, "the image has neither bytes nor a path")
        value = path
    if isinstance(value, bytes):
        return _bounded(value, column)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise ColumnError(column, f"a {type(value).__name__}, neither a path nor base64 nor bytes")
    return _of_text(value.strip(), column, folder)


def _of_text(text: str, column: str, folder: ImageFolder) -> bytes | str:
    if text.startswith(("http://", "https://")):
        message = f"{text[:80]!r} is an address; download the image into the folder, and give its path"
        raise ColumnError(column, message)
    if text.startswith("data:"):
        return decoded(text.partition(",")[2], column)
    if len(text) <= _LONGEST_PATH:
        path = _file(text.replace("\\", "/"), column, folder, required=_SUFFIX.search(text) is not None)
        if path is not None:
            try:
                return read_foreign(path)
            except DataError as error:
                raise ColumnError(column, error.text) from error
    return text if len(text) <= _LONGEST_INDEX else decoded(text, column)


def _file(name: str, column: str, folder: ImageFolder, *, required: bool) -> Path | None:
    root = folder.root.resolve()
    try:
        for start in folder.searched:
            path = _existing(start, name).resolve()
            if path.is_relative_to(root) and path.is_file():
                return path
        leads_out = not any((start / name).resolve().is_relative_to(root) for start in folder.searched)
    except (OSError, ValueError, RuntimeError):  # too long for a path, a null character: base64; a link to itself
        return None
    if required and leads_out:
        raise ColumnError(column, f"the path {name!r} leads out of the folder; copy the image into the folder")
    if required:
        raise ColumnError(column, f"there is no image {name!r} in the folder; add the file, or correct the path")
    return None


def _existing(start: Path, name: str) -> Path:
    """Return the path of a file, whose name can be in another Unicode normalisation on the disk (macOS decomposes)."""
    path = start / name
    if name.isascii() or path.exists():
        return path
    path = start
    for part in Path(name).parts:
        form = unicodedata.normalize("NFC", part)
        names = sorted(each.name for each in path.iterdir()) if path.is_dir() and part not in (".", "..") else []
        path /= next((each for each in names if unicodedata.normalize("NFC", each) == form), part)
    return path


def decoded(text: str, column: str) -> bytes:
    """Return the bytes of an image in base64. Raises ColumnError if the text is no base64, or too long."""
    if len(text) <= _LONGEST_INDEX and not _BASE64.fullmatch(text):
        raise ColumnError(column, f"there is no image {text!r} in the folder; add the file, or correct the path")
    if len(text) > MAX_BYTES * 4 // 3 + 4:
        raise ColumnError(column, f"an image of about {len(text) * 3 // 4:,} bytes; the limit is {MAX_BYTES:,}")
    try:
        return _bounded(base64.b64decode("".join(text.split()), validate=True), column)
    except (binascii.Error, ValueError):
        raise ColumnError(column, f"{text[:40]!r} is neither an image in the folder nor base64; correct it") from None


def _bounded(data: bytes, column: str) -> bytes:
    if len(data) > MAX_BYTES:
        raise ColumnError(column, f"an image of {len(data):,} bytes; the limit is {MAX_BYTES:,}. Make it smaller")
    return data


def choices_of(data: bytes, column: str) -> dict[str, Any]:
    """Return the choices that an image needs (`known_unknowns.images.viewed`). ColumnError if it does not decode."""
    try:
        return viewed(data, file="")[1]
    except DataError as error:
        raise ColumnError(column, error.text) from error
