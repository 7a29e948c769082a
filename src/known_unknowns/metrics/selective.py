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

from collections.abc import Mapping

import numpy as np
from scipy.special import digamma, polygamma

from known_unknowns.benchmark.metrics import RiskCoverage
from known_unknowns.records import Definition

DEFINITIONS: Mapping[str, Definition] = {
    "aurc": Definition(
        "Mean error rate of the k most confident answers, over all k; smaller is better.",
        "docs/metrics.md#metrics-and-outcomes",
    )
}
"""The metric in a sentence, for pages."""
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
    order, starts = _blocks(curve.confidence)
    wrong, column = curve.wrong[order].astype(np.float64), column[order]
    n = len(order)
    members = np.bincount(column, minlength=groups)

    # a large group takes a pass over the questions of its own, and there are few; the others share their passes
    large = members**2 > n
    areas = np.empty(groups)
    for group in np.flatnonzero(large):
        kept = (column != group).astype(np.float64)
        areas[group] = _areas(kept[None], wrong, starts)[0]
    areas[~large] = _areas_without_small(wrong, starts, column, groups)[~large]
    return areas


def _areas_without_small(wrong: np.ndarray, starts: np.ndarray, column: np.ndarray, groups: int) -> np.ndarray:
    """Areas without each group; valid for the groups of at most sqrt(n) questions.

    Between two of its own blocks, a group changes the terms of the other blocks only by the numbers of its questions
    and errors so far. With prefix sums for each number of questions, the sum over these blocks is a difference.
    """
    n, blocks = len(wrong), len(starts)
    ends = np.append(starts[1:], n)
    size, errors = ends - starts, np.add.reduceat(wrong, starts)
    rate, wrong_before = errors / size, errors.cumsum() - errors
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, n + 1))])
    members = np.bincount(column, minlength=groups)

    # one row for each group and block that share questions, and for each group a last one behind all blocks
    small = members[column] ** 2 <= n
    block = np.repeat(np.arange(blocks), size)
    key = column[small] * (blocks + 1) + block[small]
    behind = np.arange(groups) * (blocks + 1) + blocks
    rows, row = np.unique(np.concatenate([key, behind]), return_inverse=True)
    row = row[: len(key)]
    group, at = np.divmod(rows, blocks + 1)
    own_size = np.bincount(row, minlength=len(rows))
    own_errors = np.bincount(row, weights=wrong[small], minlength=len(rows))
    first = np.searchsorted(group, np.arange(groups))
    own_before, own_wrong_before = (values.cumsum() - values for values in (own_size, own_errors))
    own_before -= own_before[first][group]
    own_wrong_before -= own_wrong_before[first][group]

    # the group's own blocks, without its questions
    inside = at < blocks
    of = at[inside]
    left, left_errors = size[of] - own_size[inside], errors[of] - own_errors[inside]
    left_rate = left_errors / np.maximum(left, 1)
    before = starts[of] - own_before[inside]
    rest = wrong_before[of] - own_wrong_before[inside] - left_rate * before
    terms = np.zeros(len(rows))
    terms[inside] = left_errors + rest * (harmonic[before + left] - harmonic[before])

    # the blocks from the group's previous block to this one
    since = np.concatenate([[0], at[:-1] + 1])
    since[first] = 0
    boundary = np.append(starts, n)
    for removed in np.unique(own_before):
        shifted = harmonic[np.maximum(boundary - removed, 0)]
        block_terms = errors + (wrong_before - rate * (starts - removed)) * np.diff(shifted)
        prefix = np.concatenate([[0.0], block_terms.cumsum()])
        chosen = own_before == removed
        begin, end = since[chosen], at[chosen]
        terms[chosen] += prefix[end] - prefix[begin] - own_wrong_before[chosen] * (shifted[end] - shifted[begin])

    remaining = n - members
    areas = np.bincount(group, weights=terms, minlength=groups)
    return np.divide(areas, remaining, out=np.full(groups, np.nan), where=remaining > 0)


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
