"""Images by reference: files in a question folder, or recipes that give the same pixels on every machine.

The source of a recipe is "name:key=value,..." (`RECIPES`). Recipes need no storage (PNG files of normal noise for a few
thousand images would take gigabytes), and a variant that uses them is a pure function of the question.

A recipe can also be made of other images (`COMPOSITES`). Its source is "name:" and a JSON object, whose "of" holds the
sources of the other images. The source of a file contains its sha256, so the sha256 of the recipe pins the pixels.
"""

from __future__ import annotations

import json
import re
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pillow
from PIL import ImageDraw, UnidentifiedImageError

from known_unknowns.errors import DataError
from known_unknowns.records import Image

MAX_PIXELS = 50_000_000
"""Images with more pixels are refused before they are decoded (decompression bombs)."""
MAX_CACHED_BYTES = 256 * 2**20
"""Memory for decoded files that other images are made of. An image of 5184 x 3456 pixels takes 54 MB."""
BLANK_GREY = 128
_DIGEST = re.compile(r"[0-9a-f]{64}")


def _uniform_noise(width: int, height: int, seed: int) -> np.ndarray:
    """One channel of uniform noise, from NumPy's legacy generator, which published noise images use."""
    return np.random.RandomState(seed).randint(0, 256, (height, width), dtype=np.uint8)


def _normal_noise(width: int, height: int, seed: int) -> np.ndarray:
    """Three channels of normal noise with mean 127.5 and standard deviation 64, clipped to 0..255."""
    values = np.random.Generator(np.random.PCG64(seed)).normal(127.5, 64.0, (height, width, 3))
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def _blank(width: int, height: int, seed: int) -> np.ndarray:
    return np.full((height, width, 3), BLANK_GREY, dtype=np.uint8)


RECIPES: dict[str, Callable[[int, int, int], np.ndarray]] = {
    "uniform-noise": _uniform_noise,
    "normal-noise": _normal_noise,
    "blank": _blank,
}
"""Functions of width, height and seed that return the pixels: uint8 of shape (height, width) or (height, width, 3)."""


def recipe_image(recipe: str, width: int, height: int, seed: int = 0) -> Image:
    """Return a reference to an image of one of `RECIPES`.

    Parameters
    ----------
    recipe : str
        A key of `RECIPES`.
    width, height : int
        The size in pixels.
    seed : int
        The seed of a recipe that draws random numbers.

    Raises
    ------
    ValueError
        If there is no such recipe.
    """
    if recipe not in RECIPES:
        raise ValueError(f"{recipe!r} is not a recipe; there are {', '.join(RECIPES)}")
    source = f"{recipe}:width={width},height={height},seed={seed}"
    return Image(source, sha256(source.encode()).hexdigest(), width, height)


def is_recipe_image(image: Image) -> bool:
    """Whether the image is one of `RECIPES`."""
    return image.source.partition(":")[0] in RECIPES


def has_pixels(image: Image) -> bool:
    """Whether the image can be opened. An image of released replies may be known by its path alone: its size is 0."""
    return image.width > 0 or is_recipe_image(image)


def recipe_pixels(image: Image) -> np.ndarray:
    """Return the pixels of one of `RECIPES`."""
    return _pixels(image.source)


def _pixels(source: str) -> np.ndarray:
    recipe, _, arguments = source.partition(":")
    values = dict(part.split("=", 1) for part in arguments.split(","))
    return RECIPES[recipe](int(values["width"]), int(values["height"]), int(values["seed"]))


Parts = Callable[[str], "Pillow.Image"]
"""Opens an image by its source. The image is shared and must not be changed."""


def _view(values: Mapping[str, Any], parts: Parts) -> Pillow.Image:
    """Crop a box and resize it. If ``grid`` (columns, rows) is given, draw its lines."""
    size = tuple(values["size"])
    image = parts(values["of"]).crop(values["box"])
    if image.size != size:
        image = image.resize(size, Pillow.Resampling.LANCZOS)  # published views are resized with this filter
    if values["grid"]:
        _draw_grid(image, *values["grid"])
    return image


def _draw_grid(image: Pillow.Image, columns: int, rows: int) -> None:
    """Draw red lines of 5 pixels on white lines of 15 pixels, thinner in small images."""
    pen = ImageDraw.Draw(image)
    width, height = image.size
    lines = [((k * (width // columns), 0), (k * (width // columns), height)) for k in range(1, columns)]
    lines += [((0, k * (height // rows)), (width, k * (height // rows))) for k in range(1, rows)]
    outer = max(3, min(_GRID_WHITE, min(image.size) // _GRID_SHARE))
    for colour, thickness in (((255, 255, 255), outer), ((255, 0, 0), max(1, outer // 3))):
        for line in lines:
            pen.line(line, fill=colour, width=thickness)


def _side_by_side(values: Mapping[str, Any], parts: Parts) -> Pillow.Image:
    """Put images side by side, aligned at the top. The space below a lower image is black."""
    row, left = Pillow.new("RGB", tuple(values["size"])), 0
    for source in values["of"]:
        part = parts(source)
        row.paste(part, (left, 0))
        left += part.width
    return row


def _cutout(values: Mapping[str, Any], parts: Parts) -> Pillow.Image:
    """Crop a box of an image, and paint what is not of one segment of its panoptic mask white."""
    image, mask = (np.asarray(parts(source).crop(values["box"]), dtype=np.int64) for source in values["of"])
    inside = mask @ np.array([1, 256, 65536]) == values["segment"]
    return Pillow.fromarray(np.where(inside[..., None], image, 255).astype(np.uint8))


def _marked(values: Mapping[str, Any], parts: Parts) -> Pillow.Image:
    """Draw boxes (left, top, right, bottom) in red, with their numbers from 1."""
    image = parts(values["of"]).copy()
    pen = ImageDraw.Draw(image)
    for number, box in enumerate(values["boxes"], start=1):
        pen.rectangle(box, outline=(255, 0, 0), width=2)
        corner = pen.textbbox((box[0] + 2, box[1] + 2), str(number))
        pen.rectangle((corner[0] - 1, corner[1] - 1, corner[2] + 1, corner[3] + 1), fill=(255, 255, 255))
        pen.text((box[0] + 2, box[1] + 2), str(number), fill=(255, 0, 0))
    return image


_GRID_WHITE, _GRID_SHARE = 15, 32

COMPOSITES: dict[str, Callable[[Mapping[str, Any], Parts], Pillow.Image]] = {
    "view": _view,
    "side-by-side": _side_by_side,
    "cutout": _cutout,
    "marked": _marked,
}
"""Recipes that are made of other images."""


def composite_image(recipe: str, width: int, height: int, *, of: Image | Sequence[Image], **arguments: Any) -> Image:
    """Return a reference to an image that one of `COMPOSITES` makes of other images.

    Parameters
    ----------
    recipe : str
        A key of `COMPOSITES`.
    width, height : int
        The size in pixels.
    of : Image or sequence of Image
        The image or images that it is made of.
    **arguments
        The recipe's own arguments, as values that JSON can hold.

    Raises
    ------
    ValueError
        If there is no such recipe, or the size is not between 1 and `MAX_PIXELS` pixels.
    """
    if recipe not in COMPOSITES:
        raise ValueError(f"{recipe!r} is not a recipe; there are {', '.join(COMPOSITES)}")
    if width < 1 or height < 1 or width * height > MAX_PIXELS:
        raise ValueError(f"an image of {width} x {height} pixels: give 1 to {MAX_PIXELS:,}")
    sources = of.source if isinstance(of, Image) else [image.source for image in of]
    values = {**arguments, "of": sources, "size": [width, height]}
    source = f"{recipe}:{json.dumps(values, sort_keys=True, separators=(',', ':'))}"
    return Image(source, sha256(source.encode()).hexdigest(), width, height)


def open_image(image: Image, folder: str | Path) -> Pillow.Image:
    """Return the pixels of an image as RGB.

    Parameters
    ----------
    image : Image
        A file or a recipe.
    folder : str or Path
        The benchmark's question folder, which holds the files.

    Raises
    ------
    DataError
        If a file is absent, does not decode, has more than `MAX_PIXELS` pixels, or is not the file whose sha256 is in
        its name.
    """
    return _open(image.source, Path(folder))


def _open(source: str, folder: Path) -> Pillow.Image:
    recipe, _, arguments = source.partition(":")
    if recipe in RECIPES:
        return Pillow.fromarray(_pixels(source)).convert("RGB")
    if recipe in COMPOSITES:
        return COMPOSITES[recipe](json.loads(arguments), lambda of: _open_part(of, folder))
    return _read(folder / source)


def _open_part(source: str, folder: Path) -> Pillow.Image:
    """Open an image that another image is made of. Decoded files are cached, since many views use the same file."""
    if source.partition(":")[0] in RECIPES | COMPOSITES:
        return _open(source, folder)
    return _FILE_CACHE.get(folder / source)


def _read(path: Path) -> Pillow.Image:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read the image: {error}", file=path) from error
    if _DIGEST.fullmatch(path.stem) and sha256(data).hexdigest() != path.stem:
        raise DataError(
            f"the image was changed: its sha256 is not the one in its name. Delete the folder {path.parent.parent} and "
            "run again",
            file=path,
        )
    return decode(data, file=path)


class _ImageCache:
    """Decoded files, least recently used first, in at most ``limit`` bytes of pixels. Larger images are not kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: OrderedDict[tuple[str, int, int], Pillow.Image] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, path: Path) -> Pillow.Image:
        try:
            status = path.stat()
        except OSError as error:
            raise DataError(f"cannot read the image: {error}", file=path) from error
        key = (str(path.absolute()), status.st_mtime_ns, status.st_size)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        image = _read(path)
        with self._lock:
            self._kept[key] = image
            while self._kept and self.bytes > self._limit:
                self._kept.popitem(last=False)
        return image

    @property
    def bytes(self) -> int:
        """The size of the cached pixels in bytes, three for each pixel."""
        return sum(3 * image.width * image.height for image in self._kept.values())


_FILE_CACHE = _ImageCache(MAX_CACHED_BYTES)


def decode(data: bytes, *, file: str | Path, row: int | None = None) -> Pillow.Image:
    """Decode an encoded image to RGB.

    Parameters
    ----------
    data : bytes
        The content of an image file.
    file : str or Path
        The file that an error names.
    row : int, optional
        The row of the file that an error names.

    Raises
    ------
    DataError
        If the image does not decode, or has more than `MAX_PIXELS` pixels.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Pillow.DecompressionBombWarning)  # our own limit is lower
            with Pillow.open(BytesIO(data)) as image:
                _check_size(*image.size, file=file, row=row)
                return image.convert("RGB")
    except Pillow.DecompressionBombError as error:
        raise DataError(f"the image is a decompression bomb ({error})", file=file, row=row) from error
    except UnidentifiedImageError as error:
        raise DataError(f"the image does not decode ({len(data)} bytes)", file=file, row=row) from error
    except DataError:
        raise
    except Exception as error:  # Pillow's decoders raise many types of errors, which mean the same to the user
        raise DataError(
            f"the image does not decode ({error}); fetch or replace the file", file=file, row=row
        ) from error


def _check_size(width: int, height: int, *, file: str | Path, row: int | None = None) -> None:
    if width * height > MAX_PIXELS:
        raise DataError(
            f"the image claims {width} x {height} pixels; the limit is {MAX_PIXELS:,}: it may be a decompression bomb",
            file=file,
            row=row,
        )
