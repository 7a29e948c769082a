"""Pictures by reference: files in the benchmark's question folder, or recipes that draw the same pixels everywhere.

A recipe is "name:key=value,...". Recipes keep the noise variants small (a real normal-noise picture for each of
HumbleBench's 3,582 images would be 3 GB of PNG) and let a variant be a pure function of the question.

A recipe can also be made of other pictures (`DERIVED`): "name:" and a JSON object, whose "of" holds their sources. A
file's source has its sha256 in it, so that the recipe's own sha256 pins the pixels.
"""

from __future__ import annotations

import json
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from known_unknowns.errors import DataError
from known_unknowns.records import Image

if TYPE_CHECKING:
    from PIL import Image as Pillow

MAX_PIXELS = 50_000_000
"""A picture with more pixels than this is refused before it is decoded (a decompression bomb)."""
MAX_CACHED_BYTES = 256 * 2**20
"""Room for decoded files that others are cut from: a picture of 5184 x 3456 pixels takes 54 MB."""
BLANK_GREY = 128


def _uniform_noise(width: int, height: int, seed: int) -> np.ndarray:
    """Algorithm 1 of HumbleBench (Appendix A.2), by NumPy's legacy generator as the released code seeds it."""
    return np.random.RandomState(seed).randint(0, 256, (height, width), dtype=np.uint8)


def _normal_noise(width: int, height: int, seed: int) -> np.ndarray:
    """Three channels of normal noise, mean 127.5, standard deviation 64, clipped to 0..255."""
    values = np.random.Generator(np.random.PCG64(seed)).normal(127.5, 64.0, (height, width, 3))
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def _blank(width: int, height: int, seed: int) -> np.ndarray:
    return np.full((height, width, 3), BLANK_GREY, dtype=np.uint8)


RECIPES: dict[str, Callable[[int, int, int], np.ndarray]] = {
    "uniform-noise": _uniform_noise,
    "normal-noise": _normal_noise,
    "blank": _blank,
}


def drawn(recipe: str, width: int, height: int, seed: int = 0) -> Image:
    """A reference to a picture drawn by one of `RECIPES`: (height, width) or (height, width, 3) of uint8."""
    if recipe not in RECIPES:
        raise ValueError(f"{recipe!r} is not a recipe; there are {', '.join(RECIPES)}")
    source = f"{recipe}:width={width},height={height},seed={seed}"
    return Image(source, sha256(source.encode()).hexdigest(), width, height)


def is_drawn(image: Image) -> bool:
    return image.source.partition(":")[0] in RECIPES


def draw(image: Image) -> np.ndarray:
    """The pixels of a recipe."""
    return _pixels(image.source)


def _pixels(source: str) -> np.ndarray:
    recipe, _, arguments = source.partition(":")
    values = dict(part.split("=", 1) for part in arguments.split(","))
    return RECIPES[recipe](**{key: int(value) for key, value in values.items()})


Parts = Callable[[str], "Pillow.Image"]
"""Opens a picture by its source. The picture is shared: it must not be changed."""


def _view(values: Mapping[str, Any], parts: Parts) -> Pillow.Image:
    """A box cut out and resized, with lines where ``grid`` (columns, rows) has some."""
    from PIL import Image as Pillow

    size = tuple(values["size"])
    picture = parts(values["of"]).crop(values["box"])
    if picture.size != size:
        picture = picture.resize(size, Pillow.Resampling.LANCZOS)  # as the released toolkit resizes
    if values["grid"]:
        _draw_grid(picture, *values["grid"])
    return picture


def _draw_grid(picture: Pillow.Image, columns: int, rows: int) -> None:
    """The released toolkit's lines: red, 5 pixels wide, on white, 15 wide; thinner in pictures smaller than its own."""
    from PIL import ImageDraw

    pen = ImageDraw.Draw(picture)
    width, height = picture.size
    lines = [((k * (width // columns), 0), (k * (width // columns), height)) for k in range(1, columns)]
    lines += [((0, k * (height // rows)), (width, k * (height // rows))) for k in range(1, rows)]
    outer = max(3, min(_GRID_WHITE, min(picture.size) // _GRID_SHARE))
    for colour, thickness in (((255, 255, 255), outer), ((255, 0, 0), max(1, outer // 3))):
        for line in lines:
            pen.line(line, fill=colour, width=thickness)


def _side_by_side(values: Mapping[str, Any], parts: Parts) -> Pillow.Image:
    """From left to right, each from the top; what a lower picture leaves open is black."""
    from PIL import Image as Pillow

    row, left = Pillow.new("RGB", tuple(values["size"])), 0
    for source in values["of"]:
        part = parts(source)
        row.paste(part, (left, 0))
        left += part.width
    return row


_GRID_WHITE, _GRID_SHARE = 15, 32

DERIVED: dict[str, Callable[[Mapping[str, Any], Parts], Pillow.Image]] = {
    "view": _view,
    "side-by-side": _side_by_side,
}
"""Recipes that are made of other pictures."""


def derived(recipe: str, width: int, height: int, *, of: Image | Sequence[Image], **arguments: Any) -> Image:
    """A reference to a picture of ``width`` x ``height`` pixels made of others by one of `DERIVED`.

    Raises ValueError for an unknown recipe, and for a picture of no or more than `MAX_PIXELS` pixels.
    """
    if recipe not in DERIVED:
        raise ValueError(f"{recipe!r} is not a recipe; there are {', '.join(DERIVED)}")
    if width < 1 or height < 1 or width * height > MAX_PIXELS:
        raise ValueError(f"a picture of {width} x {height} pixels: give 1 to {MAX_PIXELS:,}")
    sources = of.source if isinstance(of, Image) else [image.source for image in of]
    values = {**arguments, "of": sources, "size": [width, height]}
    source = f"{recipe}:{json.dumps(values, sort_keys=True, separators=(',', ':'))}"
    return Image(source, sha256(source.encode()).hexdigest(), width, height)


def open_image(image: Image, folder: str | Path) -> Pillow.Image:
    """The decoded RGB picture. ``folder`` is the benchmark's question folder.

    Raises DataError when the file, or one that the picture is made of, is absent, does not decode, or holds more than
    `MAX_PIXELS` pixels.
    """
    return _open(image.source, Path(folder))


def _open(source: str, folder: Path) -> Pillow.Image:
    from PIL import Image as Pillow

    recipe, _, arguments = source.partition(":")
    if recipe in RECIPES:
        return Pillow.fromarray(_pixels(source)).convert("RGB")
    if recipe in DERIVED:
        return DERIVED[recipe](json.loads(arguments), lambda of: _open_part(of, folder))
    return _read(folder / source)


def _open_part(source: str, folder: Path) -> Pillow.Image:
    """A picture to make others of, not to be changed: a file stays decoded, as all its views are cut from it."""
    if source.partition(":")[0] in RECIPES | DERIVED:
        return _open(source, folder)
    return _DECODED.get(folder / source)


def _read(path: Path) -> Pillow.Image:
    try:
        return decode(path.read_bytes(), file=path)
    except OSError as error:
        raise DataError(f"cannot read the picture: {error}", file=path) from error


class _Decoded:
    """The files decoded last, in at most ``limit`` bytes of pixels; a larger picture is not kept at all."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: OrderedDict[tuple[str, int, int], Pillow.Image] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, path: Path) -> Pillow.Image:
        try:
            facts = path.stat()
        except OSError as error:
            raise DataError(f"cannot read the picture: {error}", file=path) from error
        key = (str(path.absolute()), facts.st_mtime_ns, facts.st_size)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        picture = _read(path)
        with self._lock:
            self._kept[key] = picture
            while self._kept and self.bytes > self._limit:
                self._kept.popitem(last=False)
        return picture

    @property
    def bytes(self) -> int:
        """What is kept now, in bytes: three a pixel."""
        return sum(3 * picture.width * picture.height for picture in self._kept.values())


_DECODED = _Decoded(MAX_CACHED_BYTES)


def decode(data: bytes, *, file: str | Path, row: int | None = None) -> Pillow.Image:
    """Decode a picture to RGB; a DataError naming file and row for anything that is not a sound picture."""
    from io import BytesIO

    from PIL import Image as Pillow

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Pillow.DecompressionBombWarning)  # our own limit is lower
            with Pillow.open(BytesIO(data)) as picture:
                _check_size(*picture.size, file=file, row=row)
                return picture.convert("RGB")
    except Pillow.DecompressionBombError as error:
        raise DataError(f"the image is a decompression bomb ({error})", file=file, row=row) from error
    except Pillow.UnidentifiedImageError as error:
        raise DataError(f"the image does not decode ({len(data)} bytes)", file=file, row=row) from error
    except DataError:
        raise
    except Exception as error:  # Pillow's decoders raise many kinds; all mean the same to the user
        raise DataError(f"the image does not decode ({error}); fetch the file again", file=file, row=row) from error


def _check_size(width: int, height: int, *, file: str | Path, row: int | None = None) -> None:
    if width * height > MAX_PIXELS:
        raise DataError(
            f"the image claims {width} x {height} pixels, more than the {MAX_PIXELS:,} that are read: "
            "a decompression bomb, or not a benchmark's picture",
            file=file,
            row=row,
        )
