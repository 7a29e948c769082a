"""Selective prediction: the risk among the answered questions, as a function of coverage.

The risk-coverage curve is that of El-Yaniv and Wiener [1]_. The area under it (AURC) is that of Geifman, Uziel and
El-Yaniv [2]_: the mean, over k = 1..n, of the risk among the k most confident of n questions.

Questions of equal confidence have no order. They enter the curve together, at the mean over all their orders. The area
is then a sum over blocks of equal confidence, with harmonic numbers H. A block of m questions, a share r of which is
wrong, after k questions, w of which are wrong, adds ``r m + (w - r k) (H(k + m) - H(k))``.

References
----------
.. [1] El-Yaniv and Wiener, "On the Foundations of Noise-free Selective Classification", 2010.
.. [2] Geifman, Uziel and El-Yaniv, "Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers", 2019.
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, polygamma

from known_unknowns.benchmark.metrics import RiskCoverage

_CHUNK = 1 << 22  # number of weights summed at once: 32 MiB


def _blocks(confidence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The order of falling confidence, and the start of each block of equal confidence in it."""
    known = np.where(np.isnan(confidence), -np.inf, confidence)
    order = np.argsort(-known, kind="stable")
    ordered = known[order]
    return order, np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1])


def aurc(curve: RiskCoverage) -> float:
    """Compute the area under the risk-coverage curve.

    Parameters
    ----------
    curve : RiskCoverage
        Confidence and errors.

    Returns
    -------
    float
        The area, from 0 to 1; NaN if no confidence is known.

    References
    ----------
    .. [1] Geifman, Uziel and El-Yaniv, "Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers", 2019.
    """
    if not curve.defined:
        return float("nan")
    return float(aurc_replicates(curve, np.ones((1, len(curve.wrong))))[0])


def aurc_replicates(curve: RiskCoverage, weights: np.ndarray) -> np.ndarray:
    """Compute the area in every resample.

    Parameters
    ----------
    curve : RiskCoverage
        Confidence and errors.
    weights : ndarray, shape (resamples, questions)
        Whole numbers: how often each question was drawn. A question drawn several times ties with itself.

    Returns
    -------
    ndarray, shape (resamples,)
        The areas; NaN for a resample without questions.
    """
    order, starts = _blocks(curve.confidence)
    step = max(1, _CHUNK // max(1, len(order)))
    parts = [
        _areas(weights[at : at + step][:, order], curve.wrong[order].astype(np.float64), starts)
        for at in range(0, len(weights), step)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def _areas(weights: np.ndarray, wrong: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Areas in each resample; ``weights`` and ``wrong`` are in the order of `_blocks`."""
    size = np.add.reduceat(weights, starts, axis=1)
    errors = np.add.reduceat(weights * wrong, starts, axis=1)
    after = size.cumsum(axis=1).astype(np.int64)
    before = after - size.astype(np.int64)
    wrong_before = errors.cumsum(axis=1) - errors
    rate = np.divide(errors, size, out=np.zeros_like(errors), where=size > 0)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, after.max(initial=0) + 1))])
    area = (errors + (wrong_before - rate * before) * (harmonic[after] - harmonic[before])).sum(axis=1)
    total = after[:, -1]
    return np.divide(area, total, out=np.full(len(area), np.nan), where=total > 0)


def error_weights(confidence: np.ndarray) -> np.ndarray:
    """Compute the weight of each question's error in the area: `aurc` is the sum of ``wrong`` with these weights.

    Parameters
    ----------
    confidence : ndarray, shape (questions,)
        The confidence of `RiskCoverage`.

    Returns
    -------
    ndarray, shape (questions,)
        Positive weights whose sum is 1. The errors of confident questions weigh most.
    """
    n = len(confidence)
    order, starts = _blocks(confidence)
    size = np.diff(np.append(starts, n))
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, n + 1))])
    after = starts + size
    block = 1 - starts / size * (harmonic[after] - harmonic[starts]) + harmonic[n] - harmonic[after]
    weights = np.empty(n)
    weights[order] = np.repeat(block, size) / n
    return weights


def aurc_without_groups(curve: RiskCoverage, column: np.ndarray, groups: int) -> np.ndarray:
    """Compute the area without each group in turn, for the jackknife.

    Parameters
    ----------
    curve : RiskCoverage
        Confidence and errors.
    column : ndarray of int, shape (questions,)
        The group of each question, from 0 to ``groups`` - 1.
    groups : int
        Number of groups.

    Returns
    -------
    ndarray, shape (groups,)
        The areas; NaN where no question remains.
    """
    step = max(1, _CHUNK // max(1, len(column)))
    parts = [
        aurc_replicates(curve, (column != np.arange(at, min(at + step, groups))[:, None]).astype(np.float64))
        for at in range(0, groups, step)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def risks(curve: RiskCoverage, coverages: np.ndarray) -> np.ndarray:
    """Compute the risk at given coverages, for drawing the curve.

    Parameters
    ----------
    curve : RiskCoverage
        Confidence and errors.
    coverages : ndarray, shape (points,)
        Shares of all questions, greater than 0.

    Returns
    -------
    ndarray, shape (points,)
        The share of wrong answers among the most confident questions, at each coverage.

    References
    ----------
    .. [1] El-Yaniv and Wiener, "On the Foundations of Noise-free Selective Classification", 2010.
    """
    order, starts = _blocks(curve.confidence)
    wrong = curve.wrong[order].astype(np.float64)
    counts = np.concatenate([[0], np.append(starts[1:], len(order))])
    errors = np.concatenate([[0.0], np.add.reduceat(wrong, starts).cumsum()])
    answered = np.asarray(coverages) * len(order)
    return np.interp(answered, counts, errors) / answered


def aurc_influence(curve: RiskCoverage) -> np.ndarray:
    """Compute the derivative of the area by the weight of each question, for the linearised variance.

    Parameters
    ----------
    curve : RiskCoverage
        Confidence and errors.

    Returns
    -------
    ndarray, shape (questions,)
        The derivatives, less their mean, so that they sum to 0.

    Notes
    -----
    The formula of the module holds for weights that are not whole numbers if H(x) is psi(x + 1) less psi(1), with the
    digamma function psi.
    """
    order, starts = _blocks(curve.confidence)
    wrong, n = curve.wrong[order].astype(np.float64), len(order)
    size = np.diff(np.append(starts, n))
    errors = np.add.reduceat(wrong, starts)
    rate, after = errors / size, starts + size
    rest = errors.cumsum() - errors - rate * starts
    length = digamma(after + 1.0) - digamma(starts + 1.0)
    slope = polygamma(1, after + 1.0)
    own_length = -starts / size * length  # times the error less its block's rate
    later_length = length.sum() - length.cumsum()
    later = rest * (slope - polygamma(1, starts + 1.0)) - rate * length
    later = later.sum() - later.cumsum()
    block = np.repeat(np.arange(len(starts)), size)
    found = wrong + own_length[block] * (wrong - rate[block]) + (rest * slope)[block]
    found += wrong * later_length[block] + later[block]
    influence = np.empty(n)
    influence[order] = (found - found.mean()) / n
    return influence
