from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns.benchmark.metrics import RiskCoverage
from known_unknowns.metrics.selective import aurc, aurc_replicates, aurc_without_groups, error_weights, risks


def curve(*pairs: tuple[float, int]) -> RiskCoverage:
    confidence, wrong = zip(*pairs, strict=True)
    return RiskCoverage(np.array(confidence, dtype=float), np.array(wrong, dtype=float))


def plain(confidence: np.ndarray, wrong: np.ndarray) -> float:
    """The mean of the risks among the k surest, where no two are equally sure."""
    ordered = wrong[np.argsort(-confidence)]
    return float(np.mean(np.cumsum(ordered) / np.arange(1, len(ordered) + 1)))


def test_four_questions_by_hand():
    """Wrong is only the least sure but one: risks 0, 0, 1/3, 1/4."""
    assert aurc(curve((4, 0), (3, 0), (2, 1), (1, 0))) == pytest.approx((1 / 3 + 1 / 4) / 4)


def test_equals_are_the_mean_of_their_orders():
    """Two orders: risks 0, 1/2 or 1, 1/2."""
    assert aurc(curve((1, 0), (1, 1))) == pytest.approx((0.25 + 0.75) / 2)


def test_without_confidence_it_is_undefined_and_a_missing_one_comes_last():
    assert np.isnan(aurc(curve((np.nan, 1), (np.nan, 0))))
    assert aurc(curve((np.nan, 1), (0.1, 0))) == pytest.approx((0 + 1 / 2) / 2)


QUESTIONS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1)), min_size=1, max_size=25)


@given(QUESTIONS, st.randoms(use_true_random=False))
def test_it_is_the_mean_over_orders_and_knows_no_other(pairs, generator):
    area = aurc(curve(*pairs))
    assert 0 <= area <= 1
    assert area == pytest.approx(aurc(curve(*generator.sample(pairs, len(pairs)))))
    if len({confidence for confidence, _ in pairs}) == len(pairs):
        assert area == pytest.approx(plain(*map(np.array, zip(*pairs, strict=True))))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=15))
def test_a_weight_is_so_many_copies(triples):
    whole = curve(*[(confidence, wrong) for confidence, wrong, _ in triples])
    weights = np.array([[weight for *_, weight in triples], [1] * len(triples)], dtype=float)
    drawn, once = aurc_replicates(whole, weights)
    copies = [(confidence, wrong) for confidence, wrong, weight in triples for _ in range(weight)]
    assert once == pytest.approx(aurc(whole))
    assert np.isnan(drawn) if not copies else drawn == pytest.approx(aurc(curve(*copies)))


def test_the_drawn_curve_meets_the_risks_at_whole_questions():
    four = curve((4, 0), (3, 1), (2, 1), (1, 0))
    assert risks(four, np.array([0.25, 0.5, 0.75, 1])) == pytest.approx([0, 1 / 2, 2 / 3, 1 / 2])
    tied = curve((2, 1), (2, 0), (1, 0))
    assert risks(tied, np.array([1 / 3, 2 / 3, 1])) == pytest.approx([1 / 2, 1 / 2, 1 / 3])


@given(QUESTIONS)
def test_the_area_is_a_weighted_sum_of_the_errors(pairs):
    whole = curve(*pairs)
    weights = error_weights(whole.confidence)
    assert weights.sum() == pytest.approx(1)
    assert (weights > 0).all()
    if whole.defined:
        assert weights @ whole.wrong == pytest.approx(aurc(whole))


def test_the_area_without_a_group_is_that_of_the_other_questions():
    whole, column = curve((4, 0), (3, 1), (2, 1), (2, 0), (1, 1)), np.array([0, 1, 0, 2, 2])
    expected = [aurc(curve((3, 1), (2, 0), (1, 1))), aurc(curve((4, 0), (2, 1), (2, 0), (1, 1))), None]
    expected[2] = aurc(curve((4, 0), (3, 1), (2, 1)))
    assert aurc_without_groups(whole, column, 3) == pytest.approx(expected)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1), st.integers(0, 9)), min_size=1, max_size=40))
def test_the_area_without_any_group_is_that_of_the_other_questions(triples):
    """Groups of one, of a few and of most questions; 6 stands for an unknown confidence, and group 10 is empty."""
    confidence = [np.nan if value > 5 else value for value, _, _ in triples]
    group = np.array([number for *_, number in triples])
    whole = RiskCoverage(np.array(confidence, dtype=float), np.array([wrong for _, wrong, _ in triples], dtype=float))
    expected = []
    for number in range(11):
        kept = group != number
        others = RiskCoverage(whole.confidence[kept], whole.wrong[kept])
        expected.append(aurc_replicates(others, np.ones((1, kept.sum())))[0] if kept.any() else np.nan)
    assert aurc_without_groups(whole, group, 11) == pytest.approx(expected, nan_ok=True)
