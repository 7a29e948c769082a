"""The result of a parser, and helpers for parsers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from known_unknowns.benchmark.image_places import seen_texts
from known_unknowns.records import ANSWERED, REFUSED, UNPARSED, AnsweredTurn, Option, Question


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """The answer that a parser parses from a reply.

    Parameters
    ----------
    outcome : str
        One of `known_unknowns.records.OUTCOMES`.
    label : str, optional
        The label that was parsed, even if the turn did not offer it, or `known_unknowns.records.NOT_OFFERED`.
    choice : int, optional
        Index of the option among the question's options; None unless the outcome is "answered" or "refused".
    """

    outcome: str
    label: str | None = None
    choice: int | None = None


Parser = Callable[[AnsweredTurn, Question], ParsedAnswer]
"""Parses the reply of a turn of a question."""


def parse_label(label: str | None, question: Question) -> ParsedAnswer:
    """Return the answer that a label stands for.

    Parameters
    ----------
    label : str, optional
        The label that was parsed.
    question : Question
        The question whose options the label refers to.

    Returns
    -------
    ParsedAnswer
        Answered or refused; unparsed if the label is None or not one of the question's labels.
    """
    choice = None if label is None else question.index_of(label)
    if choice is None:
        return ParsedAnswer(UNPARSED, label)
    return ParsedAnswer(REFUSED if choice == question.refusal else ANSWERED, label, choice)


def offered_options(turn: AnsweredTurn, question: Question) -> tuple[Option, ...]:
    """Return the options that a turn offered, with the texts that a model can know (`seen_texts`).

    A later turn may omit some, such as the refusal in a forced choice.
    """
    offered = question.options
    if turn.labels is not None:
        offered = tuple([option for option in offered if option.label in turn.labels])
    return seen_texts(offered, question, turn.images)
