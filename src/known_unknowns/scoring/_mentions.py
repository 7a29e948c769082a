"""A mention of an option's text in its clause, for `known_unknowns.scoring._relevance`."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

NEARBY = 300
"""Number of characters before and after a mention that are analysed, so that the time is linear."""


class Rule(Enum):
    """How a mention has to be said of what the question asks."""

    POSSIBLE = "nothing shows that it is said of something else"
    EXPLAINED = "its clause leaves no word unexplained"
    RESTATED = "its clause is the question as a statement"


class Mention(NamedTuple):
    """A text's mark in its clause: the clause before and after the mark, and what precedes and follows the clause."""

    before: str
    after: str
    sentence: str
    rest: str
