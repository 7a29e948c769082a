from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns.metrics.confidence import (
    auroc,
    bins_of,
    calibration,
    calibration_errors,
    estimated,
    refusal_bounds,
    refusals,
    risk_coverage,
    widened,
)
from known_unknowns.records import Metric

CONFIDENCE = np.array([0.95, 0.9, 0.9, 0.85, 0.8, 0.7, 0.65, 0.6, 0.5, 0.4, 0.3, 0.2])
CORRECT = np.array([1, 1, 0, 1, 1, 0, 1, 1, 0, 0, 1, 0], dtype=bool)
SCIKIT_LEARN = {"roc_auc_score": 0.7}
"""scikit-learn 1.9.1, of the 12 questions above. The curve is ``calibration_curve(n_bins=4, strategy="quantile")``."""
CURVE = ([0.33333333, 0.66666667, 0.66666667, 0.66666667], [0.3, 0.58333333, 0.78333333, 0.91666667])


def values(found):
    return {name: each.value for name, each in found.items()}


def test_golden_values_of_twelve_questions_by_hand():
    """Right are 7 of 12. Of 35 pairs of a right and a wrong one, 24 are in order and one is equal."""
    gaps = np.array([1 / 30, 1 / 12, 7 / 60, 1 / 4])  # of 4 bins with 3 questions each
    curve = [0, 1 / 4, 1 / 3, 1 / 4, 1 / 5, 2 / 6, 2 / 7, 2 / 8, 3 / 9, 4 / 10, 4 / 11, 5 / 12]
    area, best = sum(curve) / 12, (1 / 8 + 2 / 9 + 3 / 10 + 4 / 11 + 5 / 12) / 12
    found = values(calibration(CONFIDENCE, CORRECT, bins=4))
    assert found == pytest.approx(
        {
            "auroc": 24.5 / 35,
            "ece": gaps.mean(),
            "overconfidence": 7.75 / 12 - 7 / 12,
            "aurc": area,
            "excess_aurc": area - best,
            "accuracy_at_80": 1 - 3.6 / 9.6,
        }
    )


ATTEMPTED = np.array([1] * 6 + [0] * 6, dtype=bool)
ABSTAINED = np.array([0] * 6 + [1] * 5 + [0], dtype=bool)


def test_golden_values_of_refusals_by_hand():
    """6 attempts, 4 right; 5 refusals, of which 1 would be right; 1 reply is unparsed."""
    would = np.array([1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0], dtype=bool)
    assert values(refusals(ATTEMPTED, ABSTAINED, would)) == pytest.approx(
        {
            "abstention_recall": 4 / 6,
            "auroc": (4 / 5 + 4 / 6) / 2,
            "selective_gain": 4 / 6 - 5 / 11,
        }
    )


def test_values_of_scikit_learn():
    assert auroc(CONFIDENCE, CORRECT).value == pytest.approx(SCIKIT_LEARN["roc_auc_score"])
    expected = np.mean(np.abs(np.subtract(*CURVE)))
    assert calibration_errors(CONFIDENCE, CORRECT, bins=4)["ece"].value == pytest.approx(expected, abs=1e-8)


def test_bounds_of_refusals_by_hand():
    """6 attempts, 4 right; 5 refusals: 1 would be right, 2 wrong, and 2 have no known answer."""
    would = np.array([1, 1, 1, 1, 0, 0, 1, 0, 0, np.nan, np.nan, np.nan])
    assert values(refusal_bounds(ATTEMPTED, ABSTAINED, would)) == pytest.approx(
        {
            "abstention_recall_low_bound": 2 / 4,
            "abstention_recall_high_bound": 4 / 6,
            "auroc_low_bound": (4 / 7 + 2 / 4) / 2,
            "auroc_high_bound": (4 / 5 + 4 / 6) / 2,
            "selective_gain_low_bound": 4 / 6 - 7 / 11,
            "selective_gain_high_bound": 4 / 6 - 5 / 11,
        }
    )


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 1.0, np.nan])), min_size=1, max_size=9), st.randoms())
def test_any_answers_of_the_unknown_refusals_are_within_the_bounds(rows, generator):
    attempted, would = (np.array(column) for column in zip(*rows, strict=True))
    would = np.where(attempted & np.isnan(would), 1.0, would)  # the answer of an attempt is known
    bounds = values(refusal_bounds(attempted, ~attempted, would))
    right = np.array([generator.random() < 0.5 if np.isnan(each) else each == 1 for each in would])
    for name, value in values(refusals(attempted, ~attempted, right)).items():
        low, high = bounds[f"{name}_low_bound"], bounds[f"{name}_high_bound"]
        assert np.isnan(value) or np.isnan(low) or value >= low - 1e-12
        assert np.isnan(value) or np.isnan(high) or value <= high + 1e-12


@pytest.mark.parametrize(
    ("name", "lowest"),
    [("overconfidence", -1), ("selective_gain_low_bound", -1), ("selective_gain_high_bound", -1), ("ece", 0)],
)
def test_an_interval_has_no_value_that_the_metric_cannot_have(name, lowest):
    metric = Metric("m", "b", "v", 0, 0, "robust", "Overall", name, 0.0, -1.3, 1.2, 3, "t")
    assert (widened(metric).low, widened(metric).high) == (lowest, 1)


def test_undefined_metrics_have_a_reason():
    assert auroc(CONFIDENCE, np.ones(12, dtype=bool)).reason == "no answer is wrong"
    nobody = np.zeros(3, dtype=bool)
    found = refusals(nobody, ~nobody, nobody)
    assert found["selective_gain"].reason == "no question was attempted"
    found = refusals(~nobody, nobody, ~nobody)
    assert found["abstention_recall"].reason == "no answer is or would be wrong"


def respond(kind: str, n: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Confidences and answers of a respondent with a known calibration."""
    dice = np.random.default_rng(7)
    confidence = dice.uniform(0.2, 1, n)
    accuracy = {"perfect": confidence, "overconfident": confidence - 0.2, "uninformative": np.full(n, 0.6)}[kind]
    return confidence, dice.random(n) < accuracy


def test_a_perfect_respondent_has_no_calibration_error():
    found = values(calibration(*respond("perfect")))
    assert found["ece"] < 0.03
    assert found["auroc"] > 0.7
    assert found["overconfidence"] == pytest.approx(0, abs=0.02)


def test_the_calibration_error_of_an_overconfident_respondent_is_the_gap():
    found = values(calibration(*respond("overconfident")))
    assert found["ece"] == pytest.approx(0.2, abs=0.02)
    assert found["overconfidence"] == pytest.approx(found["ece"], abs=1e-9)


def test_an_uninformative_respondent_is_sorted_like_a_coin():
    confidence, correct = respond("uninformative")
    found = values(calibration(confidence, correct))
    assert found["auroc"] == pytest.approx(0.5, abs=0.02)
    assert found["aurc"] == pytest.approx(1 - correct.mean(), abs=0.03)


ATTEMPTS = st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=2, max_size=40)


def arrays(pairs):
    confidence, correct = zip(*pairs, strict=True)
    return np.array(confidence) / 10, np.array(correct)


@given(ATTEMPTS, st.randoms(use_true_random=False))
def test_no_order_of_questions_counts(pairs, generator):
    found, again = (values(calibration(*arrays(each))) for each in (pairs, generator.sample(pairs, len(pairs))))
    assert found == pytest.approx(again, nan_ok=True)


@given(ATTEMPTS)
def test_bounds_and_identities(pairs):
    confidence, correct = arrays(pairs)
    found = values(calibration(confidence, correct))
    assert abs(found["overconfidence"]) <= found["ece"] + 1e-12 <= 1 + 1e-9
    assert 0 <= found["excess_aurc"] <= found["aurc"] + 1e-12
    monotone = values({"auroc": auroc(confidence**3, correct)} | risk_coverage(confidence**3, correct))
    assert monotone == pytest.approx({name: found[name] for name in monotone}, nan_ok=True)


@given(ATTEMPTS)
def test_influences_sum_to_nothing_and_bins_keep_equal_confidences(pairs):
    confidence, correct = arrays(pairs)
    for each in calibration(confidence, correct).values():
        assert each.influence.sum() == pytest.approx(0, abs=1e-9)
    places = bins_of(confidence, 4)
    assert all(len(set(places[confidence == value].tolist())) == 1 for value in set(confidence.tolist()))


@pytest.mark.parametrize("name", ["auroc", "aurc", "excess_aurc", "accuracy_at_80"])
@pytest.mark.parametrize("decimals", [1, 9])
def test_the_variance_is_that_of_the_jackknife(name, decimals):
    dice = np.random.default_rng(3)
    confidence = dice.random(120).round(decimals)
    correct = dice.random(120) < confidence
    without = np.array(
        [calibration(np.delete(confidence, i), np.delete(correct, i))[name].value for i in range(len(correct))]
    )
    variance = ((without - without.mean()) ** 2).sum() * (len(correct) - 1) / len(correct)
    influence = calibration(confidence, correct)[name].influence
    assert (influence**2).sum() == pytest.approx(variance, rel=0.05)


def test_intervals_are_wider_if_the_questions_of_an_image_are_alike():
    dice = np.random.default_rng(5)
    confidence, correct = dice.random((2, 40))
    confidence, correct = np.repeat(confidence, 5), np.repeat(correct < 0.6, 5)
    groups, single = np.repeat(np.arange(40), 5), np.arange(200)
    statistics = calibration(confidence, correct)
    ours = estimated(statistics, groups, np.unique(groups))
    alone = estimated(statistics, single, single)
    names = ("auroc", "aurc", "overconfidence")
    bounds, independent = (of.select(names).intervals(0.95) for of in (ours, alone))
    for wide, narrow in zip(bounds, independent, strict=True):
        assert wide.high - wide.low > 1.4 * (narrow.high - narrow.low)


def test_the_interval_of_ece_does_not_depend_on_rounding():
    """A bin whose mean confidence is its accuracy has a gap of 0, whatever the last digits of the confidences are."""
    correct = np.array([True, True, True, False, False, False, False, False, False, False])
    exact = calibration_errors(np.full(10, 0.3), correct, bins=1)["ece"]
    for off in (1e-16, -1e-16, 1e-12, -1e-12):
        rounded = calibration_errors(np.full(10, 0.3 + off), correct, bins=1)["ece"]
        assert rounded.value == 0 and not rounded.influence.any()
    assert exact.value == 0 and not exact.influence.any()
