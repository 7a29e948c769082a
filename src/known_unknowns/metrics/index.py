"""An index of the table of metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from known_unknowns.records import OVERALL, Metric

Lookup = Callable[[str, str, str], Metric | None]
"""Returns the metric of one model and benchmark over all questions, by variant, parser and name."""


class MetricIndex:
    """Metrics by model, benchmark, variant, parser, category and name.

    The mean over seeds and samples is used, the row without either; if there is one of each, its only row.
    """

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._repeats: dict[tuple[str, ...], list[Metric]] = {}
        for m in metrics:
            key = (m.model, m.benchmark, m.variant, m.parser, m.category, m.name)
            self._repeats.setdefault(key, []).append(m)
        for repeats in self._repeats.values():
            repeats.sort(key=repeat_order)

    def __iter__(self) -> Iterator[Metric]:
        return (repeats[0] for repeats in self._repeats.values())

    def get(
        self, model: str, benchmark: str, variant: str, parser: str, name: str, category: str = OVERALL
    ) -> Metric | None:
        """Return the metric, or None if it was not measured. The ``value`` of an undefined metric is None."""
        repeats = self._repeats.get((model, benchmark, variant, parser, category, name))
        return None if repeats is None else repeats[0]

    def runs(self, m: Metric) -> int:
        """Return the number of seeds and samples that a metric of this index is the mean of."""
        key = (m.model, m.benchmark, m.variant, m.parser, m.category, m.name)
        return max(len(self._repeats[key]) - 1, 1) if m.seed is None else 1

    def question_counts(self, model: str, benchmark: str, variant: str) -> dict[str, int]:
        """Return the number of questions of each measured category."""
        key = model, benchmark, variant
        return {m.category: m.n for m in self if (m.model, m.benchmark, m.variant) == key}


def repeat_order(metric: Metric) -> tuple[int, int]:
    """Return a sort key of the rows of one metric: the mean, then the seeds of each sample."""
    repeat = metric.repeat
    return (-1, 0) if repeat is None else (repeat.sample, repeat.seed)
