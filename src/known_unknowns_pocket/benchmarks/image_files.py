"""Sizes and content of the images of a rendered benchmark."""

from __future__ import annotations

import hashlib
import io
import random
from collections.abc import Sequence

import numpy as np
from PIL import Image

SIDES = (256, 640)
"""Least and greatest side of an image, in pixels."""


def image_size(rng: random.Random, aspects: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return a random width and height in pixels, within `SIDES`, in one of the aspects (width, height)."""
    across, down = rng.choice(aspects)
    low, high = SIDES
    shorter = rng.randint(low, high * min(across, down) // max(across, down))
    return shorter * across // min(across, down), shorter * down // min(across, down)


def pixel_facts(encoded: bytes) -> dict[str, int | str]:
    """Return the width, the height and the SHA-256 of the RGB pixels of an encoded image."""
    with Image.open(io.BytesIO(encoded)) as image:
        pixels = np.asarray(image.convert("RGB"))
    height, width = pixels.shape[:2]
    return {"width": width, "height": height, "pixels": hashlib.sha256(pixels.tobytes()).hexdigest()}
