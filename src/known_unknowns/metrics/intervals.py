"""Confidence intervals of proportions and means over questions that come in groups, such as the questions on one image.

Questions on one image are not independent. A proportion therefore has the interval of an effective sample size, as in
survey statistics [1]_ [2]_: the number of questions, divided by the design effect (`design_effect`), and reduced for
the degrees of freedom of that estimate. The interval at that size is Wilson's, modified near 0 and 1 as in [3]_.
docs/metrics.md#intervals compares it with other methods, and has its simulated coverage.

References
----------
.. [1] Korn and Graubard, "Confidence Intervals for Proportions with Small Expected Number of Positive Counts Estimated
   from Survey Data", 1998.
.. [2] Dean and Pagano, "Evaluating Confidence Interval Methods for Binomial Proportions in Clustered Surveys", 2015.
.. [3] Brown, Cai and DasGupta, "Interval Estimation for a Binomial Proportion", 2001, section 4.1.1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri, stdtrit

from known_unknowns.metrics import design_effect

SINGLE = "modified Wilson"
CLUSTERED = "modified Wilson with the effective sample size of the groups"
FEW_GROUPS = f"{CLUSTERED}, fewer than 10 groups: the design effect is mostly assumed"
AREA = "modified Wilson with the effective sample size of a jackknife over groups"
MEAN = "t with linearised variance over groups"
LARGE_GROUP_NOTE = ", a group has at least a quarter of the answers: the interval can be too wide"
EQUAL_SEEDS_NOTE = ", the seeds give almost equal answers: the interval can be too narrow"
STRONG_NOTE = ", the answers of a group are strongly correlated: the interval can be too narrow"
LARGE_GROUP = 0.25
"""Part of the answers from which a group is large."""
EQUAL_SEEDS = 0.9
"""Correlation of the seeds from which their answers are almost equal."""
STRONG_ICC = 0.3
"""Coverage is simulated up to this intraclass correlation."""
_NOTED_FROM = 10
"""With smaller groups (mean size over the answers), neither a large group nor a strong correlation matters much."""
FEWEST_GROUPS = 10
"""Coverage is simulated from this number of groups on. With fewer, the method's name says so."""
_MODIFIED_BELOW = 40.0  # from this count on, Wilson's bound lies outside the other one at any usual confidence
_TOLERANCE = 1e-9


class Interval(NamedTuple):
    """A confidence interval. ``low`` and ``high`` are None if it is undefined; ``method`` names how it was made."""

    low: float | None
    high: float | None
    method: str


class Bounds(NamedTuple):
    """Bounds of many intervals, arrays of shape (metrics,); NaN where undefined."""

    low: np.ndarray
    high: np.ndarray


EMPTY = "nothing in the denominator"
"""Why a ratio without observations is undefined."""
UNDEFINED = Interval(None, None, f"undefined: {EMPTY}")
NO_VARIATION = Interval(None, None, "none: a single group, or no variation between groups")


def clustered_interval(
    right: ArrayLike, asked: ArrayLike, confidence: float = 0.95, *, seeds: int = 1
) -> tuple[float, float] | tuple[None, None]:
    """Compute the interval of a proportion of questions that come in groups.

    Parameters
    ----------
    right : array_like, shape (groups,)
        Number of right answers in each group. With several seeds, their sum over the seeds.
    asked : array_like, shape (groups,)
        Number of answers in each group. With several seeds, their sum over the seeds. Empty groups have no effect.
    confidence : float, default 0.95
        Confidence level.
    seeds : int, default 1
        Number of answers to each question.

    Returns
    -------
    low, high : float
        Bounds within [0, 1] that contain ``sum(right) / sum(asked)``; None if nothing was asked.

    Raises
    ------
    ValueError
        If the arrays differ in shape, if ``0 <= right <= asked`` or ``0 < confidence < 1`` does not hold, or if
        ``seeds`` is not a whole number from 1.

    Notes
    -----
    The interval is `modified_wilson` with ``n = N / D (z / t)^2`` trials: N answers, the design effect D of
    `design_effect.estimate`, and the quantiles z and t of the normal distribution and of t with the degrees of freedom
    of D. With at most one answer in each group it is `modified_wilson` with N trials. Swapping right and wrong answers
    mirrors the interval.

    References
    ----------
    .. [1] Korn and Graubard, "Confidence Intervals for Proportions with Small Expected Number of Positive Counts
       Estimated from Survey Data", 1998: effective sample size with t quantiles.
    .. [2] Dean and Pagano, "Evaluating Confidence Interval Methods for Binomial Proportions in Clustered Surveys",
       2015: the same with Wilson's interval.

    Examples
    --------
    >>> low, high = clustered_interval(right=[5, 5, 0, 4, 5, 1], asked=[5, 5, 5, 5, 5, 5])
    """
    right, asked = np.asarray(right, dtype=float), np.asarray(asked, dtype=float)
    if right.ndim != 1 or right.shape != asked.shape:
        raise ValueError(f"right and asked are one number per group, not of the shapes {right.shape}, {asked.shape}")
    if not (np.isfinite(asked).all() and ((right >= 0) & (right <= asked)).all()):
        raise ValueError("a group has a count outside 0 <= right <= asked")
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence level is {confidence}, not between 0 and 1")
    if isinstance(seeds, bool) or not isinstance(seeds, int | np.integer) or seeds < 1:
        raise ValueError(f"the number of seeds is {seeds!r}, not a whole number from 1")
    total = asked.sum()
    if total == 0:
        return None, None
    value = np.array([right.sum() / total])
    bounds = proportion_bounds(
        value,
        (right - value * asked)[:, None],
        asked[:, None],
        binary=np.array([bool((right == np.round(right)).all())]),
        confidence=confidence,
        seeds=seeds,
    )
    return float(bounds.low[0]), float(bounds.high[0])


def proportion_bounds(
    value: np.ndarray,
    residuals: np.ndarray,
    sizes: np.ndarray,
    *,
    binary: np.ndarray,
    confidence: float,
    seeds: int = 1,
) -> Bounds:
    """Compute the intervals of many clustered proportions; see `clustered_interval`.

    Parameters
    ----------
    value : ndarray, shape (metrics,)
        The proportions; NaN if undefined.
    residuals : ndarray, shape (groups, metrics)
        Numerator less ``value`` times denominator, in each group.
    sizes : ndarray, shape (groups, metrics)
        Denominators of the groups.
    binary : ndarray of bool, shape (metrics,)
        Whether every answer counts as 0 or 1. The design effect of such a proportion is at least 1; a mean of fractions
        can have a smaller one.
    confidence : float
        Confidence level.
    seeds : int, default 1
        Number of answers to each question.

    Returns
    -------
    Bounds

    Notes
    -----
    With several seeds, the bound near 0 or 1 counts the effective answers instead of all [1]_, because the answers to a
    question can be equal.

    Denominators smaller than 1 are weights. If the groups' mean size (weighted by size) is below 1, sizes are scaled
    to 1, and N becomes Kish's effective number of groups.
    """
    defined = ~np.isnan(value)
    sums = np.where(defined, design_effect.power_sums(sizes), 1.0)
    scale = np.maximum(1.0, sums[0] / sums[1])
    sums = sums * scale ** np.arange(1, 6)[:, None]
    squares = np.where(defined, (residuals**2).sum(axis=0) * scale**2, 0.0)
    share = np.where(defined, np.clip(value, 0, 1), 0.5)
    effect, df = design_effect.estimate(share, squares, sums, floor=np.where(binary, 1.0, 0.0), seeds=seeds)
    tail = (1 - confidence) / 2
    n = sums[0] / effect * (ndtri(tail) / stdtrit(df, tail)) ** 2
    single = binary & (sums[1] <= sums[0] * (1 + _TOLERANCE))
    # a mean of fractions can be as exact as more than N answers; its bound near 0 then has the n that Wilson's has
    answers = np.where(binary & (seeds > 1), n, np.maximum(sums[0], n))
    low, high = modified_wilson(share, np.where(single, sums[0], n), confidence, answers=answers)
    return Bounds(np.where(defined, low, np.nan), np.where(defined, high, np.nan))


def notes(
    value: np.ndarray, residuals: np.ndarray, sizes: np.ndarray, *, seed_correlation: np.ndarray | None = None
) -> list[str]:
    """Return what the method of each proportion says of a design in which its coverage is not the nominal one.

    Parameters
    ----------
    value, residuals, sizes
        As for `proportion_bounds`.
    seed_correlation : ndarray, shape (metrics,), optional
        The correlation of the groups' residuals between seeds; NaN if unknown. None with one seed.

    Returns
    -------
    list of str
        Texts to append to the methods; "" if there is nothing to say.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        total, groups = sizes.sum(axis=0), np.count_nonzero(sizes, axis=0)
        sized = (sizes**2).sum(axis=0) >= _NOTED_FROM * total
        large = sized & (groups >= FEWEST_GROUPS) & (sizes.max(axis=0, initial=0) >= LARGE_GROUP * total)
        strong = np.zeros(len(value), dtype=bool)
        if seed_correlation is None:
            icc = design_effect.intraclass_correlation(value, residuals + value * sizes, sizes)
            strong = sized & (icc > STRONG_ICC)
        equal = np.zeros(len(value), dtype=bool) if seed_correlation is None else seed_correlation >= EQUAL_SEEDS
    found = ((large, LARGE_GROUP_NOTE), (equal, EQUAL_SEEDS_NOTE), (strong, STRONG_NOTE))
    return ["".join(note for flags, note in found if flags[i]) for i in range(len(value))]


def mean_bounds(value: np.ndarray, residuals: np.ndarray, sizes: np.ndarray, *, confidence: float) -> Bounds:
    """Compute the intervals of ratios that are no proportions, such as differences: t with a linearised variance.

    Parameters
    ----------
    value, residuals, sizes, confidence
        As for `proportion_bounds`; ``value`` may be any number.

    Returns
    -------
    Bounds
        NaN with a single group, or if all residuals are 0.

    Notes
    -----
    The variance is that of the residuals, divided by their expected share of it. This share, and Satterthwaite's
    degrees of freedom, are those of the working model with `design_effect.PRIOR_ICC`: the correction of Bell
    and McCaffrey, in the mean over the groups. With groups of equal size this is the t interval of the group means.

    References
    ----------
    .. [1] Bell and McCaffrey, "Bias Reduction in Standard Errors for Linear Regression with Multi-Stage Samples", 2002.
    """
    error, df = mean_error(residuals, sizes)
    with np.errstate(invalid="ignore"):
        half = -stdtrit(df, (1 - confidence) / 2) * error
    half = np.where(np.isnan(value), np.nan, half)
    return Bounds(value - half, value + half)


def mean_error(residuals: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the standard errors of `mean_bounds` and their degrees of freedom.

    Parameters
    ----------
    residuals, sizes : ndarray, shape (groups, metrics)
        As in `mean_bounds`.

    Returns
    -------
    error, df : ndarray, shape (metrics,)
        Standard errors, NaN with a single group or if all residuals are 0, and degrees of freedom.
    """
    sums = design_effect.power_sums(sizes)
    squares = (residuals**2).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        model = design_effect.WorkingModel.of(sums, design_effect.PRIOR_ICC)
        error = np.sqrt(squares * model.effect / model.trace / sums[0])
        undefined = (model.df <= _TOLERANCE) | ~(error > _TOLERANCE)
    return np.where(undefined, np.nan, error), model.df


def modified_wilson(
    share: np.ndarray, n: np.ndarray, confidence: float, *, answers: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Compute Wilson's interval with a wider bound near 0 and 1.

    Parameters
    ----------
    share : ndarray, shape (metrics,)
        Observed proportions.
    n : ndarray, shape (metrics,)
        Effective numbers of trials; need not be integers.
    confidence : float
        Confidence level, 1 - a.
    answers : ndarray, shape (metrics,), optional
        Numbers of answers, if they are not ``n``.

    Returns
    -------
    low, high : ndarray, shape (metrics,)
        Bounds of the intervals.

    Notes
    -----
    With few successes, the lower bound of Wilson's interval is too high for independent answers. It is lowered to the
    proportion at which as many or more of the answers are right with the probability a, if that is smaller; this is
    the quantile a of Beta(x, y + 1) for x right and y wrong answers. The upper bound is treated alike. Brown, Cai and
    DasGupta use the Poisson limit of this quantile for up to 3 successes. The smaller bound is used here for any x, so
    that the bound is continuous in x.

    References
    ----------
    .. [1] Brown, Cai and DasGupta, "Interval Estimation for a Binomial Proportion", 2001, section 4.1.1.
    """
    answers = n if answers is None else answers
    low, high = _wilson(share, n, confidence)
    right, wrong = share * answers, (1 - share) * answers
    few = (right > 0) & (right < _MODIFIED_BELOW)
    low[few] = np.minimum(low[few], betaincinv(right[few], wrong[few] + 1, 1 - confidence))
    few = (wrong > 0) & (wrong < _MODIFIED_BELOW)
    high[few] = np.maximum(high[few], 1 - betaincinv(wrong[few], right[few] + 1, 1 - confidence))
    return low, high


def wilson(share: float, n: int, confidence: float) -> tuple[float, float]:
    """Compute Wilson's score interval of a proportion.

    Parameters
    ----------
    share : float
        The observed proportion. ``share * n`` need not be an integer, for example for a mean over seeds.
    n : int
        Number of independent trials.
    confidence : float
        Confidence level, for example 0.95.

    Returns
    -------
    low, high : float
        Bounds of the interval, which contains ``share``.

    References
    ----------
    .. [1] Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", 1927.
    .. [2] Brown, Cai and DasGupta, "Interval Estimation for a Binomial Proportion", 2001; it recommends the interval
       for small n.
    """
    low, high = _wilson(np.array([share]), np.array([n]), confidence)
    return float(low[0]), float(high[0])


def _wilson(share: np.ndarray, n: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's interval of arrays."""
    z2 = ndtri((1 + confidence) / 2) ** 2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    # rounding must not move a bound past the share, which is exact at 0 and 1
    return np.minimum(np.maximum(centre - half, 0.0), share), np.maximum(np.minimum(centre + half, 1.0), share)
