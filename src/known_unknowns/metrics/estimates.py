"""Estimates and resampled estimates of ratios and areas, by category, before intervals are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from known_unknowns.metrics.intervals import ratio_replicates
from known_unknowns.metrics.proportions import Ratio, ratios
from known_unknowns.metrics.score_tables import ScoreTable
from known_unknowns.metrics.selective import RiskCoverage, aurc, aurc_replicates


@dataclass(frozen=True)
class Estimates:
    """Metrics of one variant, scorer, category and seed.

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
    groups : ndarray, shape (groups, metrics)
        The same sums in each group.
    replicates : ndarray, shape (resamples, metrics)
        The ratio in each resample.
    areas : frozenset of str
        Names of the metrics that are areas under a curve, not proportions.
    """

    names: list[str]
    n: int
    value: np.ndarray
    denominator: np.ndarray
    groups: np.ndarray
    replicates: np.ndarray
    areas: frozenset[str] = frozenset()


def estimates(
    table: ScoreTable, scorer: str, labels: Sequence[str], groups: np.ndarray, weights: np.ndarray
) -> dict[str, Estimates]:
    """Estimate all metrics of one scorer.

    Parameters
    ----------
    table : ScoreTable
        The scores of one variant and seed.
    scorer : str
        Name of the scorer.
    labels : sequence of str
        All labels that any question of the benchmark offers.
    groups : ndarray of str, shape (groups,)
        Sorted names of the columns of ``weights``.
    weights : ndarray, shape (resamples, groups)
        The result of `intervals.group_weights`.

    Returns
    -------
    dict from str to Estimates
        By category, `records.OVERALL` first.
    """
    all_ratios = ratios(table.arrays[scorer], labels) | dict(table.benchmark_ratios[scorer])
    column = np.searchsorted(groups, table.groups)
    by_category = ratio_estimates(all_ratios, table.categories, column, weights)
    for name, curve in table.curves[scorer].items():
        if curve.defined:
            for category, members in table.categories.items():
                part = RiskCoverage(*(values[members] for values in curve))
                by_category[category] = _with_area(by_category[category], name, part, column[members], weights)
    return by_category


def ratio_estimates(
    ratios: Mapping[str, Ratio], categories: Mapping[str, np.ndarray], column: np.ndarray, weights: np.ndarray
) -> dict[str, Estimates]:
    """Estimate ratios in each category; ``column`` (questions,) is the column of ``weights`` of each question."""
    names = list(ratios)
    above, below = (np.array(values, dtype=np.float64) for values in zip(*ratios.values(), strict=True))
    return {
        category: _estimate(
            names, above.compress(members, axis=1), below.compress(members, axis=1), column[members], weights
        )
        for category, members in categories.items()
    }


def _estimate(
    names: list[str], above: np.ndarray, below: np.ndarray, column: np.ndarray, weights: np.ndarray
) -> Estimates:
    """Estimate ratios of ``above`` and ``below``, arrays of shape (metrics, questions)."""
    numerators, denominators = (_by_group(values, column, weights.shape[1]) for values in (above, below))
    total = below.sum(axis=1)
    value = np.divide(above.sum(axis=1), total, out=np.full(len(names), np.nan), where=total > 0)
    replicates = ratio_replicates(weights, numerators, denominators)
    return Estimates(names, len(column), value, total, denominators, replicates)


def _by_group(values: np.ndarray, column: np.ndarray, groups: int) -> np.ndarray:
    """Sums by group: (metrics, questions) to (groups, metrics)."""
    return np.column_stack([np.bincount(column, weights=row, minlength=groups) for row in values])


def _with_area(
    estimated: Estimates, name: str, curve: RiskCoverage, column: np.ndarray, weights: np.ndarray
) -> Estimates:
    """Add the area under a curve; a question is drawn as often as its group."""
    questions_by_group = np.bincount(column, minlength=weights.shape[1]).astype(np.float64)
    return Estimates(
        names=[*estimated.names, name],
        n=estimated.n,
        value=np.append(estimated.value, aurc(curve)),
        denominator=np.append(estimated.denominator, len(column)),
        groups=np.column_stack([estimated.groups, questions_by_group]),
        replicates=np.column_stack([estimated.replicates, aurc_replicates(curve, weights[:, column])]),
        areas=estimated.areas | {name},
    )
