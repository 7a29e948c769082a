"""The passage of a reply that determines a parser's result.

Parsers do not report a passage. It is found by running the parser on parts of the reply: words are removed from the
end, and then from the start, as long as the parser returns the recorded result. What remains is parsed to the same
answer by itself. The search starts at the label or at the whole text of an option, where the passage usually is.

The parser also runs on the whole reply, because a recorded result can be older than the parser or imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.records import AnsweredTurn, Question, Reply
from known_unknowns.scoring import PARSERS

_WORD = re.compile(r"[A-Za-z0-9]+|[^\sA-Za-z0-9]")
_EDGE = " .\n"
_MOST_KEPT, _LONGEST_KEY = 200_000, 200
"""How many passages are kept for equal replies to the same question, and of how long replies."""

Span = tuple[int, int]


class PassageFinder:
    """Finds the passages of the replies of one benchmark, and keeps those of equal replies to the same question."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Span | None] = {}

    def __call__(self, turn: AnsweredTurn, question: Question, parser: str, expected: ParsedAnswer) -> Span | None:
        """Return the `passage` of a result; None for a parser that does not parse texts."""
        text = turn.reply.text
        if parser not in PARSERS:
            return None
        if len(text) > _LONGEST_KEY:
            return passage(turn, question, parser, expected)
        asked = (question.text, question.options, question.answer, question.refusal)
        key = (asked, turn.labels, parser, text, turn.reply.finish, expected)
        if key not in self._found:
            if len(self._found) >= _MOST_KEPT:
                self._found.clear()
            self._found[key] = passage(turn, question, parser, expected)
        return self._found[key]


def passage(turn: AnsweredTurn, question: Question, parser: str, expected: ParsedAnswer) -> Span | None:
    """Return start and end of the passage of a reply that gives a parser's recorded result, which has a label.

    None if the parser does not return this result for the reply, which did not fail.
    """
    text = turn.reply.text

    @cache
    def same(start: int, end: int) -> bool:
        reply = Reply(text[start:end], finish=turn.reply.finish)
        part = AnsweredTurn(question.id, turn.turn, turn.step, "", (), turn.labels, "", reply)
        return PARSERS[parser](part, question) == expected

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
    return text.strip(_EDGE).casefold()


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
