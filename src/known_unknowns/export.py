"""Our replies in the formats of other people's tools, so that those can check our numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from known_unknowns import tables
from known_unknowns.benchmarks.humblebench_official import released_label
from known_unknowns.config import unknown_name
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.images import is_drawn
from known_unknowns.records import Asked, Question
from known_unknowns.scoring import answers, paired


def humblebench(question: Question, asked: Asked) -> dict[str, Any]:
    """A line of what the ``humblebench`` package's ``evaluate`` reads; it refuses any other key.

    The label is the one its own loader would have: E on HumbleBench-E, as published on HumbleBench-GN. A failed
    reply is an empty prediction, which its rule counts as wrong: dropping it would raise every number. A picture
    that was drawn stands there by its recipe, and no picture as null.
    """
    drawn = next((image.source for image in question.images if is_drawn(image)), None)
    return {
        "label": released_label(question),
        "question": question.rendered,
        "type": question.category,
        "image": {"bytes": None, "path": drawn or (question.extra["image_path"] if question.images else None)},
        "question_id": question.extra["question_id"],
        "prediction": "" if asked.reply.error is not None else asked.reply.text,
    }


FORMATS: dict[str, Callable[[Question, Asked], dict[str, Any]]] = {"humblebench": humblebench}
"""Each is a function from a question and the turn that answers it to one line of JSON."""


def export(format: str, questions: Path, replies: Path, out: Path) -> None:
    """Write JSON lines, one a question, in the order of the questions.

    Raises:
        ConfigError: the format is not one of `FORMATS`.
        DataError: questions and replies do not belong together, or the questions are of another benchmark.
    """
    if format not in FORMATS:
        raise ConfigError(unknown_name(format, FORMATS), path="--format")
    lines = []
    for question, asked in answers(paired(questions, replies), file=replies):
        if question.benchmark != format:
            raise DataError(
                f"question {question.id!r} is of the benchmark {question.benchmark!r}, not {format!r}", file=questions
            )
        lines.append(json.dumps(FORMATS[format](question, asked), ensure_ascii=False) + "\n")
    tables.write_text(out, "".join(lines))
