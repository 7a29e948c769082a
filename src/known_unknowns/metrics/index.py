"""An index of the table of metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from known_unknowns.records import OVERALL, Metric


class MetricIndex:
    """Metrics by model, benchmark, variant, parser, category and name.

    With several seeds, the mean over seeds (seed None) is used; with one seed, its only row.
    """

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._seeds: dict[tuple[str, ...], dict[int | None, Metric]] = {}
        for m in metrics:
            key = (m.model, m.benchmark, m.variant, m.parser, m.category, m.name)
            self._seeds.setdefault(key, {})[m.seed] = m

    def __iter__(self) -> Iterator[Metric]:
        return (_over_seeds(seeds) for seeds in self._seeds.values())

    def get(
        self, model: str, benchmark: str, variant: str, parser: str, name: str, category: str = OVERALL
    ) -> Metric | None:
        """Return the metric, or None if it was not measured. The ``value`` of an undefined metric is None."""
        seeds = self._seeds.get((model, benchmark, variant, parser, category, name))
        return None if seeds is None else _over_seeds(seeds)

    def runs(self, m: Metric) -> int:
        """Return the number of seeds that a metric of this index is the mean of."""
        key = (m.model, m.benchmark, m.variant, m.parser, m.category, m.name)
        return max(len(self._seeds[key].keys() - {None}), 1) if m.seed is None else 1

    def question_counts(self, model: str, benchmark: str, variant: str) -> dict[str, int]:
        """Return the number of questions of each measured category."""
        key = model, benchmark, variant
        return {m.category: m.n for m in self if (m.model, m.benchmark, m.variant) == key}


def _over_seeds(seeds: Mapping[int | None, Metric]) -> Metric:
    """The mean over seeds, or else the metric of the smallest seed."""
    return seeds[min(seeds, key=lambda seed: (seed is not None, seed or 0))]


def headline(metrics: Iterable[Metric]) -> list[Metric]:
    """Select one row per metric: the mean over seeds if there is one, else the row of the first seed."""
    chosen: dict[tuple[str, ...], Metric] = {}
    for metric in metrics:
        key = (metric.model, metric.benchmark, metric.variant, metric.parser, metric.category, metric.name)
        if key not in chosen or metric.seed is None:
            chosen[key] = metric
    return list(chosen.values())
