"""The interface of file formats of predictions, and what a benchmark adds to the exchange of files.

`known_unknowns.exchange.generic_formats` has the formats for every benchmark. A benchmark's own formats are in its
`Exchange`. `known_unknowns.exchange.predictions` lists all of them and parses files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from known_unknowns.exchange.rows import Row
from known_unknowns.protocols import ANSWER
from known_unknowns.records import AnsweredTurn, Question

NO_PREDICTION = "the file holds no prediction (null)"

QuestionTurns = tuple[Question, list[AnsweredTurn]]
"""A question with its turns, in the order they were asked."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One reply to one question, as a file has it.

    Attributes
    ----------
    row : Row
        The row of the file, for error messages.
    text : str
        The reply.
    error : str, optional
        Why there is no reply.
    id : str, optional
        The question's id, if the format has it.
    index : int, optional
        The question's number (from 0) in published order, if the format has it.
    step : str
        The step of the protocol that the reply belongs to.
    fields : mapping, optional
        The fields of the row that describe the question.
    logprobs : tuple of float, optional
        Log-probabilities of the options, in their order.
    """

    row: Row
    text: str
    error: str | None = None
    id: str | None = None
    index: int | None = None
    step: str = ANSWER
    fields: Mapping[str, Any] | None = None
    logprobs: tuple[float, ...] | None = None

    @property
    def name(self) -> str:
        """The question's id, or else its number."""
        return self.id if self.id is not None else str(self.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """A file format of predictions.

    Attributes
    ----------
    name : str
        The name of the format in ``export --format`` and in error messages.
    fields : tuple of str
        The fields that identify a row of this format.
    parse_row : callable, optional
        ``(row) -> Prediction``, for a row that has these fields.
    object_key : str
        The key that identifies a file which is one JSON object of this format.
    parse_object : callable, optional
        ``(file, object) -> (predictions, accuracy)``; the accuracy is the one that the file states, or None.
    write : callable, optional
        ``(pairs of a question and a turn) -> text`` of the file.
    every_turn : bool
        Whether ``write`` gets every turn with options, not only the one that answers the question.
    whole_question : bool
        Whether a row repeats the question with all options, so that it must equal the question it is matched with.
    benchmark : str
        The only benchmark whose questions can be written; "" for any.
    suffix : str
        The suffix of a file that ``write`` makes.
    """

    name: str
    fields: tuple[str, ...] = ()
    parse_row: Callable[[Row], Prediction] | None = None
    object_key: str = ""
    parse_object: Callable[[Path, Mapping[str, Any]], tuple[Sequence[Prediction], float | None]] | None = None
    write: Callable[[Sequence[tuple[Question, AnsweredTurn]]], str] | None = None
    every_turn: bool = False
    whole_question: bool = False
    benchmark: str = ""
    suffix: str = ".jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What a benchmark adds to the exchange of files.

    Attributes
    ----------
    formats : tuple of FileFormat
        The formats of the benchmark's own tools.
    embedded_question : callable, optional
        ``(fields, identifier, function) -> Question`` as it was asked: parse the question that a row of predictions
        contains, given the function of the variant. Raises ValueError. Without it, questions come from annotations.
    exported_extra : tuple of str
        Keys of ``Question.extra`` that ``embedded_question`` needs, so that the generic formats export them.
    """

    formats: tuple[FileFormat, ...] = ()
    embedded_question: Callable[[Mapping[str, Any], str, str], Question] | None = None
    exported_extra: tuple[str, ...] = ()


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
