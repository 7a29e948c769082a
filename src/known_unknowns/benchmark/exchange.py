"""File formats of predictions, and what a benchmark adds to the exchange of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.errors import DataError
from known_unknowns.records import AnsweredTurn, Question

QuestionTurns = tuple[Question, list[AnsweredTurn]]
"""A question with its turns, in the order they were asked."""

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
        The question's id, if the row has it.
    index : int, optional
        The question's number (from 0) in published order, if the row has it and no id.
    fields : mapping
        The fields of the row that can describe the question.
    step : str
        The step of the protocol that the reply belongs to.
    sample : int
        The number (from 0) of the reply among several to the same question.
    likelihoods : tuple of float, optional
        Log-likelihoods of the options, in their order. The most likely option is the reply.
    logprobs : mapping, optional
        Log-probabilities of the labels at the reply's first bare label.
    finish : str
        Why the reply ended, if the format has it ("length": at the limit of its length).
    stated : mapping of str to float
        How right the reply is by the file's own scorers (0 to 1), by their names.
    """

    row: Row
    text: str
    error: str | None = None
    id: str | None = None
    index: int | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    step: str = ANSWER
    sample: int = 0
    likelihoods: tuple[float, ...] | None = None
    logprobs: Mapping[str, float] | None = None
    finish: str = "stop"
    stated: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The question's id, or else its number."""
        return self.id if self.id is not None else str(self.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """A file format of predictions: which fields its rows have, and what they mean.

    A row whose parts are not fields of their own is first expanded to one row for each reply.

    Attributes
    ----------
    name : str
        The name of the format in ``export --format`` and in error messages.
    fields : tuple of str
        The fields that identify a row of this format, or a file which is one JSON object. () for a format that is only
        written.
    expand : callable, optional
        ``(row) -> rows``, one for each reply, with the fields of the plain format; ``question`` with the fields of the
        question, and for a row without an id ``number``: the question's (from 0) in published order.
    id : tuple of str
        The fields that can have the question's id. The first that is not empty counts.
    reply : str
        The field of the reply.
    failure : str
        How a text begins that says why there is no reply.
    has_turns : bool
        Whether a row can have the plain format's fields of a turn: step, sample, finish, logprobs.
    stated : mapping of str to str
        Names of the file's own scorers, by the field with their results (0 or 1).
    stated_accuracy : callable, optional
        ``(row) -> accuracy`` that the file states, or None.
    facts : callable, optional
        ``(row) -> facts`` that the file states of its model: name, settings and versions.
    unfinished : callable, optional
        ``(row) -> text``: how many samples the file lacks and why, as far as it says so; "" if it is complete.
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
    expand: Callable[[Row], Iterable[Row]] | None = None
    id: tuple[str, ...] = ("question_id",)
    reply: str = "prediction"
    failure: str = ""
    has_turns: bool = False
    stated: Mapping[str, str] = field(default_factory=dict)
    stated_accuracy: Callable[[Row], float | None] | None = None
    facts: Callable[[Row], Mapping[str, Any]] | None = None
    unfinished: Callable[[Row], str] | None = None
    write: Callable[[Sequence[tuple[Question, AnsweredTurn]]], str] | None = None
    every_turn: bool = False
    whole_question: bool = False
    benchmark: str = ""
    suffix: str = ".jsonl"


@dataclass(frozen=True, slots=True)
class PredictionFile:
    """A parsed file of predictions.

    ``stated_accuracy`` is the one that the file itself has, if any, and ``facts`` what it says of its model.
    ``unfinished`` says how many samples it lacks and why; "" if it does not say that it lacks any.
    """

    file: Path
    format: FileFormat
    predictions: tuple[Prediction, ...]
    stated_accuracy: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    unfinished: str = ""


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
    has_texts : bool
        Whether questions can be without an image, so that a file without images has such questions.
    """

    formats: tuple[FileFormat, ...] = ()
    embedded_question: Callable[[Mapping[str, Any], str, str], Question] | None = None
    exported_extra: tuple[str, ...] = ()
    published_label: str = ""
    has_texts: bool = False


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether a value is a number, and not True or False."""
    return isinstance(value, int | float) and not isinstance(value, bool)
