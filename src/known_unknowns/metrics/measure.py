"""From tables of scores to the table of metrics of one model on one benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from known_unknowns import tables
from known_unknowns.errors import DataError
from known_unknowns.metrics import benchmark_hooks
from known_unknowns.metrics.intervals import (
    UNDEFINED,
    Interval,
    clustered_interval,
    group_weights,
    ratio_replicates,
    share_interval,
)
from known_unknowns.metrics.loading import Table, load
from known_unknowns.metrics.proportions import ABOVE_CHANCE, ACCURACY, CHANCE, Ratio, ratios
from known_unknowns.metrics.selective import RiskCoverage, aurc, aurc_replicates
from known_unknowns.records import Metric

if TYPE_CHECKING:
    from known_unknowns.config import Params

_BY_DESIGN = "known from the options, not estimated"


@dataclass(frozen=True)
class Statistics:
    """How intervals are made: params.yaml's ``statistics``."""

    confidence: float
    resamples: int
    seed: int

    @property
    def bootstrap(self) -> str:
        return f"cluster bootstrap, {self.resamples} resamples, seed {self.seed}"


@dataclass(frozen=True)
class Estimates:
    """Metrics of one variant, scorer, category and seed.

    Attributes
    ----------
    names : list of str
        Names of the metrics.
    n : int
        Number of questions of the category.
    value : array of shape (metrics,)
        The ratios; NaN where the denominator is 0.
    denominator : array of shape (metrics,)
        Sums of the denominators over the questions.
    groups : array of shape (groups, metrics)
        The same sums in each group.
    replicates : array of shape (resamples, metrics)
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


def measure(
    params: Params, model: str, benchmark: str, *, questions: Path, scores: Path, replies: Path, out: Path
) -> None:
    """Write the table of metrics: every variant, seed, scorer, category and metric, in this order.

    ``questions``, ``scores`` and ``replies`` are folders of <variant>/seed<k>.parquet. With several seeds, rows with
    seed None follow: the mean over seeds, undefined where any seed is; `headline` picks them.

    Raises DataError naming file and question where scores are missing, doubled or of other questions.
    """
    found = [
        load(questions, scores, replies, variant=variant, seed=seed, scorers=params.scorers)
        for variant, seed in params.cells(benchmark, model)
    ]
    for table in found:
        first = next(other for other in found if other.variant == table.variant)
        if table.ids != first.ids:
            name = questions / table.variant / f"seed{table.seed}.parquet"
            raise DataError(f"other questions than those of seed {first.seed}; make the variants again", file=name)
    statistics = Statistics(**params.statistics)
    tables.write_metrics(out, metrics_of(found, statistics, model=model, benchmark=benchmark))


def metrics_of(found: Sequence[Table], statistics: Statistics, *, model: str, benchmark: str) -> list[Metric]:
    """The metrics of one model on one benchmark; the tables of one variant belong together, one a seed.

    All variants and seeds are resampled by the same draws, so that a resample is the same pictures everywhere.
    """
    labels = sorted(frozenset().union(*(table.labels for table in found)))
    groups = np.unique(np.concatenate([table.groups for table in found]))
    weights = group_weights(len(groups), statistics.resamples, statistics.seed)
    metrics: list[Metric] = []
    for variant in dict.fromkeys(table.variant for table in found):
        seeds = [table for table in found if table.variant == variant]
        for scorer in seeds[0].observed:
            by_seed = {table.seed: estimates(table, scorer, labels, groups, weights) for table in seeds}
            for category in by_seed[seeds[0].seed]:
                blank = Metric(model, benchmark, variant, None, scorer, category, "", None, None, None, 0, "")
                metrics += _rows(blank, {s: by_category[category] for s, by_category in by_seed.items()}, statistics)
            metrics += _of_all_seeds(blank, seeds, groups, weights, statistics)
    return metrics


def estimates(
    table: Table, scorer: str, labels: Sequence[str], groups: np.ndarray, weights: np.ndarray
) -> dict[str, Estimates]:
    """By category, `records.OVERALL` first: all metrics of one scorer's readings.

    ``groups`` (groups,) are the sorted names of the columns of ``weights`` (resamples, groups).
    """
    counted = ratios(table.observed[scorer], labels) | dict(table.own[scorer])
    column = np.searchsorted(groups, table.groups)
    found = _estimates(counted, table.categories, column, weights)
    for name, curve in table.curves[scorer].items():
        if curve.defined:
            for category, among in table.categories.items():
                part = type(curve)(*(values[among] for values in curve))
                found[category] = _with_area(found[category], name, part, column[among], weights)
    return found


def _estimates(
    counted: Mapping[str, Ratio], categories: Mapping[str, np.ndarray], column: np.ndarray, weights: np.ndarray
) -> dict[str, Estimates]:
    names = list(counted)
    above, below = (np.array(values, dtype=np.float64) for values in zip(*counted.values(), strict=True))
    return {
        category: _estimate(names, above.compress(among, axis=1), below.compress(among, axis=1), column[among], weights)
        for category, among in categories.items()
    }


def _with_area(
    estimated: Estimates, name: str, curve: RiskCoverage, column: np.ndarray, weights: np.ndarray
) -> Estimates:
    """Add the area under a curve. Its questions are drawn as their pictures are."""
    asked = np.bincount(column, minlength=weights.shape[1]).astype(np.float64)
    return Estimates(
        names=[*estimated.names, name],
        n=estimated.n,
        value=np.append(estimated.value, aurc(curve)),
        denominator=np.append(estimated.denominator, len(column)),
        groups=np.column_stack([estimated.groups, asked]),
        replicates=np.column_stack([estimated.replicates, aurc_replicates(curve, weights[:, column])]),
        areas=estimated.areas | {name},
    )


def _estimate(
    names: list[str], above: np.ndarray, below: np.ndarray, column: np.ndarray, weights: np.ndarray
) -> Estimates:
    """``above`` and ``below`` are (metrics, questions), ``column`` (questions,) is each question's in ``weights``."""
    numerators, denominators = (_by_group(values, column, weights.shape[1]) for values in (above, below))
    total = below.sum(axis=1)
    value = np.divide(above.sum(axis=1), total, out=np.full(len(names), np.nan), where=total > 0)
    replicates = ratio_replicates(weights, numerators, denominators)
    return Estimates(names, len(column), value, total, denominators, replicates)


def _by_group(values: np.ndarray, column: np.ndarray, groups: int) -> np.ndarray:
    """Sums by group: (metrics, questions) to (groups, metrics)."""
    return np.column_stack([np.bincount(column, weights=row, minlength=groups) for row in values])


def _rows(blank: Metric, by_seed: Mapping[int, Estimates], statistics: Statistics) -> Iterator[Metric]:
    """The metrics of one variant, scorer and category: a block a seed, then the means over seeds."""
    for seed, estimated in by_seed.items():
        yield from _with_derived(_of_seed(replace(blank, seed=seed), estimated, statistics))
    if len(by_seed) > 1:
        yield from _with_derived(_pooled(blank, list(by_seed.values()), statistics))


def _of_seed(blank: Metric, estimated: Estimates, statistics: Statistics) -> Iterator[Metric]:
    for column, name in enumerate(estimated.names):
        value = estimated.value[column]
        if np.isnan(value):
            interval = UNDEFINED
        elif name == CHANCE:
            interval = Interval(None, None, _BY_DESIGN)
        elif name in estimated.areas:
            interval = clustered_interval(
                value,
                int(np.count_nonzero(estimated.groups[:, column])),
                estimated.replicates[:, column],
                confidence=statistics.confidence,
                bootstrap=statistics.bootstrap,
            )
        else:
            interval = share_interval(
                value,
                estimated.groups[:, column],
                estimated.replicates[:, column],
                confidence=statistics.confidence,
                bootstrap=statistics.bootstrap,
            )
        yield _filled(blank, name, value, interval, n=estimated.n, denominator=estimated.denominator[column])


def _pooled(blank: Metric, seeds: Sequence[Estimates], statistics: Statistics) -> Iterator[Metric]:
    """Means over seeds, of the metrics that all seeds have. ``n`` and the denominator are means as well: the questions
    of another seed are not new ones.

    The interval is that of questions and seeds together. A question is drawn with its answers under all seeds, and a
    shuffle of options is drawn for each question by itself, not once for all: so the variance between the drawn
    means over seeds holds both what questions differ by and what is left of the shuffles in a mean over so many.
    Drawing seeds as well would count the latter twice.
    """
    for name in seeds[0].names:
        if any(name not in estimated.names for estimated in seeds):
            continue
        columns = [(estimated, estimated.names.index(name)) for estimated in seeds]
        values = np.array([estimated.value[column] for estimated, column in columns])
        value, spread = values.mean(), values.std(ddof=1)
        if np.isnan(value):
            interval = UNDEFINED
        elif name == CHANCE:
            interval = Interval(None, None, _BY_DESIGN)
        else:
            present = np.any([estimated.groups[:, column] > 0 for estimated, column in columns], axis=0)
            interval = clustered_interval(
                value,
                int(present.sum()),
                np.mean([estimated.replicates[:, column] for estimated, column in columns], axis=0),
                confidence=statistics.confidence,
                bootstrap=f"{statistics.bootstrap}, mean of {len(seeds)} seeds",
            )
        n = round(float(np.mean([estimated.n for estimated in seeds])))
        denominator = float(np.mean([estimated.denominator[column] for estimated, column in columns]))
        metric = _filled(blank, name, value, interval, n=n, denominator=denominator)
        yield replace(metric, spread=None if np.isnan(spread) else float(spread))


def _filled(blank: Metric, name: str, value: float, interval: Interval, *, n: int, denominator: float | None) -> Metric:
    return replace(
        blank,
        name=name,
        value=None if np.isnan(value) else float(value),
        low=interval.low,
        high=interval.high,
        n=n,
        method=interval.method,
        denominator=None if denominator is None else float(denominator),
    )


def _of_all_seeds(
    blank: Metric, seeds: Sequence[Table], groups: np.ndarray, weights: np.ndarray, statistics: Statistics
) -> Iterator[Metric]:
    """What only several seeds can tell: rows with seed None, and no spread."""
    if len(seeds) < 2 or (count := benchmark_hooks.of(blank.benchmark).across_seeds) is None:
        return
    counted = count([table.scored[blank.scorer] for table in seeds])
    column = np.searchsorted(groups, seeds[0].groups)
    for category, estimated in _estimates(counted, seeds[0].categories, column, weights).items():
        for place, name in enumerate(estimated.names):
            value, interval = estimated.value[place], UNDEFINED
            if not np.isnan(value):
                interval = clustered_interval(
                    value,
                    int(np.count_nonzero(estimated.groups[:, place])),
                    estimated.replicates[:, place],
                    confidence=statistics.confidence,
                    bootstrap=f"{statistics.bootstrap}, over {len(seeds)} seeds",
                )
            empty = replace(blank, category=category)
            denominator = estimated.denominator[place]
            yield _filled(empty, name, value, interval, n=estimated.n, denominator=denominator)


def _with_derived(metrics: Iterable[Metric]) -> Iterator[Metric]:
    """Add what follows from the metrics of one category: accuracy less chance, and the benchmark's own.

    Chance is a property of the questions, so the accuracy's interval moves with it.
    """
    known: dict[str, Metric] = {}
    for metric in metrics:
        known[metric.name] = metric
        yield metric
    accuracy, chance = known[ACCURACY], known[CHANCE].value
    moved = Interval(accuracy.low, accuracy.high, accuracy.method).shifted(-chance, f"{accuracy.method}, less chance")
    above = accuracy.value - chance
    yield _filled(accuracy, ABOVE_CHANCE, above, moved, n=accuracy.n, denominator=accuracy.denominator)
    yield from benchmark_hooks.of(accuracy.benchmark).derived(known)


def headline(metrics: Iterable[Metric]) -> list[Metric]:
    """One row a number: the mean over seeds where there is one, else the row of the only (or first) seed."""
    chosen: dict[tuple[str, ...], Metric] = {}
    for metric in metrics:
        key = (metric.model, metric.benchmark, metric.variant, metric.scorer, metric.category, metric.name)
        if key not in chosen or metric.seed is None:
            chosen[key] = metric
    return list(chosen.values())
