"""An index of metrics, independent of the number of seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from known_unknowns.records import OVERALL, Metric


class MetricIndex:
    """Metrics by model, benchmark, variant, parser, category and name.

    With several seeds, the mean over seeds (seed None) is used; with one seed, its only row.
    """

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._chosen: dict[tuple[str, ...], Metric] = {}
        self._seeds: Counter[tuple[str, ...]] = Counter()
        chosen, seeds = self._chosen, self._seeds
        for metric in metrics:
            key = _key(metric)
            if metric.seed is not None:
                seeds[key] += 1
            known = chosen.get(key)
            if known is None or _rank(metric) < _rank(known):
                chosen[key] = metric

    def __iter__(self) -> Iterator[Metric]:
        return iter(self._chosen.values())

    def get(
        self, model: str, benchmark: str, variant: str, parser: str, name: str, category: str = OVERALL
    ) -> Metric | None:
        """Return the metric, or None if it was not measured. The ``value`` of an undefined metric is None."""
        return self._chosen.get((model, benchmark, variant, parser, category, name))

    def runs(self, metric: Metric) -> int:
        """Return the number of seeds that a metric of this index is the mean of."""
        return max(self._seeds[_key(metric)], 1) if metric.seed is None else 1

    def question_counts(self, model: str, benchmark: str, variant: str) -> dict[str, int]:
        """Return the number of questions of each measured category."""
        key = model, benchmark, variant
        return {m.category: m.n for m in self if (m.model, m.benchmark, m.variant) == key}


def _key(metric: Metric) -> tuple[str, ...]:
    return metric.model, metric.benchmark, metric.variant, metric.parser, metric.category, metric.name


def _rank(metric: Metric) -> tuple[bool, int]:
    return metric.seed is not None, metric.seed or 0
