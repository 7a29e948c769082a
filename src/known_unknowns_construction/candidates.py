"""Candidates: generated questions before a person has reviewed them, and their file.

The file has one JSON object on each line, so that it is read, written and appended without holding it in memory. Paths
of images are relative to the folder of the file.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import GetCoreSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, core_schema

from known_unknowns.errors import DataError
from known_unknowns_construction.jsonl import read_records

LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Labels of options. The first option is A."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class CandidateImage:
    """The image of a candidate."""

    path: str  # POSIX path relative to the folder of the candidate file
    sha256: str  # digest of the file's bytes, in hexadecimal
    # size in pixels
    width: int
    height: int
    licence: str | None = None  # SPDX identifier or URL of the image's licence; None if it is not known

    def __post_init__(self) -> None:
        path = PurePosixPath(self.path)
        if not self.path or path.is_absolute() or ".." in path.parts or "\\" in self.path or "\0" in self.path:
            raise ValueError(f"the image path {self.path!r} is not a relative path inside the folder of the file")
        if not _SHA256.fullmatch(self.sha256):
            raise ValueError(f"the image's sha256 {self.sha256!r} is not 64 hexadecimal digits")
        if self.width < 1 or self.height < 1:
            raise ValueError(f"the image's size {self.width} x {self.height} is not positive")


class Outline:
    """A polygon as (x, y) corners in pixels of the image. The last corner is joined to the first.

    A corner takes 16 bytes. As a tuple of tuples it takes 112, and the outlines would be most of a scene graph.
    """

    __slots__ = ("_numbers",)

    def __init__(self, corners: Iterable[tuple[float, float]]) -> None:
        self._numbers = array("d", (value for x, y in corners for value in (x, y)))
        if not all(map(math.isfinite, self._numbers)):
            raise ValueError("an outline is not made of finite numbers")

    def __len__(self) -> int:
        return len(self._numbers) // 2

    def __iter__(self) -> Iterator[tuple[float, float]]:
        return zip(self._numbers[::2], self._numbers[1::2], strict=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outline) and self._numbers == other._numbers

    def __hash__(self) -> int:
        return hash(self._numbers.tobytes())

    def __deepcopy__(self, memo: object) -> Outline:  # it does not change
        return self

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda value: value if isinstance(value, cls) else cls(value)
        )


@dataclass(frozen=True, slots=True)
class SceneObject:
    """An object that a candidate is about."""

    id: str  # identifier of the object in the scene graph of the image
    name: str  # name of the object's class, without an index
    box: tuple[float, float, float, float]  # left, top, width and height in pixels
    outline: tuple[Outline, ...] = ()  # polygons around the object's mask; empty if it has no mask

    def __post_init__(self) -> None:
        if len(self.box) != 4 or not all(map(math.isfinite, self.box)):
            raise ValueError(f"object {self.id}: the box is not made of four finite numbers")


@dataclass(frozen=True, slots=True)
class Flag:
    """A finding of a filter. ``filter`` is the filter's name, ``reason`` a sentence for the reviewer."""

    filter: str
    reason: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A generated question.

    Raises ValueError if there are no options or too many, or if the answer is not a label of an option.
    """

    id: str  # unique within the file
    image: CandidateImage  # the image that the question is about
    question: str  # the question without its options
    options: tuple[str, ...]  # texts of the options without their labels. The first is labelled A.
    answer: str  # label of the correct option
    kind: str  # category of the question, such as "object", "relation" or "attribute"
    group: str  # identifier of the image. Intervals and queues group candidates by it.
    objects: tuple[SceneObject, ...] = ()  # the objects that the question is about. A review outlines them.
    flags: tuple[Flag, ...] = ()  # findings of the automatic filters
    # what generated the question: ``generator``, ``model``, ``revision`` and ``prompt``, as far as they exist
    source: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= len(self.options) <= len(LABELS):
            raise ValueError(f"candidate {self.id}: {len(self.options)} options; give 1 to {len(LABELS)}")
        if self.answer not in self.labels:
            labels = ", ".join(self.labels)
            raise ValueError(f"candidate {self.id}: the answer {self.answer!r} is not one of the labels {labels}")

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the options, from A."""
        return tuple(LABELS[: len(self.options)])

    @property
    def answer_index(self) -> int:
        """Index of the correct option."""
        return self.labels.index(self.answer)


_CANDIDATE = TypeAdapter(Candidate)


def read_candidates(path: str | Path) -> Iterator[Candidate]:
    """Yield the candidates of a file, one line at a time.

    Raises DataError if a line is not a candidate, or repeats the id of an earlier line. The message names the file and
    the line.
    """
    seen: dict[str, int] = {}
    for number, candidate in read_records(path, _CANDIDATE, "candidate"):
        first = seen.setdefault(candidate.id, number)
        if first != number:
            raise DataError(f"the id {candidate.id!r} is also on line {first}", file=path, line=number)
        yield candidate
