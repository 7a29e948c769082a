"""POPE's published files as questions, its prompt, and the released parser."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from known_unknowns.benchmark.images import ImageStore
from known_unknowns.benchmark.loading import Row, questions
from known_unknowns.progress import Advance
from known_unknowns.records import Option, Question
from known_unknowns.scoring.parsed_answer import ParsedAnswer, parse_label

LABELS = ("yes", "no")


def load(
    raw: Path,
    folder: Path,
    *,
    settings: Mapping[str, Any] | None = None,
    advance: Advance | None = None,
    workers: int = 1,
) -> Iterator[Question]:
    """Load JSON lines with the keys question_id, image, text and label; the images are beside them."""
    with ImageStore(folder, workers=workers) as images:
        yield from questions(_rows(raw), lambda row: _question(row, images), source=raw, advance=advance)


def _rows(raw: Path) -> Iterator[Row]:
    for file in sorted(raw.glob("*.json")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines()):
            yield Row(file, number, json.loads(line))


def _question(row: Row, images: ImageStore) -> Question:
    values = row.values
    image = images.add((row.file.parent / values["image"]).read_bytes(), file=row.file, row=row.number)
    return Question(
        id=str(values["question_id"]),
        benchmark="pope",
        text=values["text"],
        options=tuple(Option(label, label.capitalize(), "") for label in LABELS),
        answer=LABELS.index(values["label"]),
        refusal=None,
        images=(image,),
        category=row.file.stem,
        group=image.sha256,
        extra={},
    )


def prompt(question: Question) -> str:
    """The question alone, as published."""
    return question.text


def official(text: str, question: Question) -> ParsedAnswer:
    """The published rule: "no" if the first sentence has the word "No", "no" or "not", else "yes"."""
    words = text.split(".")[0].replace(",", "").split(" ")
    return parse_label("no" if {"No", "no", "not"} & set(words) else "yes", question)
