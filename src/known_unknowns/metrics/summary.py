"""The tables that people and DVC read: all metrics as CSV, the headline ones as JSON, the stress tests as a plot."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from known_unknowns import tables
from known_unknowns.metrics.measure import headline
from known_unknowns.records import OVERALL, Metric

COLUMNS = tuple(field.name for field in fields(Metric))
HEADLINE_SCORERS = ("official", "robust")
HEADLINE_METRICS = (
    "above_chance",
    "accuracy_answered",
    "refusal_recall",
    "refusal_precision",
    "share_unparsed",
    "share_failed",
    "exact_refusal_recall",
    "accuracy_published_labels",
)
PLOT = {
    "original": ("original", "robust", "accuracy"),
    "nota_only": ("nota_only", "robust", "accuracy"),
    "nota_only_exact": ("nota_only", "official", "exact_refusal_recall"),
    "noise": ("noise", "robust", "accuracy"),
}
"""Columns of the plot, after benchmark and model, to variant, scorer and metric: the paper's Figures 4 (accuracy on
HumbleBench-E, which it takes by the exact string) and 5 (on HumbleBench-GN), beside the original."""
_DIGITS = 6


def summarise(metrics: Sequence[Path], *, out: Path, table: Path, plot: Path) -> None:
    """Write ``table`` (CSV of all metrics), ``out`` (JSON of headline numbers) and ``plot`` (CSV for ``dvc plots``).

    An undefined number is an empty cell of a CSV and a null of the JSON.
    """
    rows = sorted((metric for path in metrics for metric in tables.read_metrics(path)), key=_place)
    chosen = [metric for metric in headline(rows) if metric.category == OVERALL]
    tables.write_text(table, _csv(COLUMNS, (asdict(metric) for metric in rows)))
    tables.write_text(out, json.dumps(headlines(chosen), indent=2, sort_keys=True, allow_nan=False) + "\n")
    tables.write_text(plot, _csv(("benchmark", "model", *PLOT), plot_rows(chosen)))


def headlines(metrics: Iterable[Metric]) -> dict[str, Any]:
    """Overall numbers, nested by model, benchmark, variant and scorer: the accuracy with its interval (low, high)
    and its number of questions n, and the other `HEADLINE_METRICS` where they were measured."""
    tree: dict[str, Any] = {}
    for metric in metrics:
        if metric.scorer not in HEADLINE_SCORERS:
            continue
        at = tree
        for name in (metric.model, metric.benchmark, metric.variant, metric.scorer):
            at = at.setdefault(name, {})
        if metric.name == "accuracy":
            at |= {"accuracy": metric.value, "low": metric.low, "high": metric.high, "n": metric.n}
        elif metric.name in HEADLINE_METRICS:
            at[metric.name] = metric.value
    return _rounded(tree)


def plot_rows(metrics: Iterable[Metric]) -> list[dict[str, Any]]:
    """One row a benchmark and model, with the columns of `PLOT`; empty where a variant was not run."""
    column_of = {source: column for column, source in PLOT.items()}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for metric in metrics:
        column = column_of.get((metric.variant, metric.scorer, metric.name))
        if column is not None:
            key = (metric.benchmark, metric.model)
            row = rows.setdefault(key, {"benchmark": metric.benchmark, "model": metric.model})
            row[column] = _rounded(metric.value)
    return list(rows.values())


def _place(metric: Metric) -> tuple[Any, ...]:
    """The order of the CSV: by every key column; Overall before the categories, means over seeds before the seeds."""
    return (
        metric.model,
        metric.benchmark,
        metric.variant,
        metric.scorer,
        metric.category != OVERALL,
        metric.category,
        metric.name,
        -1 if metric.seed is None else metric.seed,
    )


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)  # None is written as an empty cell
    return text.getvalue()


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return round(value, _DIGITS) if isinstance(value, float) else value
