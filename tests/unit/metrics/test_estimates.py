from __future__ import annotations

import numpy as np
import pytest

from known_unknowns.benchmark.metrics import Ratio, RiskCoverage
from known_unknowns.metrics.estimates import mean_over_seeds, ratio_estimates, with_area
from known_unknowns.metrics.intervals import CLUSTERED, FEW_GROUPS, MEAN, SINGLE, clustered_interval


def of(numerator, denominator, column, *, lowest=0.0):
    ratio = Ratio(np.array(numerator, float), np.array(denominator, float), lowest)
    return ratio_estimates({"r": ratio}, {"all": np.ones(len(column), dtype=bool)}, np.array(column))["all"]


def test_the_method_is_named():
    one, flags = [1.0] * 24, [1.0, 0, 1] * 8
    assert of(flags, one, range(24)).intervals(0.95)[0].method == SINGLE
    assert of(flags, one, [n // 2 for n in range(24)]).intervals(0.95)[0].method == CLUSTERED
    assert of(flags, one, [n // 4 for n in range(24)]).intervals(0.95)[0].method == FEW_GROUPS
    assert of(flags, one, range(24), lowest=-1.0).intervals(0.95)[0].method == MEAN


def test_negative_ratios_have_the_t_interval():
    interval = of([-1.0, 1, 1, -1, 0, 1], [1.0] * 6, range(6), lowest=-1.0).intervals(0.95)[0]
    # t with 5 degrees of freedom, 2.570582; mean 1/6, standard deviation sqrt(29/30) = 0.983192
    assert (interval.low, interval.high) == (pytest.approx(1 / 6 - 1.031793, abs=1e-5), 1)


def test_a_mean_over_seeds_with_equal_denominators_is_one_proportion_of_all_answers():
    generator = np.random.default_rng(5)
    column = [n // 3 for n in range(60)]
    flags = generator.random((4, 60)) < 0.7
    pooled = mean_over_seeds([of(seed, np.ones(60), column) for seed in flags])
    right, asked = np.bincount(column, flags.sum(axis=0)), np.full(20, 12.0)
    assert pooled.intervals(0.95)[0][:2] == pytest.approx(clustered_interval(right, asked, seeds=4))
    assert (pooled.value[0], pooled.n, pooled.denominator[0]) == (pytest.approx(right.sum() / 240), 60, 60)


def test_a_mean_over_seeds_of_ratios_weighs_seeds_alike():
    """Ratios 1/1 and 1/3: the mean is 2/3; the residuals are 0 and (2/3, -1/3, -1/3) / 3, halved, times 4 answers."""
    seeds = [of([1, 0, 0], [1, 0, 0], range(3)), of([1, 0, 0], [1, 1, 1], range(3))]
    pooled = mean_over_seeds(seeds)
    assert pooled.value[0] == pytest.approx(2 / 3)
    np.testing.assert_allclose(pooled.residuals[:, 0], np.array([2, -1, -1]) / 3 / 3 / 2 * 4)
    np.testing.assert_allclose(pooled.sizes[:, 0], [2, 1, 1])


def test_fractions_have_a_narrower_interval_than_flags():
    """Answers that are all nearly 1/2 vary less than right and wrong ones."""
    flags, fractions = of([0, 1] * 40, [1] * 80, range(80)), of([0.4, 0.6] * 40, [1] * 80, range(80))
    widths = [high - low for low, high, _ in (flags.intervals(0.95)[0], fractions.intervals(0.95)[0])]
    assert widths[1] < 0.7 * widths[0]


def test_seeds_of_other_groups_are_refused():
    with pytest.raises(ValueError, match="different groups"):
        mean_over_seeds([of([1, 1], [1, 1], [0, 1]), of([1, 1], [1, 1], [0, 2])])


def test_the_variance_of_an_area_is_that_of_the_jackknife():
    """Confidence 4 3 2 1, wrong 0 1 0 1: the areas without one question are 13/18, 2/18, 7/18 and 5/18."""
    curve = RiskCoverage(np.array([4.0, 3, 2, 1]), np.array([0.0, 1, 0, 1]))
    area = with_area(of([1, 0, 1, 0], [1] * 4, range(4)), "aurc", curve, np.arange(4))
    without = np.array([13, 2, 7, 5]) / 18
    variance = 4 / 3 * (area.residuals[:, -1] ** 2).sum() / area.sizes[:, -1].sum() ** 2
    assert variance == pytest.approx(3 / 4 * ((without - without.mean()) ** 2).sum())


def test_an_interval_ends_where_the_ratio_does():
    """Four groups of a difference from -1/3 to 1: the t interval would reach from -1 to 1.6."""
    found = of(np.array([1, 1, -1 / 3, -1 / 3]), np.ones(4), range(4), lowest=-1 / 3).intervals(0.95)[0]
    assert (found.low, found.high) == (-1 / 3, 1)
