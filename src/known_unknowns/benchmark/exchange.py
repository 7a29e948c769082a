"""File formats of predictions, and what a benchmark adds to the exchange of files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.errors import DataError
from known_unknowns.records import AnsweredTurn, Question

NO_PREDICTION = "the file holds no prediction (null)"
"""Why a null in a file is no reply."""


class Row(NamedTuple):
    """A row of a file.

    ``line`` counts from 1: the line of a text file, the row of a sheet (whose header is 1), or the entry of a list.
    """

    file: Path
    line: int
    fields: Mapping[str, Any]

    def error(self, message: str) -> DataError:
        """Return an error that names the file and the line."""
        return DataError(message, file=self.file, line=self.line)


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
        Log-likelihoods of the options, in their order. The most likely option is the reply.
    label_logprobs : mapping, optional
        Log-probabilities of the labels as the first token of the reply.
    finish : str
        Why the reply ended, if the format has it ("length": at the limit of its length).
    """

    row: Row
    text: str
    error: str | None = None
    id: str | None = None
    index: int | None = None
    step: str = ANSWER
    fields: Mapping[str, Any] | None = None
    logprobs: tuple[float, ...] | None = None
    label_logprobs: Mapping[str, float] | None = None
    finish: str = "stop"

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
    published_label : str
        The key of ``Question.extra`` with the label as published, if there is one. The generic formats export it as
        ``published_label``.
    stand_ins : mapping of str to str
        Paths of images that the benchmark's code shows in place of a question's own, to the function of the variant.
    """

    formats: tuple[FileFormat, ...] = ()
    embedded_question: Callable[[Mapping[str, Any], str, str], Question] | None = None
    exported_extra: tuple[str, ...] = ()
    published_label: str = ""
    stand_ins: Mapping[str, str] = field(default_factory=dict)
