"""HumbleBench's files of predictions and annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from known_unknowns.benchmark.exchange import Exchange, FileFormat
from known_unknowns.config import DataEntry
from known_unknowns.exchange.annotations import load_folder
from known_unknowns.exchange.embedded_questions import (
    ORIGINAL,
    WITHOUT_REFUSAL,
    build_question,
    first_value,
)
from known_unknowns.exchange.rows import parse_identifier, parse_table
from known_unknowns.exchange.writers import json_lines, reply_text
from known_unknowns.images import is_recipe_image
from known_unknowns.records import AnsweredTurn, Option, Question
from known_unknowns_benchmarks.humblebench.loader import LETTERS, NAME, REFUSAL
from known_unknowns_benchmarks.humblebench.official import released_label

NONE_OF_THE_ABOVE = "None of the above"
"""The text of the refusal, whose label differs from E if options were moved or relettered."""
_ANNOTATION_FIELDS = ("question_id", "question", "label", "type")


def _write(answers: Sequence[tuple[Question, AnsweredTurn]]) -> str:
    """Write JSON lines for the ``evaluate`` function of the package ``humblebench``."""
    return json_lines([_line(*pair) for pair in answers])


def _line(question: Question, turn: AnsweredTurn) -> dict[str, Any]:
    """Return one line with exactly the keys that ``evaluate`` accepts.

    The label is that of the released loader: E on HumbleBench-E, as published on HumbleBench-GN. A failed reply is an
    empty prediction, which ``evaluate`` counts as wrong; without it every number would be higher. The path of a
    generated image is its recipe; without an image it is null.
    """
    generated = next((image.source for image in question.images if is_recipe_image(image)), None)
    return {
        "label": released_label(question),
        "question": question.rendered,
        "type": question.category,
        "image": {"bytes": None, "path": generated or (question.extra["image_path"] if question.images else None)},
        "question_id": question.extra["question_id"],
        "prediction": reply_text(turn),
    }


def embedded_question(fields: Mapping[str, Any], identifier: str, function: str) -> Question:
    """Parse the question in a row (`known_unknowns.benchmark.exchange.Exchange`).

    The published label is that of the row, unless an option was removed: then it is the label that is missing. It is
    unknown ("") if the options were relettered.
    """
    labels: list[str] = []

    def find_refusal(options: Sequence[Option]) -> int | None:
        labels.extend(option.label for option in options)
        named = [i for i, option in enumerate(options) if option.text.strip() == NONE_OF_THE_ABOVE]
        if not named and REFUSAL not in labels and function != WITHOUT_REFUSAL:
            raise ValueError(f"no option {REFUSAL}, which is the refusal; the options are {', '.join(labels)}")
        return named[0] if named else labels.index(REFUSAL) if REFUSAL in labels else None

    question = build_question(
        fields,
        identifier,
        function,
        benchmark=NAME,
        find_refusal=find_refusal,
        category=("type", "category"),
        extra={"question_id": int(identifier) if identifier.isdecimal() else identifier},
    )
    missing = [label for label in LETTERS if label not in labels]
    published = first_value(fields, "published_label", "label", "answer", "target", default="")
    if missing and not fields.get("published_label") and published in labels:
        published = missing[0] if len(missing) == 1 and missing[0] != LETTERS[-1] else ""
    return replace(question, extra={**question.extra, "label": published})


def load_without_images(path: Path, *, settings: DataEntry | None = None) -> list[Question]:
    """Load the questions from an annotation file (Parquet, metadata.jsonl or metadata.csv) or from the folder.

    Raises DataError, with the line, for an invalid row.
    """
    if path.is_dir():
        return load_folder(NAME, path, settings=settings)
    found: dict[str, Question] = {}
    for row in parse_table(path):
        missing = [name for name in _ANNOTATION_FIELDS if name not in row.fields]
        if missing:
            raise row.error(f"{', '.join(missing)} missing, which HumbleBench's annotations have")
        identifier = parse_identifier(row, "question_id")
        if identifier in found:
            raise row.error(f"duplicate question id {identifier}")
        try:
            found[identifier] = embedded_question(row.fields, identifier, ORIGINAL)
        except ValueError as error:
            raise row.error(str(error)) from error
    return list(found.values())


EXCHANGE = Exchange(
    formats=(
        FileFormat(
            name=NAME,
            fields=("label", "question", "type", "question_id", "prediction"),
            write=_write,
            whole_question=True,
            benchmark=NAME,
            suffix=f".{NAME}.jsonl",
        ),
        FileFormat(name=f"{NAME} (answers only)", fields=("question_id", "model_answer"), reply="model_answer"),
    ),
    embedded_question=embedded_question,
    published_label="label",
)
