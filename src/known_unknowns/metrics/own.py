"""What a benchmark counts besides the metrics that all benchmarks have.

A benchmark may have a metrics module (`known_unknowns.benchmarks.metrics`) with any of these functions; what they
return gets its intervals, its means over seeds and its categories like every other metric.

- ``categories(questions) -> {name: flags}``: further sets of questions, each an array (questions,);
- ``ratios(scored) -> {name: Ratio}``: numerators and denominators, arrays (questions,);
- ``risk_coverage(scored) -> {name: RiskCoverage}``: curves whose area is a metric;
- ``across_seeds(seeds) -> {name: Ratio}``: what only several seeds of one variant can tell, given the `Scored` of each
  in the same order of questions; such a metric has no row for a single seed;
- ``derived(metrics) -> iterable of Metric``: numbers that follow from those of one category, given by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from known_unknowns import benchmarks
from known_unknowns.records import FAILED, Asked, Metric, Question, Score


@dataclass(frozen=True)
class Scored:
    """One variant and seed as one scorer read it: parallel sequences, one entry a question.

    ``answers`` are the turns that answer, ``readings`` what the scorer made of them, and ``later`` what it made of
    the other turns, by step ("forced"); ``dialogues`` are all turns, in the order asked.
    """

    scorer: str
    questions: Sequence[Question]
    answers: Sequence[Asked]
    readings: Sequence[Score]
    later: Sequence[Mapping[str, Score]] = field(default=())
    dialogues: Sequence[Sequence[Asked]] = field(default=())

    @property
    def outcome(self) -> np.ndarray:
        return np.array([score.outcome for score in self.readings])

    @property
    def correct(self) -> np.ndarray:
        return np.array([score.correct for score in self.readings], dtype=bool)

    @property
    def texts(self) -> list[str]:
        """The raw replies, "" where one failed."""
        return ["" if asked.reply.error is not None else asked.reply.text for asked in self.answers]

    def step(self, name: str) -> list[Score | None]:
        """The reading of a later step of each question; None where it was not taken."""
        return [scores.get(name) for scores in self.later]

    @property
    def failed(self) -> np.ndarray:
        return self.outcome == FAILED


def function(benchmark: str, name: str) -> Callable[..., Any] | None:
    """A function of the benchmark's metrics module; None where it has none."""
    return getattr(benchmarks.metrics(benchmark), name, None)


def mapping(benchmark: str, name: str, argument: Any) -> Mapping[str, Any]:
    """What a function of the benchmark's metrics module returns; nothing where it has none."""
    count = function(benchmark, name)
    return {} if count is None else count(argument)


def derived(benchmark: str, metrics: Mapping[str, Metric]) -> Iterable[Metric]:
    compute = function(benchmark, "derived")
    return () if compute is None else compute(metrics)
