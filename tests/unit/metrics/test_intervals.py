from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from known_unknowns.metrics.intervals import (
    FEWEST_GROUPS,
    Interval,
    clustered_interval,
    group_weights,
    ratio_replicates,
    share_interval,
    wilson,
)


@pytest.mark.parametrize("n", [1, 2, 7, 30, 22_831])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_wilson_is_scipys(n, confidence):
    for successes in {0, 1, n // 3, n - 1, n}:
        expected = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
        assert wilson(successes / n, n, confidence) == pytest.approx((expected.low, expected.high), abs=1e-12)


@given(st.integers(1, 500), st.floats(0, 1))
def test_wilson_contains_the_share_and_has_a_width(n, share):
    low, high = wilson(share, n, 0.95)
    assert 0 <= low <= share <= high <= 1
    assert low < high


def test_weights_draw_as_many_groups_as_there_are():
    weights = group_weights(7, 500, seed=3)
    assert weights.shape == (500, 7)
    assert (weights.sum(axis=1) == 7).all()
    assert weights.mean() == 1
    assert (group_weights(7, 500, seed=3) == weights).all()
    assert (group_weights(7, 500, seed=4) != weights).any()


def clusters(groups: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums per group of questions that are alike within their group: (groups,) each, of 1 to 8 questions."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 9, groups)
    return generator.binomial(sizes, generator.beta(1, 1, groups)).astype(float), sizes.astype(float)


@pytest.mark.parametrize("groups", [25, 200])
def test_the_bootstrap_is_scipys(groups):
    """Other draws, the same distribution: the ends agree to a small part of the interval's width."""
    right, asked = clusters(groups, seed=1)
    value = right.sum() / asked.sum()
    replicates = ratio_replicates(group_weights(groups, 20_000, seed=0), right[:, None], asked[:, None])[:, 0]
    ours = share_interval(value, asked, replicates, confidence=0.9, bootstrap="bootstrap")
    theirs = stats.bootstrap(
        (right, asked),
        lambda a, b, axis: a.sum(axis=axis) / b.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        batch=1000,
        confidence_level=0.9,
        method="percentile",
        rng=np.random.default_rng(5),
    )
    width = theirs.confidence_interval.high - theirs.confidence_interval.low
    assert ours.method == "bootstrap"
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.04 * width)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.04 * width)
    assert np.std(replicates) == pytest.approx(theirs.standard_error, rel=0.03)


def test_asking_every_question_four_times_tells_nothing_new():
    """Four copies of every question in its group give the same interval; counted as independent, half of it."""
    right, asked = clusters(80, seed=2)
    weights = group_weights(80, 2000, seed=0)
    once = ratio_replicates(weights, right[:, None], asked[:, None])
    four = ratio_replicates(weights, 4 * right[:, None], 4 * asked[:, None])
    np.testing.assert_array_equal(once, four)
    value = right.sum() / asked.sum()
    clustered = share_interval(value, 4 * asked, four[:, 0], confidence=0.95, bootstrap="b")
    low, high = wilson(value, int(4 * asked.sum()), 0.95)
    assert clustered.high - clustered.low > 2 * (high - low)


def test_one_question_a_group_is_a_single_proportion():
    asked = np.array([1.0] * 12 + [0.0] * 4)
    assert share_interval(0.5, asked, np.empty(0), confidence=0.95, bootstrap="b") == Interval(
        *wilson(0.5, 12, 0.95), "wilson"
    )


@pytest.mark.parametrize("value", [0.0, 0.2, 1.0])
def test_resamples_that_all_agree_are_no_certainty(value):
    interval = clustered_interval(value, 60, np.full(2000, value), confidence=0.95, bootstrap="b")
    assert interval == Interval(*wilson(value, 60, 0.95), "wilson over 60 groups (all resamples agree)")
    assert interval.high - interval.low > 0.05


def test_too_few_groups_are_not_resampled():
    groups = FEWEST_GROUPS - 1
    interval = clustered_interval(0.5, groups, np.linspace(0.4, 0.6, 100), confidence=0.95, bootstrap="b")
    assert interval == Interval(*wilson(0.5, groups, 0.95), f"wilson over {groups} groups (too few to resample)")


def test_resamples_without_a_denominator_are_left_out():
    weights = np.array([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    above, below = np.array([[1.0], [0.0]]), np.array([[2.0], [0.0]])
    np.testing.assert_array_equal(ratio_replicates(weights, above, below), [[0.5], [np.nan], [0.5]])
    replicates = np.array([0.1, np.nan, 0.9, 0.5, np.nan])
    interval = clustered_interval(0.5, 20, replicates, confidence=0.5, bootstrap="b")
    assert interval == Interval(pytest.approx(0.3), pytest.approx(0.7), "b")


def test_the_interval_is_widened_to_its_value():
    assert clustered_interval(0.9, 20, np.linspace(0.1, 0.5, 50), confidence=0.95, bootstrap="b").high == 0.9


def test_an_undefined_interval_stays_undefined_when_shifted():
    assert Interval(None, None, "why").shifted(0.2, "other") == Interval(None, None, "why")
