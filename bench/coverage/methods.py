"""Intervals of clustered proportions to compare with those of the package, for many samples at once.

All functions take right answers and answers per group, arrays of shape (samples, groups) and (groups,), and return
the bounds, arrays of shape (samples,). `logit_t` and `korn_graubard` are the methods "xlogit" and "beta" of svyciprop
in R's package survey.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtri, stdtrit

from known_unknowns.metrics import intervals

Method = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
CONFIDENCE = 0.95
_TAIL = (1 - CONFIDENCE) / 2


def ours(right: np.ndarray, asked: np.ndarray, *, seeds: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return `known_unknowns.metrics.clustered_interval` of each sample."""
    value = right.sum(axis=1) / asked.sum()
    bounds = intervals.proportion_bounds(
        value,
        (right - value[:, None] * asked).T,
        np.broadcast_to(asked[:, None], right.T.shape),
        binary=np.ones(len(right), dtype=bool),
        confidence=CONFIDENCE,
        seeds=seeds,
    )
    return bounds.low, bounds.high


def linearised(right: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the proportion, its linearised variance and its degrees of freedom, as svymean of R does."""
    total, groups = asked.sum(), len(asked)
    value = right.sum(axis=1) / total
    squares = ((right - value[:, None] * asked) ** 2).sum(axis=1)
    return value, squares / total**2 * groups / (groups - 1), groups - 1


def logit_t(right: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return t intervals of the logit; where it is infinite, Clopper and Pearson's with one trial for each group."""
    value, variance, df = linearised(right, asked)
    pq = value * (1 - value)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = -stdtrit(df, _TAIL) * np.sqrt(variance) / pq
        low, high = expit(logit(value) - half), expit(logit(value) + half)
    other = _clopper_pearson(value, np.full(len(value), float(len(asked))))
    return np.where(pq > 0, low, other[0]), np.where(pq > 0, high, other[1])


def korn_graubard(right: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Clopper and Pearson's interval with the effective sample size, for any design effect."""
    return _clopper_pearson(*_effective(right, asked, np.inf))


def korn_graubard_truncated(right: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same with a design effect of at least 1."""
    return _clopper_pearson(*_effective(right, asked, asked.sum()))


def wilson_truncated(right: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Wilson's interval with the effective sample size and a design effect of at least 1 (Dean and Pagano)."""
    value, n = _effective(right, asked, asked.sum())
    z2 = ndtri(_TAIL) ** 2
    half = np.sqrt(z2 * (value * (1 - value) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    centre = (value + z2 / (2 * n)) / (1 + z2 / n)
    return centre - half, centre + half


def _effective(right: np.ndarray, asked: np.ndarray, most: float) -> tuple[np.ndarray, np.ndarray]:
    """The proportion and the effective sample size with the adjustment of Korn and Graubard, at most ``most``."""
    value, variance, df = linearised(right, asked)
    n = np.divide(value * (1 - value), variance, out=np.full(len(value), asked.sum()), where=variance > 0)
    return value, np.minimum(n * (stdtrit(asked.sum() - 1, _TAIL) / stdtrit(df, _TAIL)) ** 2, most)


def _clopper_pearson(value: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    right, wrong = value * n, (1 - value) * n
    low = np.where(right > 0, betaincinv(np.where(right > 0, right, 1), wrong + 1, _TAIL), 0)
    return low, np.where(wrong > 0, betaincinv(right + 1, np.where(wrong > 0, wrong, 1), 1 - _TAIL), 1)


METHODS: dict[str, Method] = {
    "this project": ours,
    "logit t": logit_t,
    "Korn and Graubard": korn_graubard,
    "Korn and Graubard, design effect at least 1": korn_graubard_truncated,
    "Wilson, design effect at least 1": wilson_truncated,
}
