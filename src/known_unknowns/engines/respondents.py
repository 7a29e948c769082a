"""Scripted respondents: baselines that bound the scores of models from above and below.

They receive the answer key of each turn, which engines of real models never see. Their log-probabilities give their
confidence (0.9, if the behaviour has none of its own) to the option that they reply with, and share the rest among the
other options on offer.

Three behaviours have a known calibration. With confidence c, drawn for each question, an answer is right with
probability c (calibrated), c - 0.25 (overconfident), or 0.5 (uninformative). They refuse where that is right, whatever
was drawn: of right and wrong answers there, only the wrong ones would be attempts.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from known_unknowns.benchmark.protocol import ANSWER, CONFIDENCE
from known_unknowns.config import RespondentModel
from known_unknowns.records import AnswerKey, Continuation, Reply, Turn
from known_unknowns.version import __version__

T = TypeVar("T")

_CONFIDENCE = 0.9


def _oracle(turn: Turn, key: AnswerKey) -> str:
    return key.right


def _always_refuse(turn: Turn, key: AnswerKey) -> str:
    return key.refuse


def _always_a(turn: Turn, key: AnswerKey) -> str:
    """The label "A", even where it was removed; for other labels (yes/no, 1 to 4) the first one."""
    lettered = turn.labels is None or all(len(label) == 1 and label.isupper() for label in turn.labels)
    return "A" if lettered or not turn.labels else turn.labels[0]


def _uniform(turn: Turn, key: AnswerKey) -> str:
    if not turn.labels:
        return ""
    # protocols that show other images of a question get other draws, so that their scores are not all the same
    shown = ",".join(image.sha256 for image in turn.images)
    return random.Random(f"{turn.scripted_seed}:{turn.question_id}:{turn.step}:{shown}").choice(turn.labels)


CALIBRATIONS: dict[str, Callable[[int], tuple[int, int]]] = {
    "calibrated": lambda drawn: (drawn, drawn),
    "overconfident": lambda drawn: (3 * drawn // 4, 3 * drawn // 4 + 25),
    "uninformative": lambda drawn: (50, drawn),
}
"""The probability of a right answer and the stated confidence, in percent, by a number from 1 to 99."""


def _calibration(behaviour: str, turn: Turn) -> tuple[int, int]:
    return CALIBRATIONS[behaviour](random.Random(f"{behaviour}:{turn.question_id}").randint(1, 99))


def _calibrated(behaviour: str, turn: Turn, key: AnswerKey) -> str:
    right, stated = _calibration(behaviour, turn)
    if turn.step == CONFIDENCE:
        return f"Confidence: {stated}%"
    if key.refuse and key.right == key.refuse:
        return key.refuse
    draw = random.Random(f"{behaviour}:{turn.scripted_seed}:{turn.question_id}")
    if 100 * draw.random() < right or not turn.labels:
        return key.right
    wrong = [label for label in turn.labels if label not in (key.right, key.refuse)]
    return draw.choice(wrong or [label for label in turn.labels if label != key.right] or turn.labels)


BEHAVIOURS: dict[str, Callable[[Turn, AnswerKey], str]] = {
    "oracle": _oracle,
    "always_refuse": _always_refuse,
    "always_a": _always_a,
    "uniform": _uniform,
    **{name: partial(_calibrated, name) for name in CALIBRATIONS},
}


class Respondent:
    """A `ScriptedEngine` that follows one of `BEHAVIOURS`. ``seconds_per_reply`` simulates the speed of a model."""

    scripted = True

    def __init__(self, name: str, entry: RespondentModel) -> None:
        self._behaviour = entry.behaviour
        self._pace = float(entry.seconds_per_reply)
        self.facts: Mapping[str, Any] = {"engine": "respondent", "behaviour": entry.behaviour}
        if entry.behaviour == "uniform":
            self.facts = {**self.facts, "draws": "by question, turn and images"}
        if entry.behaviour in CALIBRATIONS:
            self.facts = {**self.facts, "where the refusal is right": "refuses"}
        self.about: Mapping[str, Any] = {"known_unknowns": __version__}
        self.notes: Path | None = None

    def answer_with_keys(
        self, turns: Sequence[Turn], keys: Sequence[AnswerKey], *, folder: Path
    ) -> Iterator[list[tuple[int, Reply]]]:
        for batch in _batched(list(enumerate(zip(turns, keys, strict=True))), 4 if self._pace else 256):
            if self._pace:
                time.sleep(self._pace * len(batch))
            yield [(index, self._reply(turn, key)) for index, (turn, key) in batch]

    def _reply(self, turn: Turn, key: AnswerKey) -> Reply:
        asked = turn if turn.continuations is None else replace(turn, step=ANSWER)
        text = BEHAVIOURS[self._behaviour](asked, key)
        stated = _calibration(self._behaviour, turn)[1] / 100 if self._behaviour in CALIBRATIONS else _CONFIDENCE
        logprobs = _logprobs(text, turn.labels, stated)
        if turn.continuations is None:
            return Reply(text, logprobs=logprobs, seconds=self._pace)
        found = {label: Continuation(value, 1) for label, value in (logprobs or {}).items()}
        return Reply("", continuations=found, seconds=self._pace)


def _logprobs(text: str, labels: tuple[str, ...] | None, confidence: float) -> Mapping[str, float] | None:
    if not labels or text not in labels:
        return None
    rest = math.log((1 - confidence) / (len(labels) - 1)) if len(labels) > 1 else 0.0
    return {label: round(math.log(confidence) if label == text else rest, 6) for label in labels}


def _batched(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
