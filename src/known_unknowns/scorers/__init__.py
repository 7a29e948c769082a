"""Scorers: how a reply is read. All configured ones are always computed, so that a number that depends on the
reader is seen to depend on it.

A scorer is a function of a row of the table of replies and of its question, and returns a `Reading`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from known_unknowns.records import ANSWERED, REFUSED, UNPARSED, Asked, Question


@dataclass(frozen=True, slots=True)
class Reading:
    """``letter`` is what was read, if anything; ``choice`` is its index among the options on offer, if it is one."""

    outcome: str
    letter: str | None = None
    choice: int | None = None


def read_letter(letter: str | None, question: Question) -> Reading:
    """The reading of one letter: answered, refused, or unparsed when it is None or was not on offer."""
    choice = None if letter is None else question.index_of(letter)
    if choice is None:
        return Reading(UNPARSED, letter)
    return Reading(REFUSED if choice == question.refusal else ANSWERED, letter, choice)


Scorer = Callable[[Asked, Question], Reading]
