"""The simulation of planned samples, in small."""

from __future__ import annotations

import numpy as np
import pytest

from bench.plan import simulate
from known_unknowns.metrics.power import sample_power


def test_a_sample_shows_a_difference_as_often_as_planned():
    """300 of 600 single questions, 7 points: 250 samples have a standard error of 2.6 points."""
    rng = np.random.default_rng(5)
    questions = simulate.questions_of(simulate.Benchmark("small", 600, 600, 2, 0.2), rng)
    answers = simulate.answers_of(questions, 0.6, 0.0, 0.0, rng)
    assert answers.mean() == pytest.approx(0.6, abs=0.06)
    shown, wrong = simulate.simulated(questions, answers, 300, (0.07, 0.0), 250)
    planned = sample_power([1] * 300, 600, 0.07, accuracy=0.6)
    assert shown == pytest.approx(planned, abs=0.09)
    assert wrong < 0.1


def test_the_populations_have_the_correlation_and_the_strata_of_the_table():
    rng = np.random.default_rng(6)
    questions = simulate.questions_of(simulate.Benchmark("pairs", 3000, 6000, 2, 0.0), rng)
    answers = simulate.answers_of(questions, 0.5, 0.4, 0.2, rng)
    first, second = (answers[[q.category == f"type {n}" for q in questions]].mean() for n in (0, 1))
    assert (first, second) == (pytest.approx(0.3, abs=0.04), pytest.approx(0.7, abs=0.04))
    even = simulate.answers_of(questions, 0.5, 0.4, 0.0, rng).astype(float)
    groups: dict[str, list[float]] = {}
    for question, answer in zip(questions, even, strict=True):
        groups.setdefault(question.group, []).append(answer)
    pairs = np.array([values[:2] for values in groups.values() if len(values) > 1])
    assert np.corrcoef(pairs.T)[0, 1] == pytest.approx(0.4, abs=0.08)
