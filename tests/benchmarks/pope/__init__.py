"""A yes/no benchmark in the published format of POPE: one folder, found through an entry point.

It has a variant and a pocket edition of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from known_unknowns.benchmark.images import ImageStore
from known_unknowns.benchmark.interface import Benchmark
from known_unknowns.benchmark.loading import Row, questions
from known_unknowns.benchmark.parsed_answer import ParsedAnswer, parse_label
from known_unknowns.benchmark.pocket import Pocket
from known_unknowns.benchmark.variant import Variant, by_name
from known_unknowns.config import DataEntry
from known_unknowns.progress import Advance
from known_unknowns.records import Option, Question

LABELS = ("yes", "no")


class Pope(Benchmark):
    """The parts of the benchmark."""

    name = "pope"
    title = "POPE"

    def load(
        self,
        raw: Path,
        folder: Path,
        *,
        settings: DataEntry | None = None,
        advance: Advance | None = None,
        workers: int = 1,
    ) -> Iterator[Question]:
        """Load JSON lines with the keys question_id, image, text and label; the images are beside them."""
        with ImageStore(folder, workers=workers) as images:
            yield from questions(_rows(raw), lambda row: _question(row, images), source=raw, advance=advance)

    def prompt(self, question: Question) -> str:
        """The question alone, as published."""
        return question.text

    def official(self, text: str, question: Question) -> ParsedAnswer:
        """The published rule: "no" if the first sentence has the word "No", "no" or "not", else "yes"."""
        words = text.split(".")[0].replace(",", "").split(" ")
        return parse_label("no" if {"No", "no", "not"} & set(words) else "yes", question)

    def variants(self) -> Mapping[str, Variant]:
        return by_name([Variant(negated)])

    def pocket(self) -> Pocket:
        from .pocket import POCKET

        return POCKET


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


def negated(question: Question, *, word: str = "no") -> Question:
    """Ask "Is there no dog in the image?": the other answer is right."""
    text = question.text.replace("Is there a ", f"Is there {word} ", 1)
    return replace(question, text=text, answer=None if question.answer is None else 1 - question.answer)


BENCHMARK = Pope()
