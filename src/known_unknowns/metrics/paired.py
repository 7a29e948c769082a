"""Comparison of two series of answers to the same questions, which come in groups such as the questions on one image.

docs/comparison.md#pairs-of-models has the formulae and an example.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import nctdtrinc, stdtrit
from scipy.stats import binom

from known_unknowns.metrics import intervals

MCNEMAR, SIGN_FLIP = "exact McNemar", "exact sign-flip over groups"
POWER = 0.8
_T = TypeVar("_T", bound=Hashable)


class PairedDifference(NamedTuple):
    """The difference of two accuracies on the same questions.

    Attributes
    ----------
    n : int
        Number of questions.
    groups : int
        Number of groups.
    difference : float or None
        The first accuracy less the second one. None without questions.
    low, high : float or None
        Bounds of the interval. None with a single group, or if no group differs from another.
    method : str
        How the interval was made.
    p : float or None
        Two-sided p-value of the hypothesis that the two are exchangeable. None without questions.
    test : str
        `MCNEMAR` or `SIGN_FLIP`.
    standard_error : float or None
        Standard error of the difference, clustered by group. None where the interval is.
    detectable : float or None
        The minimum detectable difference with the power `POWER`. None where the interval is.
    """

    n: int
    groups: int
    difference: float | None
    low: float | None
    high: float | None
    method: str
    p: float | None
    test: str
    standard_error: float | None
    detectable: float | None


def paired_difference(
    right_a: ArrayLike, right_b: ArrayLike, groups: ArrayLike, *, seeds: int = 1, confidence: float = 0.95
) -> PairedDifference:
    """Compare two series of answers to the same questions.

    Parameters
    ----------
    right_a, right_b : array_like of int, shape (questions,)
        Number of seeds with which each question was answered correctly; 0 or 1 with one seed.
    groups : array_like, shape (questions,)
        The group of each question, for example its image.
    seeds : int, default 1
        Number of answers to each question.
    confidence : float, default 0.95
        Confidence level of the interval, and 1 less the significance level of the minimum detectable difference.

    Returns
    -------
    PairedDifference

    Raises
    ------
    ValueError
        If the arrays differ in shape, or a count is no integer from 0 to ``seeds``.

    Notes
    -----
    The interval is that of `intervals.mean_bounds`. With groups of equal size it is the t interval of the groups' mean
    differences. The test is `sign_flip_test`; with one seed and one question in each group it is McNemar's exact test.

    References
    ----------
    .. [1] Miller, "Adding Error Bars to Evals", 2024, arXiv:2411.00640: paired and clustered standard errors.
    """
    right_a, right_b, groups = np.asarray(right_a), np.asarray(right_b), np.asarray(groups)
    if groups.ndim != 1 or not right_a.shape == right_b.shape == groups.shape:
        shapes = right_a.shape, right_b.shape, groups.shape
        raise ValueError(f"right_a, right_b and groups are one entry per question, not of the shapes {shapes}")
    if not all(((part == np.round(part)) & (part >= 0) & (part <= seeds)).all() for part in (right_a, right_b)):
        raise ValueError(f"a number of right answers is not an integer from 0 to {seeds}")
    _, column = np.unique(groups, return_inverse=True)
    sizes = np.bincount(column).astype(float)
    sums = np.bincount(column, weights=right_a.astype(float) - right_b)
    test = MCNEMAR if seeds == 1 and sizes.max(initial=0) <= 1 else SIGN_FLIP
    n = len(groups)
    if n == 0:
        return PairedDifference(0, 0, None, None, None, intervals.UNDEFINED.method, None, test, None, None)
    difference = float(sums.sum() / n / seeds)
    residuals = (sums / seeds - difference * sizes)[:, None]
    error, df = (float(part[0]) for part in intervals.mean_error(residuals, sizes[:, None]))
    p = sign_flip_test(sums)
    if np.isnan(error):
        method = intervals.NO_VARIATION.method
        return PairedDifference(n, len(sizes), difference, None, None, method, p, test, None, None)
    bounds = intervals.mean_bounds(np.array([difference]), residuals, sizes[:, None], confidence=confidence)
    low, high = (float(np.clip(bound[0], -1, 1)) for bound in bounds)
    detectable = minimum_detectable_difference(error, df, confidence=confidence)
    return PairedDifference(
        n, len(sizes), difference, low, high, intervals.MEAN, p, test, error, detectable if detectable <= 1 else None
    )


def sign_flip_test(sums: ArrayLike) -> float:
    """Compute the exact two-sided p-value of the sign-flip permutation test over groups.

    Parameters
    ----------
    sums : array_like, shape (groups,)
        Right answers of the first series less those of the second one, in each group. Integers.

    Returns
    -------
    float
        Probability that random signs of all groups give a total as far from 0 as the observed one, or farther. It is
        1 if no group has a difference, and at least the smallest normal floating-point number.

    Raises
    ------
    ValueError
        If a sum is no integer.

    Notes
    -----
    The total over all assignments of signs is ``2 S - sum(|s|)``, where S is the sum of ``v B(m, 1/2)`` over each value
    v of |s| that occurs in m groups. Its distribution is the convolution of these binomial distributions [2]_, so that
    no assignments are drawn at random and the result does not depend on a seed.

    References
    ----------
    .. [1] Fisher, "The Design of Experiments", 1935, section 21.
    .. [2] Pagano and Tritchler, "On Obtaining Permutation Distributions in Polynomial Time", 1983.
    """
    sums = np.asarray(sums, dtype=float)
    if (sums != np.round(sums)).any():
        raise ValueError("the sums of the groups are not integers")
    sizes, counts = np.unique(np.abs(sums[sums != 0]).astype(int), return_counts=True)
    total = int((sizes * counts).sum())
    probabilities = [binom.pmf(np.arange(count + 1), count, 0.5) for count in counts.tolist()]
    if 0 < total == abs(sums.sum()):  # all groups agree: only all signs together, and all reversed, are as far from 0
        p = math.prod(part[0] for part in probabilities) + math.prod(part[-1] for part in probabilities)
        return float(np.clip(p, sys.float_info.min, 1))
    distribution = np.ones(1)
    for size, of_size in zip(sizes.tolist(), probabilities, strict=True):
        part = np.zeros(size * (len(of_size) - 1) + 1)
        part[::size] = of_size
        distribution = np.convolve(distribution, part)
    as_far = np.abs(2 * np.arange(total + 1) - total) >= abs(sums.sum())
    return float(np.clip(distribution[as_far].sum(), sys.float_info.min, 1))


def holm(p: ArrayLike) -> np.ndarray:
    """Adjust p-values of several tests by Holm's method.

    Parameters
    ----------
    p : array_like, shape (tests,)
        The p-values. NaN for a test that was not possible; it does not count as a test.

    Returns
    -------
    ndarray, shape (tests,)
        Adjusted p-values. The tests with values up to a make at least one false rejection with a probability of at
        most a.

    References
    ----------
    .. [1] Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979.
    """
    p = np.asarray(p, dtype=float)
    order = np.argsort(p)  # NaN is last
    tests = np.count_nonzero(~np.isnan(p))
    factors = np.maximum(tests - np.arange(len(p)), 1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1)
    return adjusted


def rank_intervals(names: Sequence[_T], better: Sequence[tuple[_T, _T]]) -> dict[_T, tuple[int, int]]:
    """Compute simultaneous confidence intervals of ranks; rank 1 is the best.

    Parameters
    ----------
    names : sequence of hashable
        What is ranked.
    better : sequence of (hashable, hashable)
        Pairs (a, b) in which a is significantly better than b after the correction over all pairs.

    Returns
    -------
    dict to (int, int)
        The best and the worst rank: 1 plus the number of those that are better, and the number of all less the number
        of those that are worse.

    References
    ----------
    .. [1] Al Mohamad, Goeman and van Zwet, "Simultaneous Confidence Intervals for Ranks with Application to Ranking
       Institutions", Biometrics, 2022: intervals from simultaneous tests of all pairs.
    """
    return {
        name: (1 + sum(b == name for _, b in better), len(names) - sum(a == name for a, _ in better)) for name in names
    }


def minimum_detectable_difference(
    standard_error: float, df: float, *, confidence: float = 0.95, power: float = POWER
) -> float:
    """Compute the smallest true difference that a two-sided t test finds with the given power.

    Parameters
    ----------
    standard_error : float
        Standard error of the difference.
    df : float
        Its degrees of freedom.
    confidence : float, default 0.95
        1 less the significance level.
    power : float, default 0.8
        Probability that the test rejects.

    Returns
    -------
    float

    Notes
    -----
    It is the standard error times the noncentrality at which a noncentral t exceeds the critical value with the
    probability ``power``. A rejection in the wrong direction does not count.

    References
    ----------
    .. [1] Cohen, "Statistical Power Analysis for the Behavioral Sciences", 1988, section 2.3.
    .. [2] Bloom, "Minimum Detectable Effects", 1995.
    """
    return float(standard_error * nctdtrinc(df, 1 - power, stdtrit(df, (1 + confidence) / 2)))
