"""Images by reference: files in a question folder, or recipes that give the same pixels on every machine.

The source of a recipe is "name:key=value,..." (`RECIPES`). Recipes need no storage (PNG files of normal noise for a few
thousand images would take gigabytes), and a variant that uses them is a pure function of the question.

A recipe can also be made of other images (`COMPOSITES`). Its source is "name:" and a JSON object, whose "of" holds the
sources of the other images. The source of a file contains its sha256, so the sha256 of the recipe pins the pixels.

An encoded image becomes RGB in one of two ways. `decode` is Pillow's plain conversion of the stored pixels. `viewed`
gives what a viewer shows, and says which choices that needed. A reference to a file alone means the plain conversion.
If a viewer shows other pixels, the reference is the recipe "viewed", whose source names the choices, so that replies to
other pixels have another key.
"""

from __future__ import annotations

import json
import re
import threading
import warnings
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image as Pillow
from PIL import ImageDraw, UnidentifiedImageError

from known_unknowns.errors import DataError
from known_unknowns.files import git_lfs
from known_unknowns.records import Image

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")
"""Formats of Pillow that are decoded. Others run programs (EPS runs Ghostscript) or are of no use for questions."""
MAX_BYTES = 50_000_000
"""Largest size of an encoded image in bytes."""
MAX_PIXELS = 50_000_000
"""Images with more pixels are refused before they are decoded (decompression bombs)."""
MAX_CACHED_BYTES = 256 * 2**20
"""Memory for decoded files that other images are made of. An image of 5184 x 3456 pixels takes 54 MB."""
BLANK_GREY = 128
GROUND = "white"
"""What transparent images are put on."""
VIEWED = "viewed"
"""The recipe of a file whose pixels are those that a viewer shows (`viewed`)."""
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
    """Return a reference to an image of one of `RECIPES`, of this size in pixels; ``seed`` is for random numbers.

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


def _viewed(values: Mapping[str, Any], folder: Path) -> Pillow.Image:
    """The pixels of a file as a viewer shows them."""
    path, choices = folder / values["of"], {key: value for key, value in values.items() if key not in ("of", "size")}
    pixels, found = viewed(read_file(path), file=path)
    if found != choices:
        raise DataError(f"the pixels need the choices {found}, and not {choices}", file=path)
    return pixels


def _view(values: Mapping[str, Any], folder: Path) -> Pillow.Image:
    """Crop a box and resize it. If ``grid`` (columns, rows) is given, draw its lines."""
    size = tuple(values["size"])
    image = _open_part(values["of"], folder).crop(values["box"])
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


def _side_by_side(values: Mapping[str, Any], folder: Path) -> Pillow.Image:
    """Put images side by side, aligned at the top. The space below a lower image is black."""
    row, left = Pillow.new("RGB", tuple(values["size"])), 0
    for source in values["of"]:
        part = _open_part(source, folder)
        row.paste(part, (left, 0))
        left += part.width
    return row


def _cutout(values: Mapping[str, Any], folder: Path) -> Pillow.Image:
    """Crop a box of an image, and paint what is not of one segment of its panoptic mask white."""
    image, mask = (
        np.asarray(_open_part(source, folder).crop(values["box"]), dtype=np.int64) for source in values["of"]
    )
    inside = mask @ np.array([1, 256, 65536]) == values["segment"]
    return Pillow.fromarray(np.where(inside[..., None], image, 255).astype(np.uint8))


def _marked(values: Mapping[str, Any], folder: Path) -> Pillow.Image:
    """Draw boxes (left, top, right, bottom) in red, with their numbers from 1."""
    image = _open_part(values["of"], folder).copy()
    pen = ImageDraw.Draw(image)
    for number, box in enumerate(values["boxes"], start=1):
        pen.rectangle(box, outline=(255, 0, 0), width=2)
        corner = pen.textbbox((box[0] + 2, box[1] + 2), str(number))
        pen.rectangle((corner[0] - 1, corner[1] - 1, corner[2] + 1, corner[3] + 1), fill=(255, 255, 255))
        pen.text((box[0] + 2, box[1] + 2), str(number), fill=(255, 0, 0))
    return image


_GRID_WHITE, _GRID_SHARE = 15, 32

COMPOSITES: dict[str, Callable[[Mapping[str, Any], Path], Pillow.Image]] = {
    "view": _view,
    "side-by-side": _side_by_side,
    "cutout": _cutout,
    "marked": _marked,
    VIEWED: _viewed,
}
"""Recipes that are made of other images: functions of their arguments and of the folder of the images."""


def composite_image(recipe: str, width: int, height: int, *, of: Image | Sequence[Image], **arguments: Any) -> Image:
    """Return a reference to an image of this size that one of `COMPOSITES` makes of other images.

    ``arguments`` are the recipe's own, as values that JSON can hold.

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


def files_of(image: Image) -> list[str]:
    """Return the paths of the files that an image is made of, relative to the question folder."""
    return list(_files_of(image.source))


def _files_of(source: str) -> Iterator[str]:
    recipe, _, arguments = source.partition(":")
    if recipe in COMPOSITES:
        of = json.loads(arguments)["of"]
        for part in [of] if isinstance(of, str) else of:
            yield from _files_of(part)
    elif recipe not in RECIPES:
        yield source


def open_image(image: Image, folder: str | Path) -> Pillow.Image:
    """Return the pixels of an image as RGB. Files are in the benchmark's question folder.

    Raises
    ------
    DataError
        If a file cannot be read (`read_file`) or does not decode (`decode`).
    """
    return _open(image.source, Path(folder), image.sha256)


def _open(source: str, folder: Path, digest: str = "") -> Pillow.Image:
    recipe, _, arguments = source.partition(":")
    if recipe in RECIPES:
        return Pillow.fromarray(_pixels(source)).convert("RGB")
    if recipe not in COMPOSITES:
        return decode(read_file(folder / source, digest), file=folder / source)
    return COMPOSITES[recipe](json.loads(arguments), folder)


def _open_part(source: str, folder: Path) -> Pillow.Image:
    """Open an image that another image is made of. It must not be changed, because decoded files are cached."""
    if source.partition(":")[0] in RECIPES | COMPOSITES:
        return _open(source, folder)
    return _FILE_CACHE.get(folder / source)


def read_file(path: Path, digest: str = "") -> bytes:
    """Return the content of an image file of a question folder.

    Its sha256 is compared with ``digest``, and in any case with the one in its name, if it is named so.

    Raises
    ------
    DataError
        If the file cannot be read (`read_foreign`), or has another sha256.
    """
    data = read_foreign(path)
    found = sha256(data).hexdigest()
    if _DIGEST.fullmatch(path.stem) and found != path.stem:
        raise DataError(
            f"the image was changed: its sha256 is not the one in its name. Delete the folder {path.parent.parent} and "
            "run again",
            file=path,
        )
    if digest and found != digest:
        raise DataError("the image was changed: its sha256 is not the listed one", file=path)
    return data


def read_foreign(path: Path) -> bytes:
    """Return the content of an image file. DataError if it cannot be read or has more than `MAX_BYTES` bytes."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, error) from error
    check_size(data, file=path)
    return data


def _unreadable(path: Path, error: OSError) -> DataError:
    """Return the error of an image that cannot be read. The workflow makes the folder of a stored one again."""
    if isinstance(error, FileNotFoundError) and _DIGEST.fullmatch(path.stem):
        return DataError(f"the image is missing. Delete the folder {path.parent.parent} and run again", file=path)
    return DataError(f"cannot read the image: {error}", file=path)


def check_size(data: bytes, *, file: str | Path, row: int | None = None) -> None:
    """Raise DataError if an encoded image has more than `MAX_BYTES` bytes."""
    if len(data) > MAX_BYTES:
        message = f"the image has more than {MAX_BYTES:,} bytes, which is the limit; make it smaller"
        raise DataError(message, file=file, row=row)


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
            raise _unreadable(path, error) from error
        key = (str(path.absolute()), status.st_mtime_ns, status.st_size)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        image = decode(read_file(path), file=path)
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


class Header(NamedTuple):
    """What the header of an encoded image says.

    Attributes
    ----------
    format : str
        One of `FORMATS`, or "MPO", which is JPEG with further images behind the first.
    size : tuple of int
        Width and height of the stored pixels.
    plain : bool
        Whether `viewed` surely gives the pixels of `decode`. If not, only `viewed` itself tells.
    """

    format: str
    size: tuple[int, int]
    plain: bool


def read_header(data: bytes, *, file: str | Path, row: int | None = None) -> Header:
    """Read the header of an encoded image without decoding it. Raises as `decode` does."""
    with _opened(data, file=file, row=row) as image:
        return Header(image.format or "", image.size, _is_plain(image, data))


def web_type(data: bytes, *, file: str | Path) -> str | None:
    """Return the media type of an encoded image of which browsers show the pixels of `decode`, else None.

    Browsers turn images, move them, and apply colour profiles. Raises as `decode` does.
    """
    with _opened(data, file=file, row=None) as image:
        has_profile = "icc_profile" in image.info or (image.format == "PNG" and b"iCCP" in data)
        alike = _is_plain(image, data) and image.mode != "CMYK" and not has_profile
        return _WEB_TYPES.get(image.format or "") if alike and not getattr(image, "is_animated", False) else None


def decode(data: bytes, *, file: str | Path, row: int | None = None) -> Pillow.Image:
    """Convert the stored pixels of an encoded image to RGB, as Pillow does. Errors name the file and its row.

    Raises
    ------
    DataError
        If the image does not decode, is not of one of `FORMATS`, or has more than `MAX_BYTES` bytes or `MAX_PIXELS`
        pixels.
    """
    with _opened(data, file=file, row=row) as image:
        return image.convert("RGB")


def viewed(data: bytes, *, file: str | Path, row: int | None = None) -> tuple[Pillow.Image, dict[str, Any]]:
    """Convert an encoded image to RGB as a viewer shows it.

    Returns
    -------
    pixels : Image
        Turned as the EXIF orientation says; transparent parts on `GROUND`; 16 bits per channel scaled to 8. Of several
        frames, the first one. CMYK as Pillow converts it. Colour profiles are not applied.
    choices : dict
        "orientation" (2 to 8), "ground" and "bits", if the pixels needed them. Without any, the pixels are those of
        `decode`.

    Raises
    ------
    DataError
        As `decode`, and if the image has floating-point or 32-bit values or is in the colour space Lab.
    """
    choices: dict[str, Any] = {}
    with _opened(data, file=file, row=row) as image:
        image.load()
        orientation = _orientation(image, data)
        pixels: Pillow.Image = image
        if image.mode in _UNCLEAR_MODES:
            raise ValueError(f"pixels of the kind {image.mode} have no one meaning; save it with 8 bits per channel")
        if image.mode.startswith("I"):  # "I;16" and its byte orders, and "I"
            pixels, choices["bits"] = _eight_bits(image), 16
        if pixels.has_transparency_data:
            pixels = pixels.convert("LA").convert("RGBA") if pixels.mode == "La" else pixels.convert("RGBA")
            if pixels.getchannel("A").getextrema() != (_OPAQUE, _OPAQUE):
                choices["ground"] = GROUND
                pixels = Pillow.alpha_composite(Pillow.new("RGBA", pixels.size, GROUND), pixels)
        pixels = pixels.convert("RGB")
        if orientation != 1:
            choices["orientation"] = orientation
            pixels = pixels.transpose(_TRANSPOSED[orientation])
        return pixels, choices


_WEB_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
_OPAQUE = 255
_PLAIN_MODES = ("1", "L", "P", "RGB", "CMYK", "YCbCr")
_UNCLEAR_MODES = ("F", "LAB")
_TRANSPOSED = {
    2: Pillow.Transpose.FLIP_LEFT_RIGHT,
    3: Pillow.Transpose.ROTATE_180,
    4: Pillow.Transpose.FLIP_TOP_BOTTOM,
    5: Pillow.Transpose.TRANSPOSE,
    6: Pillow.Transpose.ROTATE_270,
    7: Pillow.Transpose.TRANSVERSE,
    8: Pillow.Transpose.ROTATE_90,
}
_ORIENTATION = 0x0112
_EXIF_IN_PNG = (b"eXIf", b"Raw profile type", b"XML:com.adobe.xmp")


def _is_plain(image: Pillow.Image, data: bytes) -> bool:
    return image.mode in _PLAIN_MODES and "transparency" not in image.info and _orientation(image, data) == 1


def _orientation(image: Pillow.Image, data: bytes) -> int:
    """Return the EXIF orientation, 1 to 8. One that cannot be read is 1, as for viewers.

    Pillow turns TIFF files itself, and decodes a PNG file to look for EXIF behind the pixels.
    """
    if image.format == "TIFF" or (image.format == "PNG" and not any(mark in data for mark in _EXIF_IN_PNG)):
        return 1
    try:
        value = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # Pillow's parser of EXIF raises many types of errors
        return 1
    return value if isinstance(value, int) and value in _TRANSPOSED else 1


def _eight_bits(image: Pillow.Image) -> Pillow.Image:
    """Return a greyscale image of 16 bits with 8, with its transparent value as an alpha channel."""
    values = np.asarray(image).astype(np.int64)
    if values.min() < 0 or values.max() >= 2**16:
        raise ValueError("pixels of 32 bits have no one meaning; save it with 8 bits per channel")
    grey = Pillow.fromarray(np.rint(values / 257).astype(np.uint8))
    if "transparency" in image.info:
        grey.putalpha(Pillow.fromarray(np.where(values == image.info["transparency"], 0, _OPAQUE).astype(np.uint8)))
    return grey


_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_TEXTS = (b"tEXt", b"zTXt", b"iTXt", b"iCCP")


def _without_texts(data: bytes) -> bytes:
    """Return a PNG file without texts and colour profiles, which are no pixels; other data as they are.

    Pillow refuses images with long or damaged ones. Sound texts with EXIF, which turns an image, are kept.
    """
    if not data.startswith(_PNG):
        return data
    parts, start, place = [], 0, len(_PNG)
    while place + 12 <= len(data):
        length = int.from_bytes(data[place : place + 4], "big")
        kind, end = data[place + 4 : place + 8], place + 12 + length
        if kind in _PNG_TEXTS and not _has_exif(data[place + 4 : end]):
            parts.append(data[start:place])
            start = end
        place = end
    return b"".join([*parts, data[start:]])


def _has_exif(chunk: bytes) -> bool:
    """Whether a chunk, from its type to its checksum, is sound and may have EXIF."""
    marked = any(chunk[4:].startswith(mark) for mark in _EXIF_IN_PNG)
    return marked and zlib.crc32(chunk[:-4]) == int.from_bytes(chunk[-4:], "big")


@contextmanager
def _opened(data: bytes, *, file: str | Path, row: int | None) -> Iterator[Pillow.Image]:
    """Open an encoded image of an allowed format and size. Errors in the block mean that it does not decode."""
    check_size(data, file=file, row=row)
    git_lfs.check(data, file=file, row=row)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # our own limit is lower, and damaged metadata do not matter
            with Pillow.open(BytesIO(_without_texts(data)), formats=FORMATS) as image:
                _check_pixels(*image.size, file=file, row=row)
                yield image
    except Pillow.DecompressionBombError as error:
        raise DataError(f"the image is a decompression bomb ({error})", file=file, row=row) from error
    except UnidentifiedImageError as error:
        message = f"the image does not decode ({len(data)} bytes); the formats are {', '.join(FORMATS)}"
        raise DataError(message, file=file, row=row) from error
    except DataError:
        raise
    except Exception as error:  # Pillow's decoders raise many types of errors, which mean the same to the user
        raise DataError(
            f"the image does not decode ({error}); fetch or replace the file", file=file, row=row
        ) from error


def _check_pixels(width: int, height: int, *, file: str | Path, row: int | None = None) -> None:
    if width * height > MAX_PIXELS:
        raise DataError(
            f"the image claims {width} x {height} pixels; the limit is {MAX_PIXELS:,}: it may be a decompression bomb",
            file=file,
            row=row,
        )
