"""Metrics that one benchmark adds to those of all benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from known_unknowns import benchmarks
from known_unknowns.records import FAILED, AnsweredTurn, Metric, Question, Score

if TYPE_CHECKING:
    from known_unknowns.metrics.proportions import Ratio
    from known_unknowns.metrics.selective import RiskCoverage


@dataclass(frozen=True)
class Scored:
    """One variant and seed as one scorer read it: parallel sequences, one entry a question.

    ``answers`` are the turns that answer, ``readings`` what the scorer made of them, and ``later`` what it made of
    the other turns, by step ("forced"); ``dialogues`` are all turns, in the order asked.
    """

    scorer: str
    questions: Sequence[Question]
    answers: Sequence[AnsweredTurn]
    readings: Sequence[Score]
    later: Sequence[Mapping[str, Score]] = field(default=())
    dialogues: Sequence[Sequence[AnsweredTurn]] = field(default=())

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


def _no_categories(questions: Sequence[Question]) -> Mapping[str, np.ndarray]:
    return {}


def _no_ratios(scored: Scored) -> Mapping[str, Ratio]:
    return {}


def _no_curves(scored: Scored) -> Mapping[str, RiskCoverage]:
    return {}


def _nothing_derived(metrics: Mapping[str, Metric]) -> Iterable[Metric]:
    return ()


@dataclass(frozen=True, slots=True)
class BenchmarkMetrics:
    """What one benchmark counts besides the metrics of all benchmarks.

    What the functions return gets intervals, means over seeds and categories like every other metric.

    Attributes
    ----------
    categories : callable
        ``(questions) -> {name: flags}``: further sets of questions, each an array of shape (questions,).
    ratios : callable
        ``(scored) -> {name: Ratio}``: numerators and denominators, arrays of shape (questions,).
    risk_coverage : callable
        ``(scored) -> {name: RiskCoverage}``: curves whose area is a metric.
    across_seeds : callable, optional
        ``(seeds) -> {name: Ratio}``: what only several seeds of one variant can tell, given the `Scored` of each in
        the same order of questions. Such a metric has no row for a single seed.
    derived : callable
        ``(metrics) -> iterable of Metric``: numbers that follow from those of one category, given by name.
    """

    categories: Callable[[Sequence[Question]], Mapping[str, np.ndarray]] = _no_categories
    ratios: Callable[[Scored], Mapping[str, Ratio]] = _no_ratios
    risk_coverage: Callable[[Scored], Mapping[str, RiskCoverage]] = _no_curves
    across_seeds: Callable[[Sequence[Scored]], Mapping[str, Ratio]] | None = None
    derived: Callable[[Mapping[str, Metric]], Iterable[Metric]] = _nothing_derived


def of(benchmark: str) -> BenchmarkMetrics:
    """Return the benchmark's metrics; empty ones if it has none."""
    found = benchmarks.get(benchmark).metrics
    return found.get() if found else BenchmarkMetrics()
