"""What a scorer returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from known_unknowns.records import ANSWERED, REFUSED, UNPARSED, AnsweredTurn, Option, Question


@dataclass(frozen=True, slots=True)
class Parsed:
    """``label`` is what was read, if anything; ``choice`` is its index among the options on offer, if it is one."""

    outcome: str
    label: str | None = None
    choice: int | None = None


def parse_label(label: str | None, question: Question) -> Parsed:
    """The reading of one letter: answered, refused, or unparsed when it is None or was not on offer."""
    choice = None if label is None else question.index_of(label)
    if choice is None:
        return Parsed(UNPARSED, label)
    return Parsed(REFUSED if choice == question.refusal else ANSWERED, label, choice)


def on_offer(asked: AnsweredTurn, question: Question) -> tuple[Option, ...]:
    """The options that this turn offered: a later turn may leave some out (a forced choice the refusal)."""
    if asked.labels is None:
        return question.options
    return tuple(option for option in question.options if option.label in asked.labels)


Scorer = Callable[[AnsweredTurn, Question], Parsed]
