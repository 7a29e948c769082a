"""The interface of file formats of predictions, and what a benchmark adds to the exchange of files.

`known_unknowns.exchange.generic_formats` has the formats for every benchmark. A benchmark's own formats are in its
`Exchange`. `known_unknowns.exchange.predictions` lists all of them and parses files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from known_unknowns.benchmark.exchange import NO_PREDICTION, FileFormat, Prediction, Row
from known_unknowns.records import AnsweredTurn, Question

QuestionTurns = tuple[Question, list[AnsweredTurn]]
"""A question with its turns, in the order they were asked."""


@dataclass(frozen=True, slots=True)
class PredictionFile:
    """A parsed file of predictions. ``stated_accuracy`` is the one that the file itself has, if any."""

    file: Path
    format: FileFormat
    predictions: tuple[Prediction, ...]
    stated_accuracy: float | None = None


def parse_rows(format: FileFormat, rows: Iterable[Row]) -> list[Prediction]:
    """Parse rows, each of which must have the fields of the format."""
    if format.parse_row is None:
        raise TypeError(f"the format {format.name} has no rows")
    found = []
    for row in rows:
        missing = [field for field in format.fields if field not in row.fields]
        if missing:
            raise row.error(f"{', '.join(missing)} missing, which a row of the format {format.name} has")
        found.append(format.parse_row(row))
    return found


def parse_reply(row: Row, value: Any) -> tuple[str, str | None]:
    """Return the text of a prediction, and why there is none. Null means no reply; other types are errors."""
    if value is None:
        return "", NO_PREDICTION
    if not isinstance(value, str):
        raise row.error(f"the prediction is {str(value)[:60]!r} ({type(value).__name__}), not a text")
    return value, None


def reply_text(turn: AnsweredTurn) -> str:
    """Return the text of a reply; "" for a failed one, for formats that have no other way to say so."""
    return "" if turn.reply.error is not None else turn.reply.text
