"""Replies and images of a question in the pages: printable text, small images as data URLs, and what a model saw."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from known_unknowns import images
from known_unknowns.benchmark import registry
from known_unknowns.inference.bound_protocols import bound
from known_unknowns.records import AnsweredTurn, Image, Question, Turn

if TYPE_CHECKING:
    from known_unknowns.config import Params

LONGEST_REPLY = 1_500
"""The number of characters of a reply that the page shows."""
_LARGEST = (320, 320)  # pixels of an image in the page
_LARGEST_DRAWN = (128, 128)  # noise does not compress
_VISIBLE = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"} | {0x7F: 0x2421}


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
    return text.translate(_VISIBLE)


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


def replay(
    params: Params, benchmark: str, model: str, variant: str, question: Question, turns: Sequence[AnsweredTurn]
) -> Iterator[Turn]:
    """Yield the turns that the protocol asks after the same replies, with their images.

    Recorded turns have the digests of their images alone, and a protocol can compose images (views side by side).
    """
    protocol = bound(
        registry.get(benchmark),
        params.protocol(benchmark, variant),
        parsers=params.parsers,
        model=params.model(model).asked_in(benchmark),
    )
    dialogue = protocol(question)
    turn = next(dialogue, None)
    for answered in turns:
        if turn is None:
            return
        yield turn
        try:
            turn = dialogue.send(answered.reply)
        except StopIteration:
            return
