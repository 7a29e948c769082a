"""The turns and scores of one question, as the shards hold them (docs/question_browser.md, "Data format")."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from known_unknowns.protocols import ANSWER, VIEW
from known_unknowns.records import FAILED, AnsweredTurn, Image, Question, Score, Turn
from known_unknowns.report.browser.outcomes import code_of
from known_unknowns.report.browser.passages import WITHOUT_TEXT, Span, passage, utf16
from known_unknowns.scoring import SCORERS, ParsedAnswer

Replay = Callable[[Question, Sequence[AnsweredTurn]], Iterator[Turn]]
"""Yields the turns that a protocol asks after the same replies."""
_MOST_KEPT, _LONGEST_KEY = 100_000, 200
"""How many passages are kept for equal replies to the same options, and of how long replies."""
CHANGED = -1
"""The note of a recorded result that the parser does not return for this reply."""


@dataclass
class SharedValues:
    """Prompts and images of one part of the questions, which the replies of all models refer to by their index."""

    prompts: dict[str, int] = field(default_factory=dict)
    images: dict[str, int] = field(default_factory=dict)
    image_records: list[Image] = field(default_factory=list)

    def prompt(self, text: str) -> int:
        return self.prompts.setdefault(text, len(self.prompts))

    def image(self, image: Image) -> int:
        if image.sha256 not in self.images:
            self.images[image.sha256] = len(self.image_records)
            self.image_records.append(image)
        return self.images[image.sha256]


class DialogueWriter:
    """Turns answered turns and scores into JSON-able rows. One object serves one benchmark.

    Parameters
    ----------
    scorers : sequence of str
        Names of the scorers; rows refer to them by their index.
    """

    def __init__(self, scorers: Sequence[str]) -> None:
        self._scorers = {scorer: index for index, scorer in enumerate(scorers)}
        self._options: dict[tuple[Any, ...], int] = {}
        self._passages: dict[tuple[Any, ...], Span | None] = {}

    def row(
        self,
        question: Question,
        turns: Sequence[AnsweredTurn],
        scores: Sequence[Score],
        shared: SharedValues,
        replay: Replay,
    ) -> list[Any]:
        """Return the row of a question: its turns and their scores."""
        if max(len(self._passages), len(self._options)) >= _MOST_KEPT:
            self._passages.clear()
            self._options.clear()
        options = self._options.setdefault((question.options, question.answer, question.refusal), len(self._options))
        known = {image.sha256: image for image in question.images}
        if any(sha256 not in known for turn in turns for sha256 in turn.images):
            for replayed in replay(question, turns):
                known |= {image.sha256: image for image in replayed.images}
        by_turn = {turn.turn: turn for turn in turns}
        return [
            [_turn(turn, known, shared) for turn in turns],
            [
                self._score(question, options, by_turn[score.turn], score, scores)
                for score in scores
                if score.turn in by_turn and score.scorer in self._scorers
            ],
        ]

    def _score(
        self, question: Question, options: int, turn: AnsweredTurn, score: Score, scores: Sequence[Score]
    ) -> list[Any]:
        """Return [turn, scorer, outcome, label, choice, start, end, note]; empty values at the end are left out."""
        row = [
            score.turn, self._scorers[score.scorer], code_of(score.outcome, score.correct), score.label, score.choice,
        ]  # fmt: skip
        if score.outcome == FAILED or score.label is None or score.scorer in WITHOUT_TEXT:
            return row
        found = self._passage(question, options, turn, score)
        if found is not None:
            return [*row, *(utf16(turn.reply.text, place) for place in found)]
        return [*row, None, None, _view_of(score, scores)]

    def _passage(self, question: Question, options: int, turn: AnsweredTurn, score: Score) -> Span | None:
        text = turn.reply.text
        if text == score.label and score.choice is not None:
            return 0, len(text)
        if len(text) > _LONGEST_KEY:
            return self._found(question, turn, score)
        key = (options, turn.labels, score.scorer, text, score.label)
        if key not in self._passages:
            self._passages[key] = self._found(question, turn, score)
        return self._passages[key]

    @staticmethod
    def _found(question: Question, turn: AnsweredTurn, score: Score) -> Span | None:
        if score.scorer not in SCORERS:
            return None
        return passage(turn, question, score.scorer, ParsedAnswer(score.outcome, score.label, score.choice))


def _view_of(score: Score, scores: Sequence[Score]) -> int:
    """The turn about a view whose result the final answer has, or `CHANGED`."""
    if score.step == ANSWER and score.correct:
        for other in scores:
            same = (other.scorer, other.label, other.choice) == (score.scorer, score.label, score.choice)
            if other.step == VIEW and same and other.turn < score.turn:
                return other.turn
    return CHANGED


def _turn(turn: AnsweredTurn, known: dict[str, Image], shared: SharedValues) -> list[Any]:
    reply = turn.reply
    logprobs = reply.logprobs and [[label, _number(value)] for label, value in reply.logprobs.items()]
    return [
        turn.step,
        shared.prompt(turn.text),
        [shared.image(known[sha256]) if sha256 in known else sha256 for sha256 in turn.images],
        None if turn.labels is None else list(turn.labels),
        turn.key,
        reply.text,
        logprobs or None,
        [reply.input_tokens, reply.visual_tokens, reply.output_tokens],
        reply.finish,
        reply.error,
    ]


def _number(value: float) -> float | None:
    """A log-probability with four decimals; None if it is not finite, which JSON cannot express."""
    return round(value, 4) if abs(value) < float("inf") else None
