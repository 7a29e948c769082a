"""Encoded images that a plain conversion shows in another way than a viewer: turned, transparent, with 16 bits."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
from PIL import Image as Pillow

CORNERS = np.array([[[250, 0, 0], [0, 250, 0]], [[0, 0, 250], [250, 250, 0]], [[0, 250, 250], [250, 0, 250]]], np.uint8)
"""Six colours in three rows and two columns: no turn of it is like another one."""
STORED = np.kron(CORNERS, np.ones((16, 16, 1), np.uint8))


def encoded(image: Pillow.Image, kind: str, **options: Any) -> bytes:
    file = BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def with_orientation(kind: str, orientation: int) -> bytes:
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    return encoded(Pillow.fromarray(STORED), kind, exif=exif, **({} if kind == "PNG" else {"quality": 100}))


def transparent() -> dict[str, bytes]:
    """Images whose left half is invisible, with black as its colour, and whose right half is not."""
    half = np.zeros((4, 4), np.uint8)
    half[:, 2:] = 1
    red = np.stack([200 * half, 0 * half, 0 * half], axis=-1).astype(np.uint8)
    alpha = 255 * half
    palette = Pillow.fromarray(half)
    palette.putpalette([0, 0, 0, 200, 0, 0])
    sixteen = Pillow.fromarray(half.astype(np.uint16) * 51400)
    return {
        "RGBA": encoded(Pillow.fromarray(np.dstack([red, alpha])), "PNG"),
        "RGBA WebP": encoded(Pillow.fromarray(np.dstack([red, alpha])), "WEBP", lossless=True, exact=True),
        "LA": encoded(Pillow.fromarray(np.dstack([200 * half, alpha]), "LA"), "PNG"),
        "P with tRNS": encoded(palette, "PNG", transparency=b"\0\xff"),
        "P of GIF": encoded(palette, "GIF", transparency=0),
        "RGB with tRNS": encoded(Pillow.fromarray(red), "PNG", transparency=(0, 0, 0)),
        "L with tRNS": encoded(Pillow.fromarray(200 * half), "PNG", transparency=0),
        "16 bits with tRNS": encoded(sixteen, "PNG", transparency=0),
    }
