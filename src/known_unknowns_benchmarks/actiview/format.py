"""ActiView's published files, without the images: data.json, groundtruth_views.json, shifting_level.json.

``data.json`` is an object whose "data" lists the questions: question, options, answer (an index from 0), images (seven
paths), category, distraction, id, contains_bbox. The two other files have the same order: the views with clues,
numbered from 1, and for each of easy, medium and hard the view in which shifting starts, numbered from 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from known_unknowns.benchmark.loading import Row, read_json
from known_unknowns.errors import DataError

DATA, GROUNDTRUTH, LEVELS = "data.json", "groundtruth_views.json", "shifting_level.json"
STARTS: Mapping[str, str] = {"E": "easy", "M": "medium", "H": "hard"}
"""Names of Shifting-E, -M and -H (Section 4.1) in the file of levels."""

LETTERS = "ABCDEFGH"
VIEWS = 4
IMAGES = ("original", "resized", "gridded", "upper-left", "lower-left", "upper-right", "lower-right")
"""The seven images of a question, in their order: ``images[2 + v]`` is view v."""

TYPES: Mapping[str, tuple[str, ...]] = {
    "Type I": ("Geo-Loc", "Orient", "Daily-Loc"),
    "Type II": ("Obj-Attr", "Obj-Rel", "Count-Dis"),
    "Type III": ("Event-M", "Event-S"),
}
"""Environment-, object- and event-centric questions (Section 3.1), and their sub-classes as Table 8 prints them."""

CATEGORIES: Mapping[str, str] = {
    "geo-loc(counrty)": "Geo-Loc",  # sic, in the published file
    "orientation": "Orient",
    "daily loc": "Daily-Loc",
    "object-attr": "Obj-Attr",
    "object-rel": "Obj-Rel",
    "counting": "Count-Dis",
    "event-multi": "Event-M",
    "event-single": "Event-S",
}
"""The published names of the sub-classes."""

Clue = str | int
"""The clues in a view: "no", "partial", or the number of complete clues."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """One question as published. ``row`` is its position in data.json, from 0.

    ``groundtruth`` numbers views from 1; it is None if the file was not read. ``starts`` has E, M and H, each a view
    from 0, or None if the file of levels has none.
    """

    row: int
    id: str
    text: str
    options: tuple[str, ...]
    answer: int
    images: tuple[str, ...]
    category: str
    distraction: int
    clues: tuple[Clue, ...]
    groundtruth: tuple[int, ...] | None
    starts: Mapping[str, int | None]

    @property
    def type(self) -> str:
        return next(name for name, sub_classes in TYPES.items() if self.category in sub_classes)


class Files(NamedTuple):
    """The decoded files. ``groundtruth`` is None, and ``levels`` is empty, if the file is absent."""

    file: Path
    rows: list[Any]
    groundtruth: list[Any] | None
    levels: Mapping[str, Any]

    def annotation(self, row: int) -> Annotation:
        """Return the question in this row. ValueError if it is invalid."""
        groundtruth = None
        if self.groundtruth is not None:
            groundtruth = _views(_at(self.groundtruth, row, GROUNDTRUTH))
        return _annotation(row, self.rows[row], groundtruth, self._starts(row))

    def _starts(self, row: int) -> dict[str, int | None]:
        starts = {}
        for name, level in STARTS.items():
            views = self.levels.get(level) or []
            starts[name] = _start(views[row] if row < len(views) else None, level)
        return starts


def read_files(raw: Path, *, require_all: bool = True) -> Files:
    """Decode the files in a folder or below it (the repository has them in ``asset``). Rows are not checked.

    ``raw`` may also be data.json under any name. Raises DataError if a file is missing or has another
    format; with ``require_all`` also if one of the two files beside it is missing.
    """
    file = _data_file(raw)
    data = read_json(file)
    rows = data.get("data") if isinstance(data, dict) else None
    if not isinstance(rows, list) or not rows:
        raise DataError('is no object with a list of questions under "data"; fetch it again', file=file)
    beside = file.with_name(GROUNDTRUTH)
    groundtruth = read_json(beside) if require_all or beside.is_file() else None
    if groundtruth is not None and not isinstance(groundtruth, list):
        raise DataError("is no list; fetch it again", file=beside)
    beside = file.with_name(LEVELS)
    levels = read_json(beside) if require_all or beside.is_file() else {}
    if not isinstance(levels, dict) or not all(isinstance(starts, list) for starts in levels.values()):
        raise DataError("is no object of lists; fetch it again", file=beside)
    return Files(file, rows, groundtruth, levels)


def rows(files: Files) -> Iterator[Row]:
    """Iterate over the rows of data.json, undecoded."""
    for number, values in enumerate(files.rows):
        yield Row(files.file, number, values)


def _data_file(raw: Path) -> Path:
    if raw.is_file():
        return raw
    if (raw / DATA).is_file():
        return raw / DATA
    found = sorted(raw.rglob(DATA))
    if len(found) != 1:
        there = f"there are {len(found)} in the folders below" if found else "there is none"
        raise DataError(f"no {DATA} ({there}); fetch the data again", file=raw)
    return found[0]


_Text = Annotated[str, StringConstraints(pattern=r"\S")]


class _Row(BaseModel):
    """An object of data.json."""

    model_config = ConfigDict(strict=True)

    question: _Text
    options: Annotated[list[_Text], Field(min_length=2, max_length=len(LETTERS))]
    answer: int
    images: Annotated[list[_Text], Field(min_length=len(IMAGES), max_length=len(IMAGES))]
    category: Literal[*CATEGORIES]  # type: ignore[valid-type]
    distraction: Literal[0, 1]
    id: _Text | int
    contains_bbox: Annotated[
        list[Literal["no", "partial"] | Annotated[int, Field(ge=1)]], Field(min_length=VIEWS, max_length=VIEWS)
    ]

    @model_validator(mode="after")
    def _check_answer(self) -> _Row:
        if not 0 <= self.answer < len(self.options):
            raise ValueError(f"the answer is {self.answer}, where the options are 0 to {len(self.options) - 1}")
        return self


def _annotation(
    row: int, values: Any, groundtruth: tuple[int, ...] | None, starts: Mapping[str, int | None]
) -> Annotation:
    try:
        found = _Row.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"][:2]))
        given = f", not {str(first['input'])[:80]!r}" if place else ""
        raise ValueError(f"{place}{place and ': '}{first['msg'].removeprefix('Value error, ')}{given}") from error
    return Annotation(
        row=row,
        id=str(found.id),
        text=found.question,
        options=tuple(found.options),
        answer=found.answer,
        images=tuple(found.images),
        category=CATEGORIES[found.category],
        distraction=found.distraction,
        clues=tuple(found.contains_bbox),
        groundtruth=groundtruth,
        starts=starts,
    )


def _views(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list) or not all(type(view) is int and 1 <= view <= VIEWS for view in values):
        raise ValueError(f"{GROUNDTRUTH} has {str(values)[:80]} here, not views from 1 to {VIEWS}")
    return tuple(values)


def _start(view: Any, level: str) -> int | None:
    if view is not None and (type(view) is not int or not 0 <= view < VIEWS):
        raise ValueError(f"{LEVELS} has {view!r} here under {level!r}, not a view from 0 to {VIEWS - 1}")
    return view


def _at(values: list[Any], row: int, name: str) -> Any:
    if row >= len(values):
        raise ValueError(f"{name} has only {len(values)} entries, none for this question")
    return values[row]
