"""The passage of a reply that determines a parser's result.

Parsers do not report a passage. It is found by running the parser on parts of the reply: words are removed from the
end, and then from the start, as long as the parser returns the recorded result. What remains is parsed to the same
answer by itself. The search starts at the label or at the whole text of an option, where the passage usually is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

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

    @cache
    def same(start: int, end: int) -> bool:
        reply = Reply(text[start:end], finish=turn.reply.finish)
        part = AnsweredTurn(question.id, turn.turn, turn.step, "", (), turn.labels, "", reply)
        return parse(part, question) == expected

    if not same(0, len(text)):
        return None
    words = [match.span() for match in _WORD.finditer(text)] or [(0, len(text))]
    places = (count for count, word in enumerate(words, 1) if text[slice(*word)] == expected.label)
    label = next(places, None)
    option = "" if expected.choice is None else question.options[expected.choice].text
    whole = len(words) if _bare(option) == _bare(text) else 0
    last = _fewest(len(words), lambda count: same(0, words[count - 1][1]), label or whole)
    end = words[last - 1][1]
    kept = _fewest(last, lambda count: same(words[last - count][0], end), 1 if label else min(whole, last) or 1)
    start = words[last - kept][0]
    return (start, end) if same(start, end) else (0, len(text))


def _bare(text: str) -> str:
    return text.strip(" .\n").casefold()


def _fewest(most: int, holds: Callable[[int], bool], guess: int) -> int:
    """Return a count of at least 1 at which ``holds`` is true and is false for one less, by bisection after a guess.

    A guess of 0 is none.
    """
    if guess and holds(guess) and (guess == 1 or not holds(guess - 1)):
        return guess
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def utf16(text: str, place: int) -> int:
    """Return a place in a text as JavaScript counts it, in UTF-16 code units."""
    return place if text.isascii() else len(text[:place].encode("utf-16-le")) // 2
