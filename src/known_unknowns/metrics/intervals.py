"""Confidence intervals of ratios of sums over questions that come in groups, such as the questions on one image.

Questions on one image are not independent. Therefore groups are resampled, not questions (cluster bootstrap [1]_). One
matrix of weights serves all metrics of all scorers, categories and seeds: the ratio of a resample is one weighted sum
over another.

References
----------
.. [1] Davison and Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri


class Interval(NamedTuple):
    """A confidence interval. ``low`` and ``high`` are None if it is undefined; ``method`` names how it was made."""

    low: float | None
    high: float | None
    method: str

    def shifted(self, by: float, method: str) -> Interval:
        """Add ``by`` to both bounds."""
        if self.low is None or self.high is None:
            return self
        return Interval(self.low + by, self.high + by, method)


FEWEST_GROUPS = 10
"""With fewer groups the percentile interval is far too narrow (Cameron, Gelbach and Miller, "Bootstrap-Based
Improvements for Inference with Clustered Errors", 2008, observe it with up to 30 groups)."""
_SAME = 1e-12  # sums in another order differ in the last bits
UNDEFINED = Interval(None, None, "undefined: nothing in the denominator")


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
    z2 = ndtri((1 + confidence) / 2) ** 2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    # rounding must not move a bound past the share, which is exact at 0 and 1
    return float(min(max(centre - half, 0.0), share)), float(max(min(centre + half, 1.0), share))


def group_weights(groups: int, resamples: int, seed: int) -> np.ndarray:
    """Draw groups with replacement.

    Parameters
    ----------
    groups : int
        Number of groups; each resample draws as many.
    resamples : int
        Number of resamples.
    seed : int
        Seed of the PCG64 generator.

    Returns
    -------
    ndarray of float64, shape (resamples, groups)
        How often each group is drawn in each resample.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    return generator.multinomial(groups, np.full(groups, 1 / groups), size=resamples).astype(np.float64)


def ratio_replicates(weights: np.ndarray, numerators: np.ndarray, denominators: np.ndarray) -> np.ndarray:
    """Compute the ratios in every resample.

    Parameters
    ----------
    weights : ndarray, shape (resamples, groups)
        The result of `group_weights`.
    numerators, denominators : ndarray, shape (groups, metrics)
        Sums over the questions of each group.

    Returns
    -------
    ndarray, shape (resamples, metrics)
        The ratios; NaN where a resample has an empty denominator.
    """
    above, below = np.hsplit(weights @ np.hstack([numerators, denominators]), 2)
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def share_interval(
    value: float, denominators: np.ndarray, replicates: np.ndarray, *, confidence: float, bootstrap: str
) -> Interval:
    """Compute the interval of a proportion.

    The interval is Wilson's if no two questions of the denominator share a group, else `clustered_interval`.

    Parameters
    ----------
    value : float
        The proportion.
    denominators : ndarray, shape (groups,)
        The denominator in every group.
    replicates : ndarray, shape (resamples,)
        The proportion in every resample.
    confidence : float
        Confidence level.
    bootstrap : str
        Text that describes the resampling; the interval's method.

    Returns
    -------
    Interval
    """
    groups = int(np.count_nonzero(denominators))
    if denominators.max() <= 1:
        return Interval(*wilson(value, groups, confidence), "wilson")
    return clustered_interval(value, groups, replicates, confidence=confidence, bootstrap=bootstrap)


def clustered_interval(
    value: float, groups: int, replicates: np.ndarray, *, confidence: float, bootstrap: str
) -> Interval:
    """Compute the percentile interval of the cluster bootstrap.

    Parameters
    ----------
    value : float
        The estimate.
    groups : int
        Number of groups in the denominator.
    replicates : ndarray, shape (resamples,)
        The estimate in every resample; NaN (an empty denominator) is left out.
    confidence : float
        Confidence level.
    bootstrap : str
        Text that describes the resampling; the interval's method.

    Returns
    -------
    Interval
        It contains ``value``: it is widened where few uneven groups leave it outside.

    Notes
    -----
    Percentiles are used rather than BCa. They stay within [0, 1] and exist for every proportion, whereas BCa's
    correction is infinite if no resample is below the estimate. With many groups the two agree.

    If all resamples agree (all correct, all wrong), or if there are fewer than `FEWEST_GROUPS` groups, the bootstrap
    underestimates the uncertainty. The interval is then Wilson's with ``groups`` trials, as if each group were one
    question. A negative ``value``, which no proportion has but an excess over chance can have, has no interval then.

    References
    ----------
    .. [1] Davison and Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8.
    """
    drawn = replicates[~np.isnan(replicates)]
    if value < 0 and (groups < FEWEST_GROUPS or np.ptp(drawn) < _SAME):
        return Interval(None, None, f"none: {groups} groups are too few to resample, or all resamples agree")
    if groups < FEWEST_GROUPS:
        return Interval(*wilson(value, groups, confidence), f"wilson over {groups} groups (too few to resample)")
    if np.ptp(drawn) < _SAME:
        return Interval(*wilson(value, groups, confidence), f"wilson over {groups} groups (all resamples agree)")
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Interval(float(min(low, value)), float(max(high, value)), bootstrap)
