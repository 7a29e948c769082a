"""ActiView (Wang et al., "ActiView: Evaluating Active Perception Ability for Multimodal Large Language Models").

A question on a large picture, of which a model sees a reduced copy or one of four views at a time. Each question has
seven pictures (``Question.images``): the original, the resized, the one with grid lines, and the views 1 to 4 (upper
left, lower left, upper right, lower right), so that ``images[2 + v]`` is view v. ``Question.extra`` holds:

- "question_id", "image_path": as published;
- "type": "Type I", "Type II" or "Type III" (the sub-class is the category);
- "distraction": 0 or 1;
- "clues": for each view in order "no", "partial", or the number of clues it holds whole;
- "groundtruth_views": the views with clues, from 1;
- "start": {"E", "M", "H"}: the view from 0 that shifting starts in, None where the files have none;
- "random_start": the same for Shifting-R, drawn as the released toolkit draws it (`random_starts`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from known_unknowns.benchmarks._images import PictureStore, picture_bytes
from known_unknowns.benchmarks.actiview.format import CATEGORIES, LETTERS, TYPES, VIEWS, Annotation, annotations
from known_unknowns.benchmarks.actiview.format import read as files_under
from known_unknowns.benchmarks.actiview.parsing import official
from known_unknowns.benchmarks.actiview.prompts import prompt
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.progress import Advance
from known_unknowns.records import Image, Option, Question

__all__ = [
    "CATEGORIES",
    "NAME",
    "RELEASED_SEED",
    "TYPES",
    "load",
    "official",
    "prompt",
    "random_starts",
    "read",
    "unpictured",
]

NAME = "actiview"
RELEASED_SEED = 1234
"""What the released toolkit seeds Python's generator with before it draws the views that Shifting-R starts in."""


def read(
    raw: Path,
    folder: Path,
    *,
    settings: Mapping[str, Any] | None = None,
    advance: Advance | None = None,
    workers: int = 1,
) -> Iterator[Question]:
    """Read the published files under ``raw``, question by question, and write each distinct picture once to
    ``folder``/images, in so many ``workers``.

    ``settings`` is the data's entry in params.yaml; its ``start_seed`` is the seed of `random_starts`.
    Raises DataError naming file and row for anything that is not as published.
    """
    starts = random_starts(_start_seed(settings))
    files = files_under(raw)
    with PictureStore(folder, workers=workers) as pictures:
        for annotation, start in zip(annotations(files), starts, strict=False):
            try:
                images = tuple(
                    pictures.add(picture_bytes(name, files.file.parent), file=files.file, row=annotation.row)
                    for name in annotation.pictures
                )
            except (ValueError, OSError) as error:
                raise DataError(f"question {annotation.id}: {error}", file=files.file, row=annotation.row) from error
            yield _question(annotation, images, start)
            if advance:
                advance()


def load(raw: Path, folder: Path, *, settings: Mapping[str, Any] | None = None) -> list[Question]:
    """Return all questions of `read` at once."""
    return list(read(raw, folder, settings=settings))


def unpictured(raw: Path, *, settings: Mapping[str, Any] | None = None) -> list[Question]:
    """The questions without their pictures, from the annotations alone: enough to read what others have answered.

    ``raw`` is the folder of the files, or the data.json; the two files beside it may be absent. ``group`` is then the
    original picture's path.
    """
    found, starts = annotations(files_under(raw, whole=False)), random_starts(_start_seed(settings))
    return [_question(annotation, (), start) for annotation, start in zip(found, starts, strict=False)]


def random_starts(seed: int = RELEASED_SEED) -> Iterator[int]:
    """For one question after the other the view, from 0, that Shifting-R starts in.

    Released code: ``random.seed(1234)`` once, then ``random.randint(0, 3)`` for each question in the file's order.
    """
    generator = random.Random(seed)
    while True:
        yield generator.randint(0, VIEWS - 1)


def _start_seed(settings: Mapping[str, Any] | None) -> int:
    seed = (settings or {}).get("start_seed", RELEASED_SEED)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ConfigError(f"is {seed!r}, not a whole number", path=f"benchmarks.{NAME}.data.<edition>.start_seed")
    return seed


def _question(annotation: Annotation, images: tuple[Image, ...], start: int) -> Question:
    return Question(
        id=annotation.id,
        benchmark=NAME,
        text=annotation.text,
        options=tuple(
            Option(label, text, f"{label}. ") for label, text in zip(LETTERS, annotation.options, strict=False)
        ),
        answer=annotation.answer,
        refusal=None,
        images=images,
        category=annotation.category,
        group=images[0].sha256 if images else annotation.pictures[0],
        extra={
            "question_id": annotation.id,
            "type": annotation.type,
            "distraction": annotation.distraction,
            "clues": list(annotation.clues),
            "groundtruth_views": None if annotation.groundtruth is None else list(annotation.groundtruth),
            "start": dict(annotation.starts),
            "random_start": start,
            "image_path": annotation.pictures[0],
        },
    )
