"""The result file of ActiView's toolkit: one object {"preds": [...], "acc": ...} in the order of data.json.

It does not contain the questions, which have annotated views.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from known_unknowns.benchmark.exchange import Exchange, FileFormat, Prediction, Row
from known_unknowns.errors import DataError
from known_unknowns.exchange.formats import parse_reply, reply_text
from known_unknowns.records import AnsweredTurn, Question
from known_unknowns.scoring.dialogues import score_turn
from known_unknowns_benchmarks.actiview.loader import NAME


def _parse_object(file: Path, content: Mapping[str, Any]) -> tuple[list[Prediction], float | None]:
    replies, accuracy = content["preds"], content.get("acc")
    if not isinstance(replies, list) or not replies:
        raise DataError("preds is not a list of replies", file=file)
    predictions = []
    for index, value in enumerate(replies):
        row = Row(file, index + 1, {"prediction": value})
        text, error = parse_reply(row, value)
        predictions.append(Prediction(row, text, error, index=index))
    is_number = isinstance(accuracy, int | float) and not isinstance(accuracy, bool)
    return predictions, float(accuracy) if is_number else None


def _write(answers: Sequence[tuple[Question, AnsweredTurn]]) -> str:
    """Write the replies and the accuracy by the official parser. A failed reply is an empty text."""
    right = [score_turn(turn, question, "official").correct for question, turn in answers]
    content = {
        "preds": [reply_text(turn) for _, turn in answers],
        "acc": sum(right) / len(right) if right else None,
    }
    return json.dumps(content, ensure_ascii=False) + "\n"


EXCHANGE = Exchange(
    formats=(
        FileFormat(
            name=NAME, object_key="preds", parse_object=_parse_object, write=_write, benchmark=NAME, suffix=".json"
        ),
    )
)
