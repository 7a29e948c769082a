"""The passage of a reply that determines a parser's result.

Parsers do not report a passage. It is found by running the parser on parts of the reply: words are removed from the
end, and then from the start, as long as the parser returns the recorded result. What remains is parsed to the same
answer by itself. The search starts at the label or at the whole text of an option, where the passage usually is.

The parser also runs on the whole reply, because a recorded result can be older than the parser or imported. In a table
with many replies that need a passage, it runs on a sample of them (`SAMPLE`). If it returns all recorded results of the
sample, the others are relied on, and the search ends early where the reply has the label once (`_plain_passage`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.records import AnsweredTurn, Question, Reply
from known_unknowns.scoring import PARSERS

SAMPLE, EVERY = 20, 50
"""How many whole replies of a table are parsed again for each parser, before its other results are relied on: at least
`SAMPLE`, and every `EVERY`-th."""
_WORD = re.compile(r"[A-Za-z0-9]+|[^\sA-Za-z0-9]")
_EDGE = " .\n"
_MOST_KEPT, _LONGEST_KEY = 200_000, 200
"""How many passages are kept for equal replies to the same question, and of how long replies."""

Span = tuple[int, int]


class Result(NamedTuple):
    """A parser's result for a reply, with a label, and the labels that the turn offered.

    A result that ``may_be_another`` turn's, one about a view, is never relied on.
    """

    question: Question
    offered: tuple[str, ...] | None
    text: str
    parser: str
    answer: ParsedAnswer
    may_be_another: bool

    @property
    def option(self) -> str:
        """The text of the chosen option."""
        return "" if self.answer.choice is None else self.question.options[self.answer.choice].text


Turns = Callable[[int], AnsweredTurn]
"""Returns the turn of the result with this index."""


class PassageFinder:
    """Finds the passages of the replies of one benchmark, and keeps those of equal replies to the same question."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Span | None] = {}
        self._labels: dict[tuple[object, ...], bool] = {}

    def passages(self, results: Sequence[Result], turns: Turns) -> list[Span | None]:
        """Return the passage of each result of one table; None if the parser does not return this result.

        ``turns`` returns the turn of the result with an index.
        """
        if len(self._found) >= _MOST_KEPT:
            self._found.clear()
        reliable = {
            parser: _is_reliable(results, parser, turns)
            for parser in dict.fromkeys(result.parser for result in results)
        }
        found = []
        for index, result in enumerate(results):
            relied = reliable[result.parser] and not result.may_be_another
            span = _plain_passage(result) if relied else None
            if span and result.text[slice(*span)] == result.answer.label and not self._is_label(result, index, turns):
                span = None
            found.append(span or self._searched(result, index, turns, reliable=relied))
        return found

    def _is_label(self, result: Result, index: int, turns: Turns) -> bool:
        """Whether the parser returns the result for the label alone. It does so for all questions with these labels."""
        question, label = result.question, result.answer.label or ""
        key = (result.parser, label, result.answer.choice, len(question.options), question.refusal, result.offered)
        if key not in self._labels:
            self._labels[key] = _parse(label, question, turns(index), result.parser) == result.answer
        return self._labels[key]

    def _searched(self, result: Result, index: int, turns: Turns, *, reliable: bool) -> Span | None:
        if result.parser not in PARSERS:
            return None
        key = None
        if len(result.text) <= _LONGEST_KEY:
            question = result.question
            asked = (question.text, question.options, question.answer, question.refusal)
            key = (asked, result.offered, result.parser, result.text, result.answer.label, reliable)
            if key in self._found:
                return self._found[key]
        span = passage(turns(index), result.question, result.parser, result.answer, reliable=reliable)
        if key is not None:
            self._found[key] = span
        return span


def _is_reliable(results: Sequence[Result], parser: str, turns: Turns) -> bool:
    """Whether the parser returns the recorded results of a sample of the replies."""
    own = [i for i, result in enumerate(results) if result.parser == parser and not result.may_be_another]
    if parser not in PARSERS or len(own) <= SAMPLE:
        return False
    sample = own[:: min(EVERY, len(own) // SAMPLE)]
    return all(_parse(results[i].text, results[i].question, turns(i), parser) == results[i].answer for i in sample)


def _plain_passage(result: Result) -> Span | None:
    """Return the label if the reply has it once and not after the option's text, or a whole text of the option."""
    label, text, option = result.answer.label, result.text, _bare(result.option)
    if label is None or result.answer.choice is None:
        return None
    places = [match.span() for match in _WORD.finditer(text) if match[0] == label]
    if not places and option and option == _bare(text):
        start = len(text) - len(text.lstrip(_EDGE))
        return start, len(text.rstrip(_EDGE))
    if len(places) == 1 and not (option and option in text[: places[0][0]].casefold()):
        return places[0]
    return None


def _parse(text: str, question: Question, turn: AnsweredTurn, parser: str) -> ParsedAnswer:
    reply = Reply(text, finish=turn.reply.finish)
    part = AnsweredTurn(question.id, turn.turn, turn.step, "", (), turn.labels, "", reply)
    return PARSERS[parser](part, question)


def passage(
    turn: AnsweredTurn, question: Question, parser: str, expected: ParsedAnswer, *, reliable: bool = False
) -> Span | None:
    """Return start and end of the passage of a reply that gives a parser's recorded result, which has a label.

    None if the parser does not return this result. ``reliable`` says that it does for the whole reply.
    """
    text = turn.reply.text
    known = {(0, len(text)): True} if reliable else {}

    def same(start: int, end: int) -> bool:
        if (start, end) not in known:
            known[start, end] = _parse(text[start:end], question, turn, parser) == expected
        return known[start, end]

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
