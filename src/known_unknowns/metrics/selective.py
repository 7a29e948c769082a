"""Selective prediction: the risk among the questions answered, as less and less sure ones are answered.

El-Yaniv and Wiener, "On the Foundations of Noise-free Selective Classification" (2010); the area under the curve
(AURC) is that of Geifman, Uziel and El-Yaniv, "Bias-Reduced Uncertainty Estimation" (2019): the mean, over k = 1..n,
of the risk among the k most confident of n questions.

Questions of equal confidence have no order. They enter the curve together, at the mean over all their orders: the
area is then a sum over blocks of equal confidence, with harmonic numbers H. A block of m questions of which a share r
is wrong, after k questions of which w are wrong, adds ``r m + (w - r k) (H(k + m) - H(k))``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_CHUNK = 1 << 22  # weights of so many questions are summed at once: 32 MiB


class RiskCoverage(NamedTuple):
    """Arrays (questions,): how sure the model is that it should answer, and whether its answer is wrong (0 to 1).

    A confidence of NaN was not measured; such questions come last, as the least sure.
    """

    confidence: np.ndarray
    wrong: np.ndarray

    @property
    def defined(self) -> bool:
        return bool(np.any(~np.isnan(self.confidence)))


def _blocks(confidence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The order of falling confidence, and where in it each block of equals begins."""
    sure = np.where(np.isnan(confidence), -np.inf, confidence)
    order = np.argsort(-sure, kind="stable")
    ordered = sure[order]
    return order, np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1])


def aurc(curve: RiskCoverage) -> float:
    """The area under the curve; NaN where no confidence was measured."""
    if not curve.defined:
        return float("nan")
    return float(aurc_replicates(curve, np.ones((1, len(curve.wrong))))[0])


def aurc_replicates(curve: RiskCoverage, weights: np.ndarray) -> np.ndarray:
    """The area in every resample; NaN in one that drew no question.

    ``weights`` (resamples, questions) are whole numbers: how often each question was drawn. Those drawn several times
    tie with themselves.
    """
    order, starts = _blocks(curve.confidence)
    step = max(1, _CHUNK // max(1, len(order)))
    parts = [
        _areas(weights[at : at + step][:, order], curve.wrong[order].astype(np.float64), starts)
        for at in range(0, len(weights), step)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def _areas(weights: np.ndarray, wrong: np.ndarray, starts: np.ndarray) -> np.ndarray:
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


def risks(curve: RiskCoverage, coverages: np.ndarray) -> np.ndarray:
    """The risk at each of some ``coverages`` (points,), shares of all questions above 0; the curve that is drawn."""
    order, starts = _blocks(curve.confidence)
    wrong = curve.wrong[order].astype(np.float64)
    counts = np.concatenate([[0], np.append(starts[1:], len(order))])
    errors = np.concatenate([[0.0], np.add.reduceat(wrong, starts).cumsum()])
    answered = np.asarray(coverages) * len(order)
    return np.interp(answered, counts, errors) / answered
