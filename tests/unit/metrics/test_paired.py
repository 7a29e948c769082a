"""Paired comparisons, against R 4.2.2 (stats) and against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from known_unknowns.metrics.paired import (
    MCNEMAR,
    SIGN_FLIP,
    holm,
    minimum_detectable_difference,
    paired_difference,
    rank_intervals,
    sign_flip_test,
)

SUMS = [1, 0, 2, -1, 3, 1, 0, 1, -2, 3]  # of ten groups of five questions


def answers(sums: list[int], questions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Right answers whose differences have these sums, in groups of the same number of questions."""
    place = np.arange(questions)
    a = np.concatenate([place < max(value, 0) for value in sums])
    b = np.concatenate([place < max(-value, 0) for value in sums])
    return a, b, np.repeat(np.arange(len(sums)), questions)


def test_equal_groups_have_the_t_interval_of_their_means() -> None:
    # R: x <- c(1,0,2,-1,3,1,0,1,-2,3)/5; t.test(x)
    # power.t.test(n=10, sd=sd(x), power=.8, type="one.sample", tol=1e-14)
    found = paired_difference(*answers(SUMS, 5))
    assert (found.n, found.groups, found.test) == (50, 10, SIGN_FLIP)
    assert found.difference == pytest.approx(8 / 50)
    assert (found.low, found.high) == pytest.approx((-0.0716794516272, 0.3916794516272))
    assert found.standard_error == pytest.approx(0.102415276638)
    assert found.detectable == pytest.approx(0.3225708093, rel=1e-6)


def test_swapping_the_two_mirrors_the_result() -> None:
    a, b, groups = answers(SUMS, 5)
    one, other = paired_difference(a, b, groups), paired_difference(b, a, groups)
    assert (one.difference, one.low, one.high) == pytest.approx((-other.difference, -other.high, -other.low))
    assert (one.p, one.detectable) == (other.p, other.detectable)


def test_a_difference_is_at_most_one() -> None:
    found = paired_difference(*answers([1, 1, 1, 0], 1))  # the t interval is 0.75 +- 0.80
    assert (found.low, found.high) == (pytest.approx(0.75 - 3.1824463 * 0.25), 1)


def test_seeds_count_as_fractions_of_one_answer() -> None:
    a, b, groups = answers(SUMS, 5)
    one, five = paired_difference(a, b, groups), paired_difference(5 * a, 5 * b, groups, seeds=5)
    assert five[:5] == pytest.approx(one[:5])
    assert five.p == pytest.approx(one.p)


def test_sign_flips_of_eight_groups() -> None:
    # R: e <- as.matrix(expand.grid(rep(list(c(-1,1)),8))); mean(abs(e %*% s) >= abs(sum(s)))
    assert sign_flip_test([1, -2, 3, 0, 4, 2, -1, 5]) == pytest.approx(0.171875)


@given(st.lists(st.integers(-4, 4), max_size=9))
def test_sign_flips_are_those_of_all_assignments(sums: list[int]) -> None:
    totals = [abs(np.dot(signs, sums)) for signs in product((-1, 1), repeat=len(sums))]
    assert sign_flip_test(sums) == pytest.approx(np.mean([total >= abs(sum(sums)) for total in totals]))


@given(st.integers(0, 60), st.integers(0, 60))
def test_single_questions_have_mcnemars_exact_test(only_a: int, only_b: int) -> None:
    a = np.array([1] * only_a + [0] * only_b + [1, 0])
    b = np.array([0] * only_a + [1] * only_b + [1, 0])
    found = paired_difference(a, b, np.arange(len(a)))
    expected = binomtest(only_a, only_a + only_b).pvalue if only_a + only_b else 1.0
    assert found.test == MCNEMAR
    assert found.p == pytest.approx(expected)


def test_a_large_difference_has_a_positive_p_value() -> None:
    assert 0 < sign_flip_test(np.ones(5000)) < 1e-300
    assert sign_flip_test([]) == sign_flip_test([0, 0]) == 1


def test_equal_answers_have_no_interval() -> None:
    found = paired_difference([1, 0, 1], [1, 0, 1], ["x", "y", "y"])
    assert (found.difference, found.low, found.high, found.p, found.detectable) == (0, None, None, 1, None)
    assert found.method.startswith("none")


def test_no_question_has_no_difference() -> None:
    found = paired_difference([], [], [])
    assert (found.n, found.difference, found.low, found.p) == (0, None, None, None)


@pytest.mark.parametrize(("a", "seeds"), [([2, 0], 1), ([0.5, 0], 1), ([-1, 0], 2), ([1, 0, 1], 1)])
def test_other_counts_are_refused(a: list[float], seeds: int) -> None:
    with pytest.raises(ValueError, match="right"):
        paired_difference(a, [0, 0], ["x", "y"], seeds=seeds)


def test_holm_is_that_of_r() -> None:
    # R: p.adjust(p, "holm")
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.001, 0.5, 0.02, 0.021, 0.9, 0.013]) == pytest.approx([0.006, 1, 0.08, 0.08, 1, 0.065])
    assert holm([0.01, np.nan, 0.02]) == pytest.approx([0.02, np.nan, 0.02], nan_ok=True)
    assert holm([]).tolist() == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_keeps_the_order_and_lies_within_bonferroni(p: list[float]) -> None:
    adjusted = holm(p)
    assert (adjusted >= p).all() and (adjusted <= np.minimum(np.array(p) * len(p), 1) + 1e-12).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()


def test_ranks() -> None:
    found = rank_intervals(["a", "b", "c", "d"], [("a", "c"), ("a", "d"), ("b", "d")])
    assert found == {"a": (1, 2), "b": (1, 3), "c": (2, 4), "d": (3, 4)}
    assert rank_intervals(["a", "b"], []) == {"a": (1, 2), "b": (1, 2)}


@pytest.mark.parametrize(("groups", "delta"), [(60, 0.3677047633), (3000, 0.05116610085)])
def test_detectable_differences_are_those_of_r(groups: int, delta: float) -> None:
    # R: power.t.test(n=groups, sd=1, power=.8, type="one.sample", tol=1e-14)$delta
    found = minimum_detectable_difference(1 / np.sqrt(groups), groups - 1)
    assert found == pytest.approx(delta, rel=1e-6)
