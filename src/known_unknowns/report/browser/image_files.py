"""Copies of images for the page: each image once, named by its sha256, in a bounded size.

| image | copy |
|---|---|
| a PNG, JPEG, GIF or WebP file of at most `MAX_BYTES`, of which browsers show what models get | the same bytes |
| another file, or views that were composed for a turn | WebP with at most `MAX_SIDE` pixels on each side |
| noise | a part of `NOISE_SIDE` pixels on each side in its resolution, because scaling removes the noise |
| a blank image | a part of at most `BLANK_SIDE` pixels on each side |
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from PIL import Image as Pillow

from known_unknowns import images
from known_unknowns.errors import DataError
from known_unknowns.files import disk_errors
from known_unknowns.records import Image

MAX_BYTES = 96 * 2**10
MAX_SIDE = 768
NOISE_SIDE = 160
BLANK_SIDE = 64
_QUALITY = 75
_SUFFIXES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


class Copy(NamedTuple):
    """The copy of an image, and the recipe of the image if it has one.

    ``shown`` is how much of it is shown: "", "part", "scaled", or "missing" if it cannot be read.
    """

    file: str
    shown: str
    recipe: str


class ImageFiles:
    """Copies images of one benchmark's question folder to ``out``."""

    def __init__(self, out: Path, folder: Path) -> None:
        self._out, self._folder = out, folder
        self._copies: dict[str, Copy] = {}
        out.mkdir(parents=True, exist_ok=True)

    def copy(self, image: Image) -> Copy:
        """Copy an image unless it was copied before, and return its copy."""
        if image.sha256 not in self._copies:
            self._copies[image.sha256] = self._copy(image)
        return self._copies[image.sha256]

    def _copy(self, image: Image) -> Copy:
        name = image.sha256[:32]
        recipe = image.source.partition(":")[0]
        try:
            if recipe in images.RECIPES:
                return self._drawn(image, name, recipe)
            if recipe not in images.COMPOSITES:
                path = self._folder / image.source
                data = images.read_file(path, image.sha256)
                if len(data) <= MAX_BYTES and (kind := images.web_type(data, file=path)):
                    return Copy(self._write(f"{name}.{_SUFFIXES[kind]}", data), "", "")
            pixels = images.open_image(image, self._folder)
        except DataError:
            return Copy("", "missing", "")
        scaled = max(pixels.size) > MAX_SIDE
        pixels.thumbnail((MAX_SIDE, MAX_SIDE))
        return Copy(
            self._write(f"{name}.webp", pixels),
            "scaled" if scaled else "",
            recipe if recipe in images.COMPOSITES and recipe != images.VIEWED else "",
        )

    def _drawn(self, image: Image, name: str, recipe: str) -> Copy:
        if recipe == "blank":
            size = (min(BLANK_SIDE, image.width) or BLANK_SIDE, min(BLANK_SIDE, image.height) or BLANK_SIDE)
            grey = Pillow.new("RGB", size, (images.BLANK_GREY,) * 3)
            return Copy(self._write(f"{name}.png", grey), "part", recipe)
        pixels = images.open_image(image, self._folder)
        part = pixels.crop((0, 0, min(NOISE_SIDE, pixels.width), min(NOISE_SIDE, pixels.height)))
        return Copy(self._write(f"{name}.webp", part), "part", recipe)

    def _write(self, file: str, content: bytes | Pillow.Image) -> str:
        """Write a file of bytes or pixels, and return its name. MachineError if the disk is full."""
        path = self._out / file
        with disk_errors(path):
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                content.save(path, quality=_QUALITY, method=2)
        return file
