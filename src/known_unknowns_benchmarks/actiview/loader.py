"""ActiView (Wang et al., "ActiView: Evaluating Active Perception Ability for Multimodal Large Language Models").

A question is about a large image. A model sees a reduced copy of it or one of four views at a time. A question has
seven images (``Question.images``): the original, the resized image, the resized image with grid lines, and the views 1
to 4 (upper left, lower left, upper right, lower right), so ``images[2 + v]`` is view v. ``Question.extra`` has these
keys:

- "question_id", "image_path": as published;
- "type": "Type I", "Type II" or "Type III" (the sub-class is the category);
- "distraction": 0 or 1;
- "clues": for each view in order "no", "partial", or the number of complete clues;
- "groundtruth_views": the views with clues, from 1;
- "start": {"E", "M", "H"}: the view, from 0, in which shifting starts; None if the files have none;
- "random_start": the same for Shifting-R, drawn as in the released toolkit (`random_starts`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from known_unknowns.benchmark.images import ImageStore
from known_unknowns.benchmark.loading import Row, questions
from known_unknowns.config import DataEntry, GitData, ReleasedData, ScenesData
from known_unknowns.progress import Advance
from known_unknowns.records import Image, Option, Question
from known_unknowns_benchmarks.actiview.format import LETTERS, VIEWS, Annotation, read_files, rows

NAME = "actiview"
RELEASED_SEED = 1234
"""The toolkit's seed of Python's generator, from which it draws the views in which Shifting-R starts."""


def load(
    raw: Path,
    folder: Path,
    *,
    settings: DataEntry | None = None,
    advance: Advance | None = None,
    workers: int = 1,
) -> Iterator[Question]:
    """Load the published files under ``raw`` (`known_unknowns.benchmark.interface.Load`).

    ``settings`` is the data's entry in params.yaml; its ``start_seed`` is the seed of `random_starts`.
    """
    files, starts = read_files(raw), random_starts(_start_seed(settings))
    with ImageStore(folder, workers=workers, plain=True) as images:

        def build(row: Row) -> Question:
            annotation = files.annotation(row.number)
            try:
                found = [
                    images.add_cell(name, row.file.parent, file=row.file, row=row.number) for name in annotation.images
                ]
            except (ValueError, OSError) as error:
                raise ValueError(f"question {annotation.id}: {error}") from error
            return _question(annotation, tuple(found), next(starts))

        yield from questions(rows(files), build, source=files.file, advance=advance)


def load_without_images(raw: Path, *, settings: DataEntry | None = None) -> list[Question]:
    """Load the questions from the annotations alone, to score replies where the images are absent.

    ``raw`` is the folder of the files, or data.json; the two files beside it may be absent. The questions have no
    images, and the path of the original image as their ``group``.
    """
    files, starts = read_files(raw, require_all=False), random_starts(_start_seed(settings))

    def build(row: Row) -> Question:
        return _question(files.annotation(row.number), (), next(starts))

    return list(questions(rows(files), build, source=files.file))


def random_starts(seed: int = RELEASED_SEED) -> Iterator[int]:
    """Draw the view, from 0, in which Shifting-R starts, for one question after the other.

    The released code calls ``random.seed(1234)`` once, then ``random.randint(0, 3)`` for each question in the file's
    order.
    """
    generator = random.Random(seed)
    while True:
        yield generator.randint(0, VIEWS - 1)


def _start_seed(settings: DataEntry | None) -> int:
    seed = settings.start_seed if isinstance(settings, ScenesData | GitData | ReleasedData) else None
    return RELEASED_SEED if seed is None else seed


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
        group=images[0].sha256 if images else annotation.images[0],
        extra={
            "question_id": annotation.id,
            "type": annotation.type,
            "distraction": annotation.distraction,
            "clues": list(annotation.clues),
            "groundtruth_views": None if annotation.groundtruth is None else list(annotation.groundtruth),
            "start": dict(annotation.starts),
            "random_start": start,
            "image_path": annotation.images[0],
        },
    )
