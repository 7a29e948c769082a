"""Pictures by reference: files in the benchmark's question folder, or recipes that draw the same pixels everywhere.

A recipe is "name:key=value,...". Recipes keep the noise variants small (a real normal-noise picture for each of
HumbleBench's 3,582 images would be 3 GB of PNG) and let a variant be a pure function of the question.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from known_unknowns.errors import DataError
from known_unknowns.records import Image

if TYPE_CHECKING:
    from PIL import Image as Pillow

MAX_PIXELS = 50_000_000
"""A picture with more pixels than this is refused before it is decoded (a decompression bomb)."""
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
    recipe, _, arguments = image.source.partition(":")
    values = dict(part.split("=", 1) for part in arguments.split(","))
    return RECIPES[recipe](**{key: int(value) for key, value in values.items()})


def open_image(image: Image, folder: str | Path) -> Pillow.Image:
    """The decoded RGB picture. ``folder`` is the benchmark's question folder.

    Raises DataError when the file is absent, does not decode, or holds more than `MAX_PIXELS` pixels.
    """
    from PIL import Image as Pillow

    if is_drawn(image):
        return Pillow.fromarray(draw(image)).convert("RGB")
    path = Path(folder) / image.source
    try:
        return decode(path.read_bytes(), file=path)
    except OSError as error:
        raise DataError(f"cannot read the picture: {error}", file=path) from error


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
