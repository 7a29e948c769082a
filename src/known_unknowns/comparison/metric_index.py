"""An index of metrics, independent of the number of seeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from known_unknowns.records import OVERALL, Metric


class MetricIndex:
    """Metrics by model, benchmark, variant, scorer, category and name.

    With several seeds, the mean over seeds (seed None) is used; with one seed, its only row.
    """

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._chosen: dict[tuple[str, ...], Metric] = {}
        for metric in metrics:
            key = (
                metric.model,
                metric.benchmark,
                metric.variant,
                metric.scorer,
                metric.category,
                metric.name,
            )
            known = self._chosen.get(key)
            if known is None or _rank(metric) < _rank(known):
                self._chosen[key] = metric

    def __iter__(self) -> Iterator[Metric]:
        return iter(self._chosen.values())

    def get(
        self, model: str, benchmark: str, variant: str, scorer: str, name: str, category: str = OVERALL
    ) -> Metric | None:
        """Return the metric, or None if it was not measured. The ``value`` of an undefined metric is None."""
        return self._chosen.get((model, benchmark, variant, scorer, category, name))


def _rank(metric: Metric) -> tuple[bool, int]:
    return metric.seed is not None, metric.seed or 0
