"""Metrics by name, whatever the number of seeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from known_unknowns.records import OVERALL, Metric


class Numbers:
    """Look metrics up by model, benchmark, variant, scorer, category and name.

    Where a number stands there for several seeds, the pooled row (seed None) counts; with one seed, its only row.
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
        """The metric, or None when it was not measured (its ``value`` is None when it was, but is undefined)."""
        return self._chosen.get((model, benchmark, variant, scorer, category, name))


def _rank(metric: Metric) -> tuple[bool, int]:
    return metric.seed is not None, metric.seed or 0
