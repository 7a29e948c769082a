"""Metrics of confidence: whether it says which attempts are wrong, and whether it is as high as the accuracy.

An attempt is a reply that chooses an option other than the refusal. Let c be its confidence, from 0 to 1, and y = 1 if
it is right, else 0. Attempts without a known confidence are left out. Equal confidences are never separated.

| metric            | definition                                                                                  |
|-------------------|---------------------------------------------------------------------------------------------|
| auroc             | probability that a right attempt has a higher c than a wrong one, equal ones: one half [1]_ |
| ece               | mean distance of mean c and mean y over `BINS` bins of equal mass, weighted by size [2]_    |
| overconfidence    | mean of c less mean of y                                                                    |
| aurc              | area under the curve of risk against coverage (`selective`)                                 |
| excess_aurc       | aurc less that of the best order, in which all right attempts come first [3]_               |
| accuracy_at_80    | accuracy of the 80% of the attempts with the highest c [4]_                                 |

The refusals of the model itself are judged by what it would answer: an attempt counts by its answer, a refusal or an
abstention by the answer without the refusal option (`benchmark.protocol.FORCED`), and as wrong where no option but the
refusal is right.

| metric               | definition                                                                               |
|----------------------|------------------------------------------------------------------------------------------|
| abstention_recall    | of the answers that are or would be wrong, the share that was refused or abstained [5]_  |
| auroc                | the area of the two confidences 0 (refused) and 1 (attempted) for answers that are or    |
|                      | would be right                                                                           |
| selective_gain       | accuracy of the attempts, less that of all answers, those instead of refusals included   |

The second term of ``selective_gain`` is the expected accuracy of the attempts if as many questions had been refused at
random. Each of the three has two rows, ``<metric>_low_bound`` and ``<metric>_high_bound``: all refused questions whose
answer is not known would be answered right, or wrong (`refusal_bounds`).

References
----------
.. [1] Hanley and McNeil, "The Meaning and Use of the Area under a Receiver Operating Characteristic Curve", 1982.
   Obuchowski, "Nonparametric Analysis of Clustered ROC Curve Data", 1997, has the variance.
.. [2] Naeini, Cooper and Hauskrecht, "Obtaining Well Calibrated Probabilities Using Bayesian Binning", 2015, and for
   bins of equal mass Nixon et al., "Measuring Calibration in Deep Learning", 2019.
.. [3] Geifman, Uziel and El-Yaniv, "Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers", 2019.
.. [4] El-Yaniv and Wiener, "On the Foundations of Noise-free Selective Classification", 2010.
.. [5] Feng et al., "Don't Hallucinate, Abstain: Identifying LLM Knowledge Gaps via Multi-LLM Collaboration", 2024.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from known_unknowns.benchmark.metrics import RiskCoverage
from known_unknowns.metrics.estimates import Estimates
from known_unknowns.metrics.selective import aurc, aurc_influence, error_weights, risks
from known_unknowns.records import Definition, Metric

BINS = 10
"""Number of bins of equal mass. Their bias is simulated in bench/confidence."""
_ROUNDING = 1e-9
LOW_BOUND, HIGH_BOUND = "_low_bound", "_high_bound"
"""Ends of the names of the bounds of a metric of refusals (`refusal_bounds`)."""

_ATTEMPTS, _REFUSALS = "docs/metrics.md#attempts", "docs/metrics.md#refusals"
DEFINITIONS: Mapping[str, Definition] = {
    "auroc": Definition(
        "Probability that a right attempt has a higher confidence than a wrong one; 50% says nothing.", _ATTEMPTS
    ),
    "ece": Definition("Mean distance of confidence and accuracy over bins with equally many attempts.", _ATTEMPTS),
    "overconfidence": Definition("Mean confidence of the attempts less their accuracy.", _ATTEMPTS),
    "excess_aurc": Definition(
        "Area under the curve of risk against coverage, less that with all right attempts first; 0 is best.", _ATTEMPTS
    ),
    "accuracy_at_80": Definition("Accuracy of the 80% of the attempts with the highest confidence.", _ATTEMPTS),
}
"""The metrics of attempts in sentences, for pages."""
REFUSAL_DEFINITIONS: Mapping[str, Definition] = {
    "selective_gain": Definition(
        "Accuracy of the attempts, less that expected if as many questions had been refused at random.", _REFUSALS
    ),
    "abstention_recall": Definition("Share of the answers that are or would be wrong that was refused.", _REFUSALS),
    "auroc": Definition("AUROC of two confidences, 0 for a refusal and 1 for an attempt; 50% says nothing.", _REFUSALS),
}
"""The metrics of refusals in sentences, for pages."""


class Statistic(NamedTuple):
    """The value of a metric, and what its interval needs.

    Attributes
    ----------
    value : float
        The value; NaN if it is undefined.
    influence : ndarray, shape (attempts,)
        Derivative of the value by the weight of each attempt. The sum is 0.
    sizes : ndarray, shape (attempts,)
        The part of each attempt in the number of observations. Their sum is that number.
    proportion : bool
        Whether the value is always between 0 and 1, so that its interval is too.
    binary : bool
        Whether it is a ratio of counts.
    slack : tuple of float
        How far the ends of the interval are moved down and up, because the value can be biased.
    reason : str
        Why the value is undefined.
    """

    value: float
    influence: np.ndarray
    sizes: np.ndarray
    proportion: bool = True
    binary: bool = False
    slack: tuple[float, float] = (0.0, 0.0)
    reason: str = ""


def undefined(n: int, reason: str) -> Statistic:
    """Return a statistic of ``n`` attempts without a value."""
    return Statistic(float("nan"), np.zeros(n), np.zeros(n), reason=reason)


def calibration(confidence: np.ndarray, correct: np.ndarray, *, bins: int = BINS) -> dict[str, Statistic]:
    """Compute the metrics of the module's first table.

    Parameters
    ----------
    confidence : ndarray, shape (attempts,)
        Confidences from 0 to 1, all known. At least one.
    correct : ndarray of bool, shape (attempts,)
        Whether the attempt is right.
    bins : int, default `BINS`
        Number of bins of equal mass.

    Returns
    -------
    dict from str to Statistic
    """
    return {
        "auroc": auroc(confidence, correct),
        **calibration_errors(confidence, correct, bins=bins),
        **risk_coverage(confidence, correct),
    }


def auroc(confidence: np.ndarray, correct: np.ndarray) -> Statistic:
    """Compute the area under the ROC curve of confidence for correctness.

    The influence of an attempt is its placement among those of the other kind [1]_. The number of observations is the
    harmonic mean of the numbers of right and wrong attempts, in which each kind has half a part.

    References
    ----------
    .. [1] DeLong, DeLong and Clarke-Pearson, "Comparing the Areas under Two or More Correlated Receiver Operating
       Characteristic Curves", 1988.

    Examples
    --------
    >>> auroc(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, False, True, False])).value
    0.75
    """
    n, right = len(correct), np.asarray(correct, dtype=bool)
    positives = int(right.sum())
    negatives = n - positives
    if not positives or not negatives:
        return undefined(n, f"no answer is {'wrong' if positives else 'right'}")
    others = _ranks(confidence)
    for kind in (right, ~right):
        others[kind] -= _ranks(confidence[kind])  # attempts of the other kind below, equal ones half
    place = np.where(right, others / negatives, 1 - others / positives)
    value = float(place[right].mean())
    of_kind = np.where(right, positives, negatives)
    return Statistic(value, (place - value) / of_kind, positives * negatives / n / of_kind)


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return the rank of each value, from 1; equal values have their mean rank."""
    return pd.Series(values).rank().to_numpy(copy=True)


def bins_of(confidence: np.ndarray, bins: int = BINS) -> np.ndarray:
    """Return the bin of each attempt, from 0: bins of equal mass, in which equal confidences are together.

    An attempt is in the bin of its mean rank among equal confidences.

    Examples
    --------
    >>> bins_of(np.array([0.1, 0.2, 0.3, 0.9, 0.9, 0.9]), 2).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    return np.minimum((bins * (_ranks(confidence) - 0.5) / len(confidence)).astype(np.int64), bins - 1)


class Bins(NamedTuple):
    """Non-empty bins, arrays of shape (bins,): number of attempts, mean confidence, accuracy."""

    size: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray


def binned(confidence: np.ndarray, correct: np.ndarray, bins: int = BINS) -> tuple[Bins, np.ndarray]:
    """Return the non-empty bins, and the bin of each attempt."""
    _, place = np.unique(bins_of(confidence, bins), return_inverse=True)
    size = np.bincount(place)
    sums = (np.bincount(place, weights=values) for values in (confidence, correct))
    return Bins(size, *(values / size for values in sums)), place


def calibration_errors(confidence: np.ndarray, correct: np.ndarray, *, bins: int = BINS) -> dict[str, Statistic]:
    """Compute ``ece`` and ``overconfidence``.

    The calibration error is biased: the binomial errors of the bins' accuracies add to it, most of all for a calibrated
    model, which the data may not exclude. The lower end of its interval is therefore moved down by this greatest bias,
    the mean absolute error of a normal accuracy with the binomial variance. Bins are taken as given.
    """
    found, place = binned(confidence, correct, bins)
    n, ones = len(confidence), np.ones(len(confidence))
    gap = found.confidence - found.accuracy
    gap[np.abs(gap) < _ROUNDING] = 0.0  # else the sign of a gap of 0, and the interval, would be that of rounding
    parts = np.sign(gap)[place] * (confidence - correct)
    value = float(parts.mean())
    # the variance of an accuracy of 0 or 1 is not 0: one right and one wrong attempt are added (Laplace)
    smooth = (found.accuracy * found.size + 1) / (found.size + 2)
    deviation = np.sqrt(smooth * (1 - smooth) / found.size)
    greatest = float(found.size @ deviation) / n * float(np.sqrt(2 / np.pi))
    signed = confidence - correct
    return {
        "ece": Statistic(value, (parts - value) / n, ones, proportion=False, slack=(greatest, 0.0)),
        "overconfidence": Statistic(float(signed.mean()), (signed - signed.mean()) / n, ones, proportion=False),
    }


def risk_coverage(confidence: np.ndarray, correct: np.ndarray) -> dict[str, Statistic]:
    """Compute the areas under the curve of risk against coverage, and the accuracy at a coverage of 80%."""
    wrong = 1.0 - np.asarray(correct, dtype=float)
    curve, best = RiskCoverage(confidence, wrong), RiskCoverage(-wrong, wrong)
    area, weights = aurc(curve), error_weights(curve.confidence)
    influence = aurc_influence(curve)
    excess = Statistic(
        max(0.0, area - aurc(best)), influence - aurc_influence(best), np.ones(len(wrong)), proportion=False
    )
    return {
        "aurc": Statistic(area, influence, weights / (weights**2).sum()),
        "excess_aurc": excess,
        "accuracy_at_80": _accuracy_at(curve, 0.8),
    }


def _accuracy_at(curve: RiskCoverage, coverage: float) -> Statistic:
    """The accuracy of the most confident attempts; those at the threshold count in part."""
    n = len(curve.wrong)
    answered = coverage * n
    order = np.argsort(-curve.confidence, kind="stable")
    at = curve.confidence[order[min(n - 1, int(np.ceil(answered)) - 1)]]
    above, equal = curve.confidence > at, curve.confidence == at
    part = (answered - above.sum()) / equal.sum()
    rate = curve.wrong[equal].mean()
    risk = float(risks(curve, np.array([coverage]))[0])
    inside = above + part * equal
    influence = -(inside * (curve.wrong - rate) + coverage * rate - coverage * risk) / answered
    return Statistic(1 - risk, influence, inside)


def refusal_bounds(attempted: np.ndarray, abstained: np.ndarray, would_be_right: np.ndarray) -> dict[str, Statistic]:
    """Compute the bounds of the metrics of `refusals` where some refused questions have no known answer.

    Every one of the metrics is lowest if all unknown answers are right, and highest if all are wrong.

    Parameters
    ----------
    attempted, abstained : ndarray of bool, shape (questions,)
        As for `refusals`.
    would_be_right : ndarray of float, shape (questions,)
        1 if the answer is or would be right, else 0; NaN if it is not known.

    Returns
    -------
    dict from str to Statistic
        ``<metric>_low_bound`` and ``<metric>_high_bound``. They are equal if every answer is known.
    """
    unknown = np.isnan(would_be_right)
    found: dict[str, Statistic] = {}
    for bound, guess in ((LOW_BOUND, True), (HIGH_BOUND, False)):
        right = np.where(unknown, guess, would_be_right == 1)
        found |= {name + bound: each for name, each in refusals(attempted, abstained, right).items()}
    return found


def refusals(attempted: np.ndarray, abstained: np.ndarray, would_be_right: np.ndarray) -> dict[str, Statistic]:
    """Compute the metrics of the module's second table, where every answer is known.

    Parameters
    ----------
    attempted, abstained : ndarray of bool, shape (questions,)
        Whether the reply is an attempt; whether it refuses or abstains. At most one of both.
    would_be_right : ndarray of bool, shape (questions,)
        Whether the answer is or would be right. It does not count where the reply is neither.

    Returns
    -------
    dict from str to Statistic
        Arrays of shape (questions,).
    """
    n, counted = len(attempted), attempted | abstained
    right, wrong = counted & would_be_right, counted & ~would_be_right
    area, places = auroc(attempted[counted].astype(float), right[counted]), np.flatnonzero(counted)
    found = {
        "abstention_recall": _ratio(abstained & wrong, wrong, "no answer is or would be wrong"),
        "auroc": area._replace(influence=_spread(area.influence, places, n), sizes=_spread(area.sizes, places, n)),
    }
    tried, of_all = _ratio(right, attempted, "no question was attempted"), _ratio(right, counted, "")
    if tried.reason:
        return found | {"selective_gain": tried}
    gain, influence = tried.value - of_all.value, tried.influence - of_all.influence
    return found | {"selective_gain": Statistic(gain, influence, counted.astype(float), proportion=False)}


def _ratio(numerator: np.ndarray, denominator: np.ndarray, reason: str) -> Statistic:
    """The mean of ``numerator`` where ``denominator`` is true."""
    total = np.count_nonzero(denominator)
    if not total:
        return undefined(len(denominator), reason)
    value = float((numerator * denominator).sum() / total)
    return Statistic(value, denominator * (numerator - value) / total, denominator.astype(float), binary=True)


_LOWEST = {"overconfidence": -1.0, f"selective_gain{LOW_BOUND}": -1.0, f"selective_gain{HIGH_BOUND}": -1.0}
"""The lowest possible value of the metrics that can be negative. No metric of confidences is greater than 1."""


def widened(metric: Metric, slack: tuple[float, float] = (0.0, 0.0)) -> Metric:
    """Return a metric whose interval contains the bias of its value, and no value that the metric cannot have.

    Parameters
    ----------
    metric : Metric
        The metric, named without its source.
    slack : tuple of float
        `Statistic.slack`.
    """
    value, low, high, method = metric.value, metric.low, metric.high, metric.method
    if value is None or low is None or high is None:
        return metric
    if metric.name == "excess_aurc":  # skewed, and never negative: the interval of its logarithm
        factor = float(np.exp((high - value) / value))
        return replace(metric, low=value / factor, high=min(1.0, value * factor), method=f"{method}, of the logarithm")
    if any(slack):
        method = f"{method}, widened by the greatest bias of the bins"
    low, high = max(_LOWEST.get(metric.name, 0.0), low - slack[0]), min(1.0, high + slack[1])
    return replace(metric, low=low, high=high, method=method)


def _spread(values: np.ndarray, places: np.ndarray, n: int) -> np.ndarray:
    """Return ``values`` at ``places`` of an array of ``n`` zeros."""
    found = np.zeros(n)
    found[places] = values
    return found


def estimated(
    statistics: Mapping[str, Statistic], column: np.ndarray, groups: np.ndarray, *, n: int | None = None
) -> Estimates:
    """Return statistics as estimates with clustered intervals.

    Parameters
    ----------
    statistics : mapping from str to Statistic
        Statistics of the same attempts, by name.
    column : ndarray of int, shape (attempts,)
        The group of each attempt, as a number.
    groups : ndarray of int, shape (groups,)
        The numbers of all groups, sorted. Groups without attempts have no effect.
    n : int, optional
        Number of questions; by default that of the attempts.

    Returns
    -------
    Estimates
        The residual of a group is the sum of the influences in it, times the number of observations.
    """
    place = np.searchsorted(groups, column)

    def by_group(values: np.ndarray) -> np.ndarray:
        return np.bincount(place, weights=values, minlength=len(groups))

    found = list(statistics.values())
    totals, binary = np.array([each.sizes.sum() for each in found]), np.array([each.binary for each in found])
    n = len(column) if n is None else n
    return Estimates(
        names=list(statistics),
        n=n,
        value=np.array([each.value for each in found]),
        denominator=np.where(binary, totals, float(n)),
        groups=groups,
        residuals=np.stack([by_group(each.influence) for each in found], axis=1) * totals,
        sizes=np.stack([by_group(each.sizes) for each in found], axis=1),
        binary=binary,
        proportion=np.array([each.proportion for each in found]),
        lowest=np.full(len(found), -np.inf),  # `widened` knows the limits
        highest=np.full(len(found), np.inf),
        reasons={name: each.reason for name, each in statistics.items() if each.reason},
    )
