"""The published numbers that a trial also measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from known_unknowns.benchmark.published import MODEL, PERCENT
from known_unknowns.comparison import OFFICIAL, load
from known_unknowns.evaluation.numbers import interval, percent
from known_unknowns.records import OVERALL, Metric


def published(metrics: Iterable[Metric], benchmark: str, row: str, variants: Sequence[str]) -> list[str]:
    """Return a line for each published number of a model's ``row`` that the trial also measured."""
    found = {
        (metric.variant, metric.name, metric.parser): metric
        for metric in metrics
        if metric.category == OVERALL and metric.seed is not None
    }
    lines = []
    for cell in load(benchmark):
        if (cell.model or cell.row) != row or (cell.kind, cell.unit, cell.category) != (MODEL, PERCENT, OVERALL):
            continue
        here = found.get((cell.variant, cell.metric, cell.parser or OFFICIAL))
        if cell.variant in variants and here is not None:
            ours = f"{percent(here.value)} ({interval(here)}, n = {here.n:,})"
            lines.append(
                f"{cell.table}, {row}: {cell.metric} {cell.value:.{cell.decimals}f}% ({cell.variant}); here {ours}"
            )
    return lines
