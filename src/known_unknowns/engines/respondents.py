"""Respondents: scripted engines that are the ceiling, the floor and the chance line of every table.

They read the answer key that protocols put into a turn, which no model sees. Their option log-probabilities say
0.9 for what they reply, and share the rest among the other options on offer.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from known_unknowns import __version__
from known_unknowns.records import Reply, Turn

_CONFIDENCE = 0.9


def _oracle(turn: Turn) -> str:
    return turn.right


def _always_refuse(turn: Turn) -> str:
    return turn.refuse


def _always_a(turn: Turn) -> str:
    return "A"


def _uniform(turn: Turn) -> str:
    if not turn.labels:
        return ""
    return random.Random(f"{turn.seed}:{turn.question_id}:{turn.step}").choice(turn.labels)


BEHAVIOURS: dict[str, Callable[[Turn], str]] = {
    "oracle": _oracle,
    "always_refuse": _always_refuse,
    "always_a": _always_a,
    "uniform": _uniform,
}


class Respondent:
    """An engine that follows one of `BEHAVIOURS`. ``seconds_per_reply`` makes it as slow as a model."""

    scripted = True

    def __init__(self, name: str, entry: Mapping[str, Any]) -> None:
        self._reply_to = BEHAVIOURS[entry["behaviour"]]
        self._pace = float(entry.get("seconds_per_reply", 0.0))
        self.facts = {"engine": "respondent", "behaviour": entry["behaviour"]}
        self.about = {"known_unknowns": __version__}

    def answer(self, turns: Sequence[Turn], *, folder: Path) -> Iterator[list[tuple[int, Reply]]]:
        for batch in _batched(list(enumerate(turns)), 4 if self._pace else 256):
            if self._pace:
                time.sleep(self._pace * len(batch))
            yield [(index, self._reply(turn)) for index, turn in batch]

    def _reply(self, turn: Turn) -> Reply:
        text = self._reply_to(turn)
        return Reply(text, logprobs=_logprobs(text, turn.labels), seconds=self._pace)


def _logprobs(text: str, labels: tuple[str, ...] | None) -> dict[str, float] | None:
    if not labels or text not in labels:
        return None
    rest = math.log((1 - _CONFIDENCE) / (len(labels) - 1)) if len(labels) > 1 else 0.0
    return {label: round(math.log(_CONFIDENCE) if label == text else rest, 6) for label in labels}


def _batched(items: list, size: int) -> Iterator[list]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
