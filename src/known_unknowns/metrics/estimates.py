"""Estimates of ratios and areas by category, and their confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from known_unknowns.benchmark.metrics import Ratio, RiskCoverage
from known_unknowns.metrics import intervals
from known_unknowns.metrics.intervals import Interval
from known_unknowns.metrics.selective import aurc, aurc_without_groups, error_weights
from known_unknowns.tables.confidence_sources import FOLLOWS, FOLLOWS_TEXT


@dataclass(frozen=True)
class Estimates:
    """Metrics of one variant, parser, category and seed.

    Attributes
    ----------
    names : list of str
        Names of the metrics.
    n : int
        Number of questions of the category.
    value : ndarray, shape (metrics,)
        The ratios; NaN where the denominator is 0.
    denominator : ndarray, shape (metrics,)
        Sums of the denominators over the questions.
    groups : ndarray of int, shape (groups,)
        The groups of the category's questions.
    residuals : ndarray, shape (groups, metrics)
        Numerator less value times denominator, summed over the questions of each group.
    sizes : ndarray, shape (groups, metrics)
        Sums of the denominators over the questions of each group.
    binary : ndarray of bool, shape (metrics,)
        Whether all numerators and denominators are counts.
    proportion : ndarray of bool, shape (metrics,)
        Whether no numerator is negative or exceeds its denominator.
    areas : frozenset of str
        Names of the metrics that are areas under a curve, not ratios.
    seeds : int
        Number of answers to each question.
    seed_correlation : ndarray, shape (metrics,), optional
        Correlation of the groups' residuals between the seeds; NaN without residuals. None with one seed.
    lowest, highest : ndarray, shape (metrics,)
        The lowest and the highest value that each metric can have. They limit its interval.
    reasons : mapping from str to str
        Why metrics are undefined, by name; of the others, nothing is in the denominator.
    """

    names: list[str]
    n: int
    value: np.ndarray
    denominator: np.ndarray
    groups: np.ndarray
    residuals: np.ndarray
    sizes: np.ndarray
    binary: np.ndarray
    proportion: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    areas: frozenset[str] = frozenset()
    seeds: int = 1
    seed_correlation: np.ndarray | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)

    def intervals(self, confidence: float) -> list[Interval]:
        """Compute the confidence interval of each metric."""
        low, high = (np.full(len(self.names), np.nan) for _ in range(2))
        for chosen, is_proportion in ((self.proportion, True), (~self.proportion, False)):
            if chosen.any():
                part = self.value[chosen], self.residuals[:, chosen], self.sizes[:, chosen]
                low[chosen], high[chosen] = (
                    intervals.proportion_bounds(
                        *part, binary=self.binary[chosen], confidence=confidence, seeds=self.seeds
                    )
                    if is_proportion
                    else intervals.mean_bounds(*part, confidence=confidence)
                )
        low, high = np.maximum(low, self.lowest), np.minimum(high, self.highest)
        found = [
            Interval(a, b, method) for a, b, method in zip(low.tolist(), high.tolist(), self._methods(), strict=True)
        ]
        for place in np.flatnonzero(np.isnan(low)):
            found[place] = intervals.NO_VARIATION
        for place in np.flatnonzero(np.isnan(self.value)):
            found[place] = Interval(None, None, f"undefined: {self.reason(self.names[place])}")
        return found

    def reason(self, name: str) -> str:
        """Return why a metric without a value has none."""
        return self.reasons.get(name, intervals.EMPTY)

    def undefine(self, reasons: Mapping[str, str]) -> Estimates:
        """Return the estimates without the values of some metrics, by the reason why they have none."""
        value = np.where([name in reasons for name in self.names], np.nan, self.value)
        return replace(self, value=value, reasons={**self.reasons, **reasons})

    def select(self, names: Sequence[str]) -> Estimates:
        """Return some of the metrics."""
        at = [self.names.index(name) for name in names]
        of_metrics = ("value", "denominator", "binary", "proportion", "lowest", "highest")
        chosen = {name: getattr(self, name)[at] for name in of_metrics}
        return replace(self, names=list(names), residuals=self.residuals[:, at], sizes=self.sizes[:, at], **chosen)

    def _methods(self) -> list[str]:
        """The method of each interval."""
        single = self.binary & self.proportion & (self.sizes.max(axis=0, initial=0) <= 1)
        few = np.count_nonzero(self.sizes, axis=0) < intervals.FEWEST_GROUPS
        method = np.where(few, intervals.FEW_GROUPS, intervals.CLUSTERED)
        method = np.where(single, intervals.SINGLE, np.where(self.proportion, method, intervals.MEAN))
        notes = intervals.notes(self.value, self.residuals, self.sizes, seed_correlation=self.seed_correlation)
        noted = self.binary & self.proportion
        return [
            intervals.AREA if name in self.areas else text + (note if has_note else "")
            for name, text, note, has_note in zip(self.names, method.tolist(), notes, noted.tolist(), strict=True)
        ]


def ratio_estimates(
    ratios: Mapping[str, Ratio],
    categories: Mapping[str, np.ndarray],
    column: np.ndarray,
    left_out: np.ndarray | None = None,
) -> dict[str, Estimates]:
    """Estimate ratios in each category.

    Parameters
    ----------
    ratios : mapping from str to Ratio
        Numerators and denominators by metric, arrays of shape (questions,).
    categories : mapping from str to ndarray of bool, shape (questions,)
        The questions of each category.
    column : ndarray of int, shape (questions,)
        The group of each question, as a number.
    left_out : ndarray of bool, shape (questions,), optional
        Questions that count in no ratio but `FOLLOWS` (`known_unknowns.metrics.answers.replies_left_out`).

    Returns
    -------
    dict from str to Estimates
        By category.
    """
    names = list(ratios)
    above, below = (
        np.array([np.asarray(ratio[part], dtype=np.float64) for ratio in ratios.values()]) for part in range(2)
    )
    if left_out is not None:
        kept = np.array([~left_out | (name == FOLLOWS) for name in names])
        above, below = above * kept, below * kept
    lowest = np.array([ratio.lowest for ratio in ratios.values()])
    reasons = {name: ratio.reason for name, ratio in ratios.items() if ratio.reason}
    found = {}
    for category, members in categories.items():
        members_above, members_below = above.compress(members, axis=1), below.compress(members, axis=1)
        estimated = _estimate(names, members_above, members_below, lowest, column[members])
        found[category] = estimated.undefine(reasons)
        if left_out is not None and len(column[members]) and left_out[members].all():
            found[category] = found[category].undefine({name: FOLLOWS_TEXT for name in names if name != FOLLOWS})
    return found


def mean_over_seeds(seeds: Sequence[Estimates]) -> Estimates:
    """Average the metrics that all seeds have; NaN where that of any seed is.

    The answers of all seeds are the answers of one group. A mean of ratios is linear in the residuals of each seed
    divided by its denominator. ``n`` and the denominator are means over the seeds.
    """
    names = [name for name in seeds[0].names if all(name in seed.names for seed in seeds)]
    if any(not np.array_equal(seed.groups, seeds[0].groups) for seed in seeds):
        raise ValueError("the seeds have questions in different groups")
    parts = [seed.select(names) for seed in seeds]
    totals = [part.sizes.sum(axis=0) for part in parts]
    shares = [
        np.divide(part.residuals, total, out=np.zeros_like(part.residuals), where=total > 0)
        for part, total in zip(parts, totals, strict=True)
    ]
    mean_squares = np.mean([(share**2).sum(axis=0) for share in shares], axis=0)
    square_of_mean = (np.mean(shares, axis=0) ** 2).sum(axis=0)
    # the square of the mean of k numbers with the correlation r is (1 + (k - 1) r) / k of their mean square
    ratio = np.divide(square_of_mean, mean_squares, out=np.full(len(names), np.nan), where=mean_squares > 0)
    return Estimates(
        names=names,
        n=round(float(np.mean([part.n for part in parts]))),
        value=np.mean([part.value for part in parts], axis=0),
        denominator=np.mean([part.denominator for part in parts], axis=0),
        groups=parts[0].groups,
        residuals=np.mean(shares, axis=0) * np.sum(totals, axis=0),
        sizes=np.sum([part.sizes for part in parts], axis=0),
        binary=np.all([part.binary for part in parts], axis=0),
        proportion=np.all([part.proportion for part in parts], axis=0),
        lowest=np.min([part.lowest for part in parts], axis=0),
        highest=np.max([part.highest for part in parts], axis=0),
        areas=parts[0].areas,
        seeds=len(parts),
        reasons={name: reason for part in parts for name, reason in part.reasons.items()},
        seed_correlation=(len(parts) * ratio - 1) / max(1, len(parts) - 1),
    )


def _estimate(
    names: list[str], above: np.ndarray, below: np.ndarray, lowest: np.ndarray, column: np.ndarray
) -> Estimates:
    """Estimate ratios of ``above`` and ``below``, arrays of shape (metrics, questions)."""
    groups, column = np.unique(column, return_inverse=True)
    numerators, denominators = (_by_group(values, column, len(groups)) for values in (above, below))
    total = below.sum(axis=1)
    value = np.divide(above.sum(axis=1), total, out=np.full(len(names), np.nan), where=total > 0)
    return Estimates(
        names=names,
        n=len(column),
        value=value,
        denominator=total,
        groups=groups,
        residuals=numerators - np.where(total > 0, value, 0) * denominators,
        sizes=denominators,
        binary=((above == np.round(above)) & (below == np.round(below))).all(axis=1),
        proportion=(lowest == 0) & ((above >= 0) & (above <= below)).all(axis=1),
        lowest=np.where((above < 0).any(axis=1) & (lowest == 0), -np.inf, lowest),
        highest=np.where((above <= below).all(axis=1), 1.0, np.inf),
    )


def _by_group(values: np.ndarray, column: np.ndarray, groups: int) -> np.ndarray:
    """Sums by group: (metrics, questions) to (groups, metrics)."""
    return np.stack([np.bincount(column, weights=row, minlength=groups) for row in values], axis=1)


def with_area(estimated: Estimates, name: str, curve: RiskCoverage, column: np.ndarray) -> Estimates:
    """Add the area under a curve, a proportion of errors with the weights of `selective.error_weights`.

    Its residuals are those of the jackknife, so that they contain the variance of the weights. The weights are scaled
    to Kish's effective number of questions.

    Parameters
    ----------
    estimated : Estimates
        The other metrics of the category.
    name : str
        Name of the metric.
    curve : RiskCoverage
        Confidence and error of the category's questions, or of some of them.
    column : ndarray of int, shape (questions,)
        The group of each of these questions, as a number.

    Returns
    -------
    Estimates
        With the area as the last metric.
    """
    groups, column = np.unique(column, return_inverse=True)
    value, weights = aurc(curve), error_weights(curve.confidence)
    sizes = np.bincount(column, weights=weights) / (weights**2).sum()
    residuals = np.zeros(len(groups))
    if len(groups) > 1:
        without = aurc_without_groups(curve, column, len(groups))
        residuals = (without.mean() - without) * sizes.sum() * (1 - 1 / len(groups))
    places = np.searchsorted(estimated.groups, groups)
    all_residuals, all_sizes = np.zeros(len(estimated.groups)), np.zeros(len(estimated.groups))
    all_residuals[places], all_sizes[places] = residuals, sizes
    return Estimates(
        names=[*estimated.names, name],
        n=estimated.n,
        value=np.append(estimated.value, value),
        denominator=np.append(estimated.denominator, len(column)),
        groups=estimated.groups,
        residuals=np.column_stack([estimated.residuals, all_residuals]),
        sizes=np.column_stack([estimated.sizes, all_sizes]),
        binary=np.append(estimated.binary, False),
        proportion=np.append(estimated.proportion, True),
        lowest=np.append(estimated.lowest, 0.0),
        highest=np.append(estimated.highest, 1.0),
        areas=estimated.areas | {name},
        reasons=estimated.reasons,
    )
