"""Our replies in the formats of other people's tools, so that those can check our numbers.

`known_unknowns.exchange.rescore` reads every one of them back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from known_unknowns import tables
from known_unknowns.benchmarks.humblebench.official import released_label
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.exchange.export_harnesses import lmms_eval, separated, vlmevalkit
from known_unknowns.images import is_drawn
from known_unknowns.records import AnsweredTurn, Question
from known_unknowns.scoring.table import ANSWER_STEP, answers, paired, read

Pair = tuple[Question, list[AnsweredTurn]]
Writer = Callable[[Sequence[tuple[Question, AnsweredTurn]]], str]
"""From every question with the turn that answers it to the text of the file."""


def humblebench(answered: Sequence[tuple[Question, AnsweredTurn]]) -> str:
    """JSON lines that the ``humblebench`` package's ``evaluate`` reads."""
    return "".join(json.dumps(humblebench_line(*pair), ensure_ascii=False) + "\n" for pair in answered)


def humblebench_line(question: Question, asked: AnsweredTurn) -> dict[str, Any]:
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


def actiview(answered: Sequence[tuple[Question, AnsweredTurn]]) -> str:
    """The result file of ActiView's toolkit: the replies in the order of data.json, and the share that its rule calls
    right. A failed reply is an empty one, as it counts there."""
    right = [read(asked, question, "official").correct for question, asked in answered]
    preds = ["" if asked.reply.error is not None else asked.reply.text for _, asked in answered]
    return json.dumps({"preds": preds, "acc": sum(right) / len(right) if right else None}, ensure_ascii=False) + "\n"


WRITERS: dict[str, Writer] = {
    "humblebench": humblebench,
    "actiview": actiview,
    "lmms_eval": lmms_eval,
    "vlmevalkit": vlmevalkit,
}
PLAIN = ("csv", "jsonl")
FORMATS = (*WRITERS, *PLAIN)
ONE_BENCHMARK = ("humblebench", "actiview")
"""Formats of one benchmark's own toolkit, whose name is the benchmark's."""


def export(format: str, questions: Path, replies: Path, out: Path) -> None:
    """Write every question's reply, in the order of the questions.

    Raises:
        ConfigError: the format is not one of `FORMATS`.
        DataError: questions and replies do not belong together, or the questions are of another benchmark.
    """
    if format not in FORMATS:
        raise ConfigError(unknown_name(format, FORMATS), path="--format")
    pairs = paired(questions, replies)
    if format in PLAIN:
        tables.write_text(out, _plain(pairs, format))
        return
    answered = list(answers(pairs, file=replies))
    for question, _ in answered:
        if format in ONE_BENCHMARK and question.benchmark != format:
            raise DataError(
                f"question {question.id!r} is of the benchmark {question.benchmark!r}, not {format!r}", file=questions
            )
    tables.write_text(out, WRITERS[format](answered))


def _plain(pairs: Sequence[Pair], format: str) -> str:
    """question_id and prediction; with the step between them where a question was asked for more than its answer.

    A failed reply is null in JSON lines. CSV knows no null: there it is empty, which reads as unparsed.
    """
    rows: list[dict[str, Any]] = [
        {
            "question_id": question.id,
            "step": asked.step,
            "prediction": None if asked.reply.error is not None else asked.reply.text,
        }
        for question, turns in pairs
        for asked in turns
        if asked.labels is not None
    ]
    if all(row["step"] == ANSWER_STEP for row in rows):
        rows = [{key: value for key, value in row.items() if key != "step"} for row in rows]
    if format == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return separated(rows, delimiter=",")
