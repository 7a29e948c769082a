"""The passage of a reply that determines a parser's result.

Parsers do not report a passage. It is found by running the parser on parts of the reply. If the first word is the label
and gives the recorded result, it is the passage. Otherwise words are removed from the end, and then from the start, as
long as the parser returns that result. What remains is parsed to the same answer by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from known_unknowns.records import AnsweredTurn, Question, Reply
from known_unknowns.scoring import SCORERS, ParsedAnswer

WITHOUT_TEXT = frozenset({"likelihood"})
"""Scorers that do not parse the text of a reply."""
_WORD = re.compile(r"[A-Za-z0-9]+|[^\sA-Za-z0-9]")

Span = tuple[int, int]


def passage(turn: AnsweredTurn, question: Question, scorer: str, expected: ParsedAnswer) -> Span | None:
    """Return the passage of a reply that gives a parser's result.

    Parameters
    ----------
    turn : AnsweredTurn
        A turn whose reply did not fail.
    question : Question
        The turn's question.
    scorer : str
        Name of a scorer of texts.
    expected : ParsedAnswer
        The recorded result, with a label.

    Returns
    -------
    tuple of (int, int) or None
        Start and end in the reply's text; None if the parser does not return the recorded result.
    """
    text = turn.reply.text
    parse = SCORERS[scorer]

    def same(start: int, end: int) -> bool:
        reply = Reply(text[start:end], finish=turn.reply.finish)
        part = AnsweredTurn(question.id, turn.turn, turn.step, "", (), turn.labels, "", reply)
        return parse(part, question) == expected

    if not same(0, len(text)):
        return None
    words = [match.span() for match in _WORD.finditer(text)]
    if not words:
        return 0, len(text)
    start, end = words[0]
    if text[start:end] == expected.label and same(start, end):
        return start, end
    last = _fewest(len(words), lambda count: same(0, words[count - 1][1]))
    end = words[last - 1][1]
    kept = _fewest(last, lambda count: same(words[last - count][0], end))
    return words[last - kept][0], end


def _fewest(most: int, holds: Callable[[int], bool]) -> int:
    """Return a count of at least 1, found by bisection, at which ``holds`` is true and is false for one less."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def utf16(text: str, place: int) -> int:
    """Return a place in a text as JavaScript counts it, in UTF-16 code units."""
    return place if text.isascii() else len(text[:place].encode("utf-16-le")) // 2
