"""Scripted respondents: baselines that bound the scores of models from above and below.

They receive the answer key of each turn, which engines of real models never see. Their log-probabilities give 0.9 to
the option that they reply with, and share the rest among the other options on offer.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from known_unknowns.config import RespondentModel
from known_unknowns.records import AnswerKey, Reply, Turn
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
    return random.Random(f"{turn.seed}:{turn.question_id}:{turn.step}").choice(turn.labels)


BEHAVIOURS: dict[str, Callable[[Turn, AnswerKey], str]] = {
    "oracle": _oracle,
    "always_refuse": _always_refuse,
    "always_a": _always_a,
    "uniform": _uniform,
}


class Respondent:
    """A `ScriptedEngine` that follows one of `BEHAVIOURS`. ``seconds_per_reply`` simulates the speed of a model."""

    scripted = True

    def __init__(self, name: str, entry: RespondentModel) -> None:
        self._reply_to = BEHAVIOURS[entry.behaviour]
        self._pace = float(entry.seconds_per_reply)
        self.facts: Mapping[str, Any] = {"engine": "respondent", "behaviour": entry.behaviour}
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
        text = self._reply_to(turn, key)
        return Reply(text, logprobs=_logprobs(text, turn.labels), seconds=self._pace)


def _logprobs(text: str, labels: tuple[str, ...] | None) -> Mapping[str, float] | None:
    if not labels or text not in labels:
        return None
    rest = math.log((1 - _CONFIDENCE) / (len(labels) - 1)) if len(labels) > 1 else 0.0
    return {label: round(math.log(_CONFIDENCE) if label == text else rest, 6) for label in labels}


def _batched(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
