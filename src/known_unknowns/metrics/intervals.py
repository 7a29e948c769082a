"""Confidence intervals of ratios of sums over questions that come in groups (those on one image).

Questions on one image are not independent, so groups are resampled, not questions (the cluster bootstrap; Davison and
Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8). One matrix of weights serves all metrics of
all scorers, categories and seeds: a resample's ratio is then one weighted sum over another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri


class Interval(NamedTuple):
    """``low`` and ``high`` are None where there is nothing to estimate; ``method`` says how they were made."""

    low: float | None
    high: float | None
    method: str

    def shifted(self, by: float, method: str) -> Interval:
        if self.low is None or self.high is None:
            return self
        return Interval(self.low + by, self.high + by, method)


FEWEST_GROUPS = 10
"""With fewer groups the percentile interval is far too narrow (Cameron, Gelbach and Miller 2008 see it up to 30)."""
_SAME = 1e-12  # sums in another order differ in the last bits
UNDEFINED = Interval(None, None, "undefined: nothing in the denominator")


def wilson(share: float, n: int, confidence: float) -> tuple[float, float]:
    """Wilson's score interval of a proportion ``share`` of ``n`` independent trials (Wilson 1927; Brown, Cai and
    DasGupta 2001 recommend it for small n). ``share * n`` need not be whole, as in a mean over seeds."""
    z2 = ndtri((1 + confidence) / 2) ** 2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    # rounding must not push an end past the share it belongs to, which is exact at 0 and 1
    return float(min(max(centre - half, 0.0), share)), float(max(min(centre + half, 1.0), share))


def group_weights(groups: int, resamples: int, seed: int) -> np.ndarray:
    """How often each group is drawn in each resample with replacement: (resamples, groups) of float64."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return generator.multinomial(groups, np.full(groups, 1 / groups), size=resamples).astype(np.float64)


def ratio_replicates(weights: np.ndarray, numerators: np.ndarray, denominators: np.ndarray) -> np.ndarray:
    """The ratio in every resample; NaN where a resample has an empty denominator.

    ``numerators`` and ``denominators`` are sums per group, (groups, metrics); the result is (resamples, metrics).
    """
    above, below = np.hsplit(weights @ np.hstack([numerators, denominators]), 2)
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def share_interval(
    value: float, denominators: np.ndarray, replicates: np.ndarray, *, confidence: float, bootstrap: str
) -> Interval:
    """The interval of a proportion, given its denominator in every group (groups,) and its resamples.

    Wilson's where no two questions of the denominator share a group, else `clustered_interval`.
    """
    groups = int(np.count_nonzero(denominators))
    if denominators.max() <= 1:
        return Interval(*wilson(value, groups, confidence), "wilson")
    return clustered_interval(value, groups, replicates, confidence=confidence, bootstrap=bootstrap)


def clustered_interval(
    value: float, groups: int, replicates: np.ndarray, *, confidence: float, bootstrap: str
) -> Interval:
    """The percentile interval of a proportion's ``replicates`` (resamples,), which ``bootstrap`` describes.

    Percentiles, not BCa: they stay within [0, 1] and exist at every share (BCa's correction is infinite where no
    resample falls below the estimate), and with many groups the two agree. Resamples without a denominator are left
    out. The interval is widened to ``value`` where few uneven groups put it outside.

    Where every resample gives the same (all right, all wrong), or where `FEWEST_GROUPS` are not reached, the
    bootstrap knows no or too little uncertainty. That is its limit, not a certainty: then Wilson's interval with
    ``groups`` trials, as if the questions of a group were one. A ``value`` below 0, which no proportion has but an
    excess over chance may, has no interval then.
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
