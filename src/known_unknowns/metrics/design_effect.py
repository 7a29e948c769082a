"""The design effect of a clustered proportion, and the degrees of freedom of its estimate.

The design effect is the variance of a proportion, divided by the variance under independent questions [1]_. Its
estimate from the residuals of the groups is unreliable with few groups, and close to 1 whatever the truth is if only a
few answers are right, or only a few wrong. It is therefore averaged with the design effect of an assumed intraclass
correlation (ICC), weighted by degrees of freedom, as in a moderated t statistic [2]_. The data outweigh the assumption
from about `PRIOR_DF` informative groups on.

Functions work on arrays of metrics. A group enters by its size n only, through power sums ``n + n^2 + ...``.

References
----------
.. [1] Kish, "Survey Sampling", 1965, sections 5.4 and 8.2.
.. [2] Smyth, "Linear Models and Empirical Bayes Methods for Assessing Differential Expression in Microarray
   Experiments", 2004, section 3.
.. [3] Bell and McCaffrey, "Bias Reduction in Standard Errors for Linear Regression with Multi-Stage Samples", 2002:
   expected residuals and Satterthwaite degrees of freedom under a working model.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

PRIOR_ICC = 0.2
"""Assumed correlation of two answers in a group. Chosen by simulation (docs/metrics.md#intervals)."""
PRIOR_SEED_ICC = 0.5
"""Assumed correlation of two answers to the same question with different seeds. Chosen as `PRIOR_ICC`."""
PRIOR_DF = 8.0
"""Degrees of freedom that the assumption counts for. Chosen by simulation (docs/metrics.md#intervals)."""
_ROUNDING = 1e-9  # groups of single questions whose weights are not whole numbers have the size 1 up to rounding
_LEAST_SHARE = 0.3  # lower limit of the correction of p (1 - p) with very few groups


class DesignEffect(NamedTuple):
    """Design effects and the degrees of freedom of their estimates, arrays of shape (metrics,)."""

    effect: np.ndarray
    df: np.ndarray


def power_sums(sizes: np.ndarray) -> np.ndarray:
    """Return the sums of the 1st to 5th power of ``sizes`` (groups, metrics), an array of shape (5, metrics)."""
    power, sums = np.ones_like(sizes), []
    for _ in range(5):
        power = power * sizes
        sums.append(power.sum(axis=0))
    return np.array(sums)


class WorkingModel(NamedTuple):
    """Moments of the residuals under a common ICC, arrays of shape (metrics,).

    Attributes
    ----------
    effect : ndarray
        The design effect.
    trace : ndarray
        Expected sum of squared residuals, in units of p (1 - p).
    df : ndarray
        Satterthwaite degrees of freedom of that sum for normal residuals.
    excess : ndarray
        What the kurtosis of binary answers adds to its relative variance, in units of (1 - 6 p q) / (p q).
    """

    effect: np.ndarray
    trace: np.ndarray
    df: np.ndarray
    excess: np.ndarray

    @classmethod
    def of(cls, sums: np.ndarray, icc: np.ndarray | float) -> WorkingModel:
        """Compute the moments.

        Parameters
        ----------
        sums : ndarray, shape (5, metrics)
            The result of `power_sums`.
        icc : float or ndarray, shape (metrics,)
            The correlation of two answers in a group.

        Returns
        -------
        WorkingModel

        Notes
        -----
        A group of n questions has the variance v = n (1 - r) + n^2 r, in units of p (1 - p). With N questions, h = n /
        N and V the sum of v, the residuals have the covariance ``diag(v) - h v' - v h' + V h h'``. Its trace and the
        trace of its square are sums of powers of n.
        """
        n1, n2, n3, n4, n5 = sums
        r, q = icc, 1 - icc
        total = q * n1 + r * n2  # V
        v2 = q * q * n2 + 2 * r * q * n3 + r * r * n4
        hh, hv = n2 / n1**2, (q * n2 + r * n3) / n1
        hv2 = (q * q * n3 + 2 * r * q * n4 + r * r * n5) / n1
        h2v = (q * n3 + r * n4) / n1**2
        trace = total - 2 * hv + hh * total
        square = v2 + 2 * (hv**2 + hh * v2) + (total * hh) ** 2 - 4 * hv2 + 2 * total * h2v - 4 * total * hh * hv
        fourth = q**3 * n1 + 3 * q * q * r * n2 + 3 * q * r * r * n3 + r**3 * n4
        df = np.divide(trace**2, square, out=np.zeros_like(trace), where=square > 1e-9 * v2)
        return cls(total / n1, trace, df, fourth / total**2)


def prior_icc(sums: np.ndarray, seeds: int) -> np.ndarray:
    """Compute the assumed mean correlation of two answers in a group.

    Parameters
    ----------
    sums : ndarray, shape (5, metrics)
        The result of `power_sums` of the answers with all seeds.
    seeds : int
        Number of answers to each question.

    Returns
    -------
    ndarray, shape (metrics,)
        `PRIOR_ICC` with one seed; with more, between `PRIOR_ICC` and `PRIOR_SEED_ICC`.
    """
    others = np.maximum(sums[1] / sums[0] - 1, 1e-9)  # answers in the group besides one's own
    return PRIOR_ICC + (PRIOR_SEED_ICC - PRIOR_ICC) * np.minimum(1, (seeds - 1) / others)


def estimate(
    value: np.ndarray, squares: np.ndarray, sums: np.ndarray, *, floor: np.ndarray | float, seeds: int = 1
) -> DesignEffect:
    """Estimate design effects.

    Parameters
    ----------
    value : ndarray, shape (metrics,)
        Proportions p.
    squares : ndarray, shape (metrics,)
        Sums of the squared residuals of the groups, right - p * asked.
    sums : ndarray, shape (5, metrics)
        The result of `power_sums` of the questions asked.
    floor : float or ndarray
        Least design effect: 1 for answers that are right or wrong.
    seeds : int, default 1
        Number of answers to each question.

    Returns
    -------
    DesignEffect

    Notes
    -----
    The observed design effect is D = S E0 / (T0 p q), where S are the squares, and E0 and T0 the design effect and the
    trace of the working model with `prior_icc`. p q is corrected for the estimation of p. D has d degrees of freedom,
    with ``2 / d = 2 / df + max(0, 1 - 6 p q) / (p q) * excess``: about twice the number of groups at p = 1/2, and twice
    the number of right answers if these are few. The result is (a E0 + d D) / (a + d) with a + d degrees of freedom,
    where a is `PRIOR_DF`. A second pass recomputes d with the ICC of the first result.
    """
    pq = value * (1 - value)
    prior = WorkingModel.of(sums, prior_icc(sums, seeds))
    usable = (pq > 0) & (prior.df > 0)
    unbiased = pq / np.clip(1 - prior.effect / sums[0], _LEAST_SHARE, 1)
    observed = np.divide(squares * prior.effect, prior.trace * unbiased, out=np.zeros_like(prior.effect), where=usable)
    most = sums[1] / sums[0]  # the design effect of the ICC 1
    model = prior
    for _ in range(2):
        df = _degrees_of_freedom(model, pq, usable)
        effect = np.maximum((PRIOR_DF * prior.effect + df * observed) / (PRIOR_DF + df), floor)
        icc = np.divide(effect - 1, most - 1, out=np.zeros_like(effect), where=most > 1 + _ROUNDING)
        model = WorkingModel.of(sums, np.clip(icc, 0, 1))
    return DesignEffect(effect, PRIOR_DF + df)


def intraclass_correlation(value: np.ndarray, right: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Estimate the intraclass correlation of binary answers [1]_.

    Parameters
    ----------
    value : ndarray, shape (metrics,)
        Proportions p.
    right, sizes : ndarray, shape (groups, metrics)
        Right answers and all answers of each group.

    Returns
    -------
    ndarray, shape (metrics,)
        1 less the variance within the groups over that of all answers; NaN without variance, or if no group has two
        answers.

    References
    ----------
    .. [1] Fleiss and Cuzick, "The Reliability of Dichotomous Judgments: Unequal Numbers of Judges per Subject", 1979.
    """
    within = np.divide(right * (sizes - right), sizes, out=np.zeros_like(right), where=sizes > 0).sum(axis=0)
    below = (sizes.sum(axis=0) - np.count_nonzero(sizes, axis=0)) * value * (1 - value)
    return 1 - np.divide(within, below, out=np.full(len(value), np.nan), where=below > _ROUNDING)


def finite_population_correction(n: float, whole: float) -> float:
    """Return the factor of a standard error if n of ``whole`` questions were drawn.

    Parameters
    ----------
    n, whole : float
        Number of questions drawn, and of all.

    Returns
    -------
    float
        From 0 to 1.

    References
    ----------
    .. [1] Cochran, "Sampling Techniques", 3rd edition, 1977, section 2.6.
    """
    return math.sqrt(max(0.0, 1 - n / whole)) if whole else 0.0


def _degrees_of_freedom(model: WorkingModel, pq: np.ndarray, usable: np.ndarray) -> np.ndarray:
    """Degrees of freedom of the observed design effect; 0 where it is not ``usable``."""
    df, pq = np.where(usable, model.df, 1), np.where(usable, pq, 1)
    return np.where(usable, 2 / (2 / df + np.maximum(1 - 6 * pq, 0) / pq * model.excess), 0)
