"""The result file of ActiView's toolkit: one object {"preds": [...], "acc": ...} in the order of data.json.

It does not contain the questions, which have annotated views.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from known_unknowns.benchmark.exchange import Exchange, FileFormat, Row, is_number
from known_unknowns.errors import DataError
from known_unknowns.exchange.writers import reply_text
from known_unknowns.records import AnsweredTurn, Question
from known_unknowns.scoring.dialogues import score_turn
from known_unknowns_benchmarks.actiview.loader import NAME


def _expand(row: Row) -> list[Row]:
    replies = row.fields["preds"]
    if not isinstance(replies, list) or not replies:
        raise DataError("preds is not a list of replies", file=row.file)
    return [Row(row.file, number + 1, {"number": number, "prediction": text}) for number, text in enumerate(replies)]


def stated_accuracy(row: Row) -> float | None:
    """Return the accuracy that a result file states; None if it states none."""
    accuracy = row.fields.get("acc")
    return float(accuracy) if is_number(accuracy) else None


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
            name=NAME,
            fields=("preds",),
            expand=_expand,
            stated_accuracy=stated_accuracy,
            write=_write,
            benchmark=NAME,
            suffix=".json",
        ),
    )
)
