"""Summaries of all metrics for people and DVC: a CSV of all, a JSON of headline metrics, a CSV for a plot."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from known_unknowns import benchmarks, tables
from known_unknowns.metrics import benchmark_hooks
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
)
"""Headline metrics of all benchmarks, besides the accuracy; a benchmark adds its own (`BenchmarkMetrics.headline`)."""
_DIGITS = 6


def summarise(metrics: Sequence[Path], *, out: Path, table: Path, plot: Path) -> None:
    """Write the summaries of all metrics. An undefined number is an empty cell of a CSV and null in the JSON.

    Parameters
    ----------
    metrics : sequence of Path
        Tables of metrics (Parquet), one per model and benchmark.
    out : Path
        JSON of the headline metrics over all questions.
    table : Path
        CSV of all metrics.
    plot : Path
        CSV of the stress tests for ``dvc plots``.
    """
    rows = sorted((metric for path in metrics for metric in tables.read_metrics(path)), key=_order)
    chosen = [metric for metric in headline(rows) if metric.category == OVERALL]
    tables.write_text(table, _csv(COLUMNS, (asdict(metric) for metric in rows)))
    tables.write_text(out, json.dumps(headlines(chosen), indent=2, sort_keys=True, allow_nan=False) + "\n")
    columns = plot_columns(dict.fromkeys(metric.benchmark for metric in rows))
    tables.write_text(plot, _csv(("benchmark", "model", *columns), plot_rows(chosen, columns)))


def headlines(metrics: Iterable[Metric]) -> dict[str, Any]:
    """Nest headline metrics by model, benchmark, variant and scorer.

    These are the accuracy with its interval (low, high) and number of questions n, and the other headline metrics
    that were measured.
    """
    tree: dict[str, Any] = {}
    for metric in metrics:
        if metric.scorer not in HEADLINE_SCORERS:
            continue
        at = tree
        for name in (metric.model, metric.benchmark, metric.variant, metric.scorer):
            at = at.setdefault(name, {})
        if metric.name == "accuracy":
            at |= {"accuracy": metric.value, "low": metric.low, "high": metric.high, "n": metric.n}
        elif metric.name in (*HEADLINE_METRICS, *benchmark_hooks.of(metric.benchmark).headline):
            at[metric.name] = metric.value
    return _rounded(tree)


def plot_columns(names: Iterable[str]) -> dict[str, tuple[str, str, str]]:
    """Columns of the plot, to variant, scorer and metric, as the benchmarks define them."""
    columns: dict[str, tuple[str, str, str]] = {}
    for name in names:
        columns |= benchmarks.get(name).plot
    return columns


def plot_rows(metrics: Iterable[Metric], columns: Mapping[str, tuple[str, str, str]]) -> list[dict[str, Any]]:
    """Return one row per benchmark and model; a metric that was not measured has no value."""
    column_of = {source: column for column, source in columns.items()}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for metric in metrics:
        column = column_of.get((metric.variant, metric.scorer, metric.name))
        if column is not None:
            key = (metric.benchmark, metric.model)
            row = rows.setdefault(key, {"benchmark": metric.benchmark, "model": metric.model})
            row[column] = _rounded(metric.value)
    return list(rows.values())


def _order(metric: Metric) -> tuple[Any, ...]:
    """Sort key of the CSV: every key column; Overall before the categories, means over seeds before single seeds."""
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
