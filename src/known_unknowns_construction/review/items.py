"""What is reviewed: a list of items from a source, and their images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from known_unknowns.errors import DataError
from known_unknowns.images import decode, read_file, web_type
from known_unknowns_construction.candidates import Candidate, SceneObject, read_candidates
from known_unknowns_construction.review.decisions import content_of
from known_unknowns_construction.review.records import Content

QUESTIONS, ERRORS = "questions", "errors"
"""The two kinds of review: questions are kept, modified or deleted; wrong answers get a tag."""


@dataclass(frozen=True, slots=True)
class ItemImage:
    """An image of an item. ``read`` returns the bytes of an image file, and raises DataError if there are none."""

    width: int
    height: int
    sha256: str
    read: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """The reply of a model that is tagged, what the parser made of it, and the label that it found ("" without one)."""

    reply: str
    outcome: str
    choice: str


@dataclass(frozen=True, slots=True)
class Item:
    """One question to review."""

    id: str
    group: str
    category: str
    content: Content
    images: tuple[ItemImage, ...]
    objects: tuple[SceneObject, ...] = ()  # objects of the first image to outline
    flags: tuple[tuple[str, str], ...] = ()  # name of a filter, and its reason
    facts: Mapping[str, str] = field(default_factory=dict)  # further texts to show, by name
    wrong: WrongAnswer | None = None  # for reviews of errors


@dataclass(frozen=True, slots=True)
class Source:
    """A list of items with a title.

    ``kind`` is "questions" or "errors". ``needs_reason`` says whether a modification needs a reason, as a correction of
    a published question does.
    """

    title: str
    kind: str
    items: Sequence[Item]
    needs_reason: bool = False


def candidate_source(path: str | Path) -> Source:
    """Return the candidates of a file as items. Raises DataError if a line is no candidate, or there are none."""
    path = Path(path)
    items = [_of_candidate(candidate, path.parent) for candidate in read_candidates(path)]
    if not items:
        raise DataError("the file has no candidates", file=path)
    return Source(path.name, QUESTIONS, items)


def _of_candidate(candidate: Candidate, folder: Path) -> Item:
    image, file = candidate.image, folder / candidate.image.path
    facts = {"licence of the image": image.licence or "not known"}
    facts |= {name: str(value) for name, value in candidate.source.items() if isinstance(value, str | int)}
    return Item(
        id=candidate.id,
        group=candidate.group,
        category=candidate.kind,
        content=content_of(candidate),
        images=(ItemImage(image.width, image.height, image.sha256, lambda: read_file(file, image.sha256)),),
        objects=candidate.objects,
        flags=tuple((flag.filter, flag.reason) for flag in candidate.flags),
        facts=facts,
    )


def servable(image: ItemImage, *, name: str) -> tuple[bytes, str]:
    """Return an image as bytes of which a browser shows what models get, and their media type.

    Raises DataError if it cannot be read or does not decode (`known_unknowns.images.decode`).
    """
    data = image.read()
    pixels = decode(data, file=name)
    media_type = web_type(data, file=name)
    if media_type is None:
        buffer = BytesIO()
        pixels.save(buffer, "PNG")
        return buffer.getvalue(), "image/png"
    return data, media_type
