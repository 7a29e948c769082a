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
