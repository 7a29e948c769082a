"""Pictures of a benchmark's published files: found, checked, and stored once each, whatever the benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from known_unknowns.images import decode
from known_unknowns.records import Image


class PictureStore:
    """Writes each distinct picture once to ``folder``/images, named by the sha256 of its bytes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, Image] = {}

    def add(self, data: bytes, *, file: Path, row: int) -> Image:
        """The picture by reference. DataError, naming file and row, when the bytes are no sound picture."""
        digest = sha256(data).hexdigest()
        if digest not in self._known:
            picture = decode(data, file=file, row=row)
            source = f"images/{digest}.{extension(data)}"
            target = self._folder / source
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            self._known[digest] = Image(source, digest, *picture.size)
        return self._known[digest]


def picture_bytes(cell: str | Mapping[str, Any], root: Path) -> bytes:
    """The encoded picture that a row names: a path below ``root``, or the hub's struct of bytes and path.

    Raises ValueError when there is none, or when the path leads out of ``root``.
    """
    if isinstance(cell, str):
        return beside(root, cell).read_bytes()
    if not isinstance(cell, Mapping):
        raise ValueError(f"the image is a {type(cell).__name__}, neither a path nor bytes with a path")
    data, path = cell.get("bytes"), cell.get("path")
    if data is None:
        if not path:
            raise ValueError("the image has neither bytes nor a path")
        data = beside(root, path).read_bytes()
    return data


def beside(root: Path, name: str) -> Path:
    """A picture named in a data file; it must lie under ``root`` (a name in a data file is not to be trusted)."""
    folder = root.resolve()
    path = (folder / name).resolve()
    if not path.is_relative_to(folder):
        raise ValueError(f"the image path {name!r} leads out of {root}")
    if not path.is_file():
        raise ValueError(f"the image {name!r} is not beside the file")
    return path


def extension(data: bytes) -> str:
    """The usual file extension of an encoded picture, by its own format and not by its name."""
    from PIL import Image as Pillow

    with Pillow.open(BytesIO(data)) as picture:
        return {"JPEG": "jpg"}.get(picture.format or "", (picture.format or "bin").lower())
