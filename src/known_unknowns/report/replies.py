"""Replies and images of a question in the page: printable text, and small images as data URLs."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from known_unknowns import images
from known_unknowns.records import Image

LONGEST_REPLY = 1_500
"""The number of characters of a reply that the page shows."""
_LARGEST = (320, 320)  # pixels of an image in the page
_LARGEST_DRAWN = (128, 128)  # noise does not compress


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A small copy of an image, as a data URL."""

    url: str
    width: int
    height: int
    alt: str


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """The parsed answer of one parser: "C, wrong". A refusal is ``correct`` if the model did not know the answer."""

    parser: str
    text: str
    correct: bool


def printable(text: str) -> str:
    """Replace control characters, which HTML cannot contain or hides, by their visible symbols (␀, ␛)."""
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20 and character not in "\n\t":
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else character


def thumbnail(
    image: Image, folder: Path, *, largest: tuple[int, int] | None = None, alt: str | None = None
) -> Thumbnail:
    """Return a small JPEG of the image as a data URL. ``largest`` is its largest size in pixels."""
    drawn = images.is_recipe_image(image)
    pixels = images.open_image(image, folder)
    pixels.thumbnail(largest or (_LARGEST_DRAWN if drawn else _LARGEST))
    buffer = BytesIO()
    pixels.save(buffer, format="JPEG", quality=80, optimize=True)
    url = "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
    kind = f"A generated image ({image.source.partition(':')[0]})" if drawn else "The image of the question"
    alt = alt or f"{kind}, {image.width} by {image.height} pixels before scaling"
    return Thumbnail(url, pixels.width, pixels.height, alt)
