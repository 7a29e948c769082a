"""The turns and scores of one model's replies, as the shards hold them (DATA.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.benchmark.protocol import ANSWER, VIEW
from known_unknowns.records import AnsweredTurn, Image, Question, Reply, Turn
from known_unknowns.report.browser.columns import AskedQuestions, OrderedTable, coded, log_probabilities
from known_unknowns.report.browser.outcomes import FAILED, REFUSED_RIGHTLY, RIGHT
from known_unknowns.report.browser.passages import PassageFinder, Span, utf16
from known_unknowns.report.private_texts import PrivateTexts
from known_unknowns.scoring import WITHOUT_TEXT

Replay = Callable[[Question, Sequence[AnsweredTurn]], Iterator[Turn]]
"""Yields the turns that a protocol asks after the same replies."""
CHANGED = -1
"""The note of a recorded result that the parser does not return for this reply."""
_COPIED = ("key", "reply", "input_tokens", "visual_tokens", "output_tokens")
_CODED = ("step", "finish", "error")
_CORRECT = (RIGHT, REFUSED_RIGHTLY)


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
    """Turns tables of replies and scores into JSON-able parts, for one benchmark. Parts have the index of a parser."""

    def __init__(self, parsers: Sequence[str], private: PrivateTexts) -> None:
        self._parsers = {parser: index for index, parser in enumerate(parsers)}
        self._private = private
        self._finder = PassageFinder()

    def parts(
        self,
        questions: AskedQuestions,
        replies: OrderedTable,
        scores: OrderedTable,
        codes: Sequence[int],
        shared: Sequence[SharedValues],
        replay: Replay,
    ) -> Iterator[dict[str, Any]]:
        """Yield the turns and scores of each part of the questions of one variant and seed.

        ``codes`` are those of the outcomes of the scores. ``shared`` has the values of each part, with the images of
        its questions. ``replay`` repeats the dialogue of a question, to find the images that a protocol composed.
        """
        turns = _Turns(questions, replies, replay, self._private)
        results = _Results(questions, turns, scores, codes, self._parsers, self._finder)
        parts = zip(replies.parts(questions.size), results.parts(), shared, strict=True)
        for (rows, counts), of_scores, values in parts:
            yield turns.part(rows, counts, values) | {"scores": of_scores}


class _Turns:
    """The columns of a table of replies."""

    def __init__(self, questions: AskedQuestions, replies: OrderedTable, replay: Replay, private: PrivateTexts) -> None:
        self.questions, self.table, self._replay = questions, replies, replay
        self.columns = {name: replies.values(name) for name in replies.table.column_names if name != "logprobs"}
        # Before the passages are found, which are places in the shown text.
        self.columns["reply"] = private.keys_removed_from(self.columns["reply"])
        self.columns["error"] = private.removed_from(self.columns["error"])
        self.labels = [None if labels is None else tuple(labels) for labels in self.columns["labels"]]
        self._logprob_labels, self._edges, self._logprobs = log_probabilities(replies.table)

    def turn(self, row: int) -> AnsweredTurn:
        """A turn without its prompt and images."""
        of = self.columns
        reply = Reply(of["reply"][row], finish=of["finish"][row], error=of["error"][row])
        return AnsweredTurn(
            of["question_id"][row], of["turn"][row], of["step"][row], "", (), self.labels[row], of["key"][row], reply
        )

    def part(self, rows: slice, counts: list[int], shared: SharedValues) -> dict[str, Any]:
        first, last = self._edges[rows.start], self._edges[rows.stop]
        return (
            {"turns": counts}
            | {name: coded(self.columns[name][rows]) for name in _CODED}
            | {name: self.columns[name][rows] for name in _COPIED}
            | {
                "prompt": [shared.prompt(text) for text in self.columns["text"][rows]],
                "images": self._images(rows, shared),
                "labels": coded(self.labels[rows]),
                "logprobs": [*coded(self._logprob_labels[rows]), self._logprobs[first:last]],
            }
        )

    def _images(self, rows: slice, shared: SharedValues) -> list[list[int | str]]:
        """The images of each turn: the index of a shared value, or the sha256 of an image without a record."""
        images, known = self.columns["images"], shared.images
        replayed: set[int] = set()
        found = []
        for row in range(rows.start, rows.stop):
            digests = images[row]
            if (
                any(sha256 not in known for sha256 in digests)
                and (place := int(self.table.places[row])) not in replayed
            ):
                replayed.add(place)
                self._add_composed(place, shared)
            found.append([known.get(sha256, sha256) for sha256 in digests])
        return found

    def _add_composed(self, place: int, shared: SharedValues) -> None:
        question = self.questions.at[place]
        assert question is not None  # OrderedTable has verified it
        first, last = np.searchsorted(self.table.places, [place, place + 1]).tolist()
        shown = {sha256 for digests in self.columns["images"][first:last] for sha256 in digests}
        for turn in self._replay(question, [self.turn(row) for row in range(first, last)]):
            for image in turn.images:
                if image.sha256 in shown:
                    shared.image(image)


class _Results:
    """The columns of a table of scores, with the passages of the replies."""

    def __init__(
        self,
        questions: AskedQuestions,
        turns: _Turns,
        scores: OrderedTable,
        codes: Sequence[int],
        parsers: dict[str, int],
        finder: PassageFinder,
    ) -> None:
        self._questions, self._turns, self._table = questions, turns, scores
        self._places = scores.places.tolist()
        self._names, self._outcomes = scores.values("parser"), scores.values("outcome")
        self._parsers = [parsers[name] for name in self._names]
        self._codes, self._steps = codes, scores.values("step")
        self._labels, self._choices = scores.values("label"), scores.values("choice")
        self._turn_rows = scores.rows_in(turns.table).tolist()
        self._start, self._end = ([-1] * len(codes) for _ in range(2))
        self._notes: dict[int, int] = {}
        self._find_passages(finder)

    def parts(self) -> Iterator[dict[str, Any]]:
        turns = self._table.turns.tolist()
        for rows, counts in self._table.parts(self._questions.size):
            yield {
                "counts": counts,
                "turn": turns[rows],
                "parser": self._parsers[rows],
                "outcome": self._codes[rows],
                "label": coded(self._labels[rows]),
                "choice": self._choices[rows],
                "start": self._start[rows],
                "end": self._end[rows],
                "notes": [
                    [row - rows.start, self._notes[row]] for row in range(rows.start, rows.stop) if row in self._notes
                ],
            }

    def _find_passages(self, finder: PassageFinder) -> None:
        rows = zip(self._labels, self._choices, self._codes, self._names, self._turn_rows, strict=True)
        for row, (label, choice, code, name, turn_row) in enumerate(rows):
            if label is None or code == FAILED or name in WITHOUT_TEXT:
                continue
            text = self._turns.columns["reply"][turn_row]
            span: Span | None = (0, len(text))
            if text != label or choice is None:
                question = self._questions.at[self._places[row]]
                assert question is not None  # OrderedTable has verified it
                answer = ParsedAnswer(self._outcomes[row], label, choice)
                span = finder(self._turns.turn(turn_row), question, name, answer)
            if span is None:
                self._notes[row] = self._view_of(row)
            else:
                self._start[row], self._end[row] = (utf16(text, place) for place in span)

    def _view_of(self, row: int) -> int:
        """The turn about a view whose result the final answer has, or `CHANGED`."""
        if self._steps[row] != ANSWER or self._codes[row] not in _CORRECT:
            return CHANGED
        found = CHANGED
        for other in range(row - 1, -1, -1):
            if self._places[other] != self._places[row]:
                break
            if self._steps[other] == VIEW and self._key(other) == self._key(row):
                found = int(self._table.turns[other])
        return found

    def _key(self, row: int) -> tuple[str, str | None, int | None]:
        return self._names[row], self._labels[row], self._choices[row]
