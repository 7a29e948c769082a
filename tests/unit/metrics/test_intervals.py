from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from known_unknowns.metrics import intervals
from known_unknowns.metrics.design_effect import WorkingModel, estimate, power_sums, prior_icc
from known_unknowns.metrics.intervals import clustered_interval, mean_bounds, modified_wilson, proportion_bounds, wilson

GROUPS = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 12)), min_size=1, max_size=40).map(
    lambda pairs: np.array([(min(right, asked), asked) for right, asked in pairs], dtype=float).T
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


def test_modified_wilson_is_the_wider_of_wilson_and_one_sided_clopper_pearson():
    """Brown, Cai and DasGupta (2001), section 4.1.1, n = 50 and x = 1: the Poisson limit is 0.5 chi2(0.05; 2) / 50."""
    low, _ = modified_wilson(np.array([1 / 50]), np.array([50.0]), 0.95)
    assert low[0] == pytest.approx(stats.chi2.ppf(0.05, 2) / 2 / 50, rel=1e-3)
    lows, highs = modified_wilson(np.arange(51) / 50, np.full(51, 50.0), 0.95)
    for x, low, high in zip(range(51), lows, highs, strict=True):
        expected = stats.binomtest(x, 50).proportion_ci(0.95, method="wilson")
        least = stats.binomtest(x, 50, alternative="greater").proportion_ci(0.95).low
        most = stats.binomtest(x, 50, alternative="less").proportion_ci(0.95).high
        assert (low, high) == pytest.approx((min(expected.low, least), max(expected.high, most)))


@pytest.mark.parametrize("n", [300, 10_000])
@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_wilsons_bound_is_the_wider_one_where_the_other_is_not_computed(n, confidence):
    for x in range(40, 81, 10):
        least = stats.binomtest(x, n, alternative="greater").proportion_ci(confidence).low
        assert wilson(x / n, n, confidence)[0] <= least


def test_one_answer_in_each_group_is_a_simple_proportion():
    expected = stats.binomtest(60, 120).proportion_ci(0.95, method="wilson")
    right, asked = [1, 0] * 60 + [0] * 4, [1] * 120 + [0] * 4
    assert clustered_interval(right, asked) == pytest.approx((expected.low, expected.high))


def test_a_design_effect_by_hand():
    """10 groups of 5: five all right, five all wrong, p = 1/2.

    The squares are 10 * 2.5^2 = 62.5; with m / (m - 1), the variance is 62.5 / 50^2 * 10 / 9 = 1/36 and its ratio to
    1 / (4 * 50) is 5.556. E[p q] is less than p q: q is corrected by 1 - 1.8 / 50, so that D = 5.3556. It has 2 / (2 /
    9) = 9 degrees of freedom, as 1 - 6 p q < 0. With 8 of the assumed 1 + 0.2 * 4 = 1.8, the effect is (8 * 1.8 + 9 *
    5.3556) / 17 = 3.6824, and t has 17 degrees of freedom: 2.109816.
    """
    n = 50 / 3.68235 * (1.959964 / 2.109816) ** 2
    low, high = clustered_interval([5] * 5 + [0] * 5, [5] * 10)
    assert (low, high) == pytest.approx(wilson(0.5, n, 0.95), abs=1e-5)


def test_nothing_right_by_hand():
    """60 groups of 5, none right: D = 1 + 0.2 * 4 with 8 degrees of freedom, t = 2.306004, high = z^2 / (n + z^2)."""
    n = 300 / 1.8 * (1.959964 / 2.306004) ** 2
    assert clustered_interval([0] * 60, [5] * 60) == pytest.approx((0, 3.841459 / (n + 3.841459)), abs=1e-6)


@given(GROUPS, st.floats(0, 1))
def test_moments_of_the_residuals_are_those_of_their_covariance(groups, icc):
    """Covariance by definition: M diag(v) M' with M = I - h 1' and v = n (1 + (n - 1) r), for the sizes n."""
    sizes = groups[1]
    v, h = sizes * (1 + (sizes - 1) * icc), sizes / sizes.sum()
    centre = np.eye(len(sizes)) - np.outer(h, np.ones(len(sizes)))
    covariance = centre @ np.diag(v) @ centre.T
    model = WorkingModel.of(power_sums(sizes[:, None]), icc)
    assert model.effect[0] == pytest.approx(v.sum() / sizes.sum())
    assert model.trace[0] == pytest.approx(np.trace(covariance), abs=1e-6 * v.sum())
    if len(sizes) > 1:
        assert model.df[0] == pytest.approx(np.trace(covariance) ** 2 / np.trace(covariance @ covariance), rel=1e-6)
    assert model.excess[0] == pytest.approx((v**3 / sizes**2).sum() / v.sum() ** 2)


def test_the_assumed_icc_of_seeds_is_a_mean_over_pairs():
    """4 questions with 3 seeds: of 11 other answers in the group, 2 are to the same question."""
    sums = power_sums(np.full((5, 1), 12.0))
    assert prior_icc(sums, 3)[0] == pytest.approx((2 * 0.5 + 9 * 0.2) / 11)
    assert prior_icc(sums, 1)[0] == 0.2
    assert prior_icc(power_sums(np.full((5, 1), 3.0)), 3)[0] == 0.5
    assert prior_icc(power_sums(np.full((5, 1), 2.0)), 3)[0] == 0.5  # a metric of two of the three answers


@given(GROUPS, st.sampled_from([0.8, 0.95, 0.99]))
def test_what_holds_for_any_groups(groups, confidence):
    right, asked = groups
    low, high = clustered_interval(right, asked, confidence)
    share = right.sum() / asked.sum()
    assert 0 <= low <= share <= high <= 1
    assert low < high
    mirrored = clustered_interval(asked - right, asked, confidence)
    assert mirrored == pytest.approx((1 - high, 1 - low))
    order = np.arange(len(asked))[::-1]
    assert clustered_interval([*right[order], 0], [*asked[order], 0], confidence) == pytest.approx((low, high))


@pytest.mark.parametrize("asked", [[5] * 60, [1] * 300, [1, 2, 3, 4, 9, 19] * 4, [20] * 10])
@pytest.mark.parametrize("order", ["spread", "filled"])
def test_bounds_rise_with_the_count_and_never_jump(asked, order):
    """One more right answer raises both bounds, by the share of 12 answers at most."""
    room, right, found = np.array(asked), np.zeros(len(asked)), []
    for number in range(sum(asked) + 1):
        found.append(clustered_interval(right, room))
        if number < sum(asked):
            free = np.flatnonzero(right < room)
            right[free[0] if order == "filled" else free[np.argmin(right[free])]] += 1
    steps = np.diff(np.array(found), axis=0)
    assert (steps > -1e-9).all()
    assert steps.max() < 12 / sum(asked)


def test_copies_of_a_question_are_little_more_data():
    right = np.array([1.0, 0, 1, 1, 0, 1, 0, 1] * 20)
    once, four = clustered_interval(right, np.ones(160)), clustered_interval(4 * right, np.full(160, 4.0))
    assert four[1] - four[0] == pytest.approx(once[1] - once[0], rel=0.05)


def test_a_single_group_leaves_nearly_everything_open():
    low, high = clustered_interval([30], [60])
    assert low < 0.15
    assert high > 0.85


def test_nothing_asked_has_no_interval():
    assert clustered_interval([0, 0], [0, 0]) == (None, None)
    assert clustered_interval([], []) == (None, None)


@pytest.mark.parametrize(
    ("right", "asked", "confidence"),
    [
        ([1, 2], [1], 0.95),
        ([2], [1], 0.95),
        ([-1], [1], 0.95),
        ([float("nan")], [1], 0.95),
        ([0], [float("inf")], 0.95),
        ([1], [1], 1.0),
        ([[1]], [[1]], 0.95),
    ],
)
def test_impossible_counts_are_refused(right, asked, confidence):
    with pytest.raises(ValueError, match=r"group|level"):
        clustered_interval(right, asked, confidence)


def test_many_metrics_at_once_are_those_one_by_one():
    generator = np.random.default_rng(3)
    asked = generator.integers(0, 9, (30, 20)).astype(float)
    right = generator.binomial(asked.astype(int), 0.8).astype(float)
    value = right.sum(axis=0) / asked.sum(axis=0)
    bounds = proportion_bounds(
        value, right - value * asked, asked, binary=np.ones(20, dtype=bool), confidence=0.9, seeds=2
    )
    for i in range(20):
        expected = clustered_interval(right[:, i], asked[:, i], 0.9, seeds=2)
        assert (bounds.low[i], bounds.high[i]) == pytest.approx(expected)


@pytest.mark.parametrize("mirrored", [False, True])
def test_the_bound_of_a_mean_of_fractions_has_no_jump(mirrored):
    """100 groups with one share each, 0.1 from their mean: D is 0.01 / 0.24 and D* (8 + 100 D) / 108, about 0.11.

    All means next to 40% (and 60%) have nearly the same interval, Wilson's with n* = 100 / D* or about 870 answers.
    """
    residuals, sizes = np.tile([0.1, -0.1], 50)[:, None].repeat(3, axis=1), np.ones((100, 3))
    value = np.array([0.3999, 0.4, 0.4001])
    low, high = proportion_bounds(
        1 - value if mirrored else value, residuals, sizes, binary=np.zeros(3, dtype=bool), confidence=0.95
    )
    assert np.ptp(low) < 0.001
    assert np.ptp(high) < 0.001
    assert (high - low)[1] == pytest.approx(2 * 1.96 * (0.24 / 870) ** 0.5, rel=0.03)


def test_rounding_errors_of_weights_have_no_effect():
    """The weights of single questions with the mean size 1: whether it is a little more or less is chance."""
    weights = np.array([0.2, 0.4, 1.4, 1.1])
    sums = power_sums((weights * weights.sum() / (weights**2).sum())[:, None].repeat(3, axis=1))
    sums[1] = sums[0] * [1, 1 + 4e-16, 1 - 4e-16]
    effect, df = estimate(np.full(3, 0.3), np.full(3, 2.0), sums, floor=0.0)
    assert np.ptp(effect) < 1e-9
    assert np.ptp(df) < 1e-9


def test_weights_below_one_count_as_groups_of_one():
    residuals = np.array([0.2, -0.1, 0.3, -0.4, 0.1, -0.1])[:, None]
    bounds = [
        proportion_bounds(
            np.array([0.3]), residuals * size, np.full((6, 1), size), binary=np.zeros(1, dtype=bool), confidence=0.95
        )
        for size in (0.25, 1.0)
    ]
    assert np.ravel(bounds[0]) == pytest.approx(np.ravel(bounds[1]))


def test_the_interval_of_a_mean_is_that_of_svyciprop():
    """survey 4.1-1 of R 4.2.2: svydesign(ids=~g, weights=~1), svyciprop(~y, d, method="mean", df=degf(d)).

    12 groups of 5 with 5, 4, 5, 5, 3, 5, 5, 2, 5, 5, 4 and 5 right answers.
    """
    right, asked = np.array([5.0, 4, 5, 5, 3, 5, 5, 2, 5, 5, 4, 5])[:, None], np.full((12, 1), 5.0)
    value = right.sum(axis=0) / 60
    low, high = mean_bounds(value, right - value * asked, asked, confidence=0.95)
    assert (low[0], high[0]) == pytest.approx((0.7567416516, 1.009925015), abs=1e-9)


def test_the_interval_of_a_mean_is_students_for_single_answers():
    values = np.random.default_rng(0).normal(size=25)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    value = np.array([values.mean()])
    low, high = mean_bounds(value, (values - value)[:, None], np.ones((25, 1)), confidence=0.9)
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high))


def test_a_mean_without_variation_has_no_interval():
    low, high = mean_bounds(np.array([0.0, 0.5]), np.zeros((10, 2)), np.ones((10, 2)), confidence=0.95)
    assert np.isnan([low, high]).all()


@pytest.mark.parametrize("seeds", [0, -1, 2.5, 1.0, True, "2"])
def test_the_number_of_seeds_is_a_whole_number_from_1(seeds):
    with pytest.raises(ValueError, match=r"the number of seeds is .*, not a whole number from 1"):
        clustered_interval([1, 2], [2, 2], seeds=seeds)


def test_equal_answers_of_seeds_have_a_bound_of_effective_answers():
    """Five equal answers to each of 10 questions: 5 of 50 right answers are one right question."""
    low, high = clustered_interval([5, *[0] * 9], [5] * 10, seeds=5)
    alone, _ = clustered_interval([1, *[0] * 9], [1] * 10)
    counted, _ = clustered_interval([5, *[0] * 9], [5] * 10)
    assert low < counted  # as if the 50 answers were independent near 0
    assert low == pytest.approx(alone, abs=0.005) and high > 0.1


def noted(right, sizes):
    right, sizes = (np.array(values, dtype=float)[:, None] for values in (right, sizes))
    value = right.sum(axis=0) / sizes.sum(axis=0)
    return intervals.notes(value, right - value * sizes, sizes)[0]


def test_notes_on_extreme_designs():
    assert noted([3] * 20, [5] * 20) == ""
    assert noted([3] * 20 + [60], [5] * 20 + [100]) == intervals.LARGE_GROUP_NOTE  # half of the answers
    assert noted([3] * 20 + [3], [5] * 20 + [20]) == ""  # a sixth
    assert noted([20, 0] * 10, [20] * 20) == intervals.STRONG_NOTE
    assert noted([5, 0] * 10, [5] * 20) == ""  # groups of 5
    assert noted([11, 9] * 10, [20] * 20) == ""
    assert noted([0] * 20, [20] * 20) == ""
    assert noted([20, 0] * 4, [20] * 8) == intervals.STRONG_NOTE  # few groups have a method of their own too
