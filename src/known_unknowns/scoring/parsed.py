"""What a scorer returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from known_unknowns.records import ANSWERED, REFUSED, UNPARSED, Asked, Option, Question


@dataclass(frozen=True, slots=True)
class Parsed:
    """``letter`` is what was read, if anything; ``choice`` is its index among the options on offer, if it is one."""

    outcome: str
    letter: str | None = None
    choice: int | None = None


def parse_letter(letter: str | None, question: Question) -> Parsed:
    """The reading of one letter: answered, refused, or unparsed when it is None or was not on offer."""
    choice = None if letter is None else question.index_of(letter)
    if choice is None:
        return Parsed(UNPARSED, letter)
    return Parsed(REFUSED if choice == question.refusal else ANSWERED, letter, choice)


def on_offer(asked: Asked, question: Question) -> tuple[Option, ...]:
    """The options that this turn offered: a later turn may leave some out (a forced choice the refusal)."""
    if asked.letters is None:
        return question.options
    return tuple(option for option in question.options if option.letter in asked.letters)


Scorer = Callable[[Asked, Question], Parsed]
