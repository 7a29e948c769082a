"""Summaries of all metrics for people and DVC: CSVs of all and of the headline metrics, JSON, a CSV for a plot."""

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
from known_unknowns.metrics.dual import DUAL
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
    DUAL,
)
"""Headline metrics of all benchmarks, besides the accuracy; a benchmark adds its own (`BenchmarkMetrics.headline`)."""
MODEL_METRICS = ((None, "accuracy"), (None, "refusal_recall"), ("nota_only", "accuracy"), ("blank", "accuracy"))
"""Variant and metric of the few numbers per benchmark that compare models. None is the benchmark's main variant."""
_DIGITS = 6


def summarise(metrics: Sequence[Path], *, out: Path, table: Path, plot: Path, headline_table: Path) -> None:
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
    headline_table : Path
        CSV of the headline metrics, one row per model, benchmark, variant and scorer.
    """
    rows = sorted((metric for path in metrics for metric in tables.read_metrics(path)), key=_order)
    chosen = [metric for metric in headline(rows) if metric.category == OVERALL]
    tables.write_text(table, _csv(COLUMNS, (asdict(metric) for metric in rows)))
    tables.write_text(out, json.dumps(headlines(chosen), indent=2, sort_keys=True, allow_nan=False) + "\n")
    columns = plot_columns(dict.fromkeys(metric.benchmark for metric in rows))
    tables.write_text(plot, _csv(("benchmark", "model", *columns), plot_rows(chosen, columns)))
    tables.write_text(headline_table, _csv(*headline_rows(chosen)))


def main_scorer(scorers: Iterable[str]) -> str:
    """Return the scorer of numbers that compare models: the robust one, else the first."""
    scorers = list(scorers)
    return "robust" if "robust" in scorers else scorers[0]


def headline_metrics(benchmark: str) -> tuple[str, ...]:
    """Return the names of a benchmark's headline metrics."""
    return ("accuracy", *HEADLINE_METRICS, *benchmark_hooks.of(benchmark).headline)


def model_headline(metrics: Iterable[Metric], scorer: str) -> dict[str, Metric]:
    """Return the numbers of one model that compare it with others, by name (``<benchmark>.accuracy``).

    Parameters
    ----------
    metrics : iterable of Metric
        The model's metrics over all questions, one row each. The first variant of a benchmark is its main variant.
    scorer : str
        The scorer whose metrics are taken.
    """
    found = {(m.benchmark, m.variant, m.name): m for m in metrics if m.scorer == scorer}
    main: dict[str, str] = {}
    for benchmark, variant, _ in found:
        main.setdefault(benchmark, variant)
    wanted = {
        ".".join(part for part in (benchmark, variant, name) if part): (benchmark, variant or main[benchmark], name)
        for benchmark in main
        for variant, name in MODEL_METRICS
    }
    return {name: found[key] for name, key in wanted.items() if key in found}


def headline_rows(metrics: Iterable[Metric]) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the columns and rows of the headline table: one row per model, benchmark, variant and scorer.

    ``low``, ``high``, ``n`` and ``method`` are those of the accuracy, or of the dual accuracy of two variants.
    """
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    columns = ["model", "benchmark", "variant", "scorer", "accuracy", "low", "high", "n", "method", *HEADLINE_METRICS]
    for metric in metrics:
        if metric.scorer not in HEADLINE_SCORERS or metric.name not in headline_metrics(metric.benchmark):
            continue
        key = (metric.model, metric.benchmark, metric.variant, metric.scorer)
        row = rows.setdefault(key, dict(zip(columns, key, strict=False)))
        row[metric.name] = _rounded(metric.value)
        if metric.name in ("accuracy", DUAL):
            row |= {"low": _rounded(metric.low), "high": _rounded(metric.high), "n": metric.n, "method": metric.method}
        elif metric.name not in columns:
            columns.append(metric.name)
    return columns, list(rows.values())


def headlines(metrics: Iterable[Metric]) -> dict[str, Any]:
    """Nest headline metrics by model, benchmark, variant and scorer.

    These are the accuracy with its interval (low, high) and number of questions n, and the other headline metrics
    that were measured.
    """
    tree: dict[str, Any] = {}
    for row in headline_rows(metrics)[1]:
        at = tree
        for name in ("model", "benchmark", "variant"):
            at = at.setdefault(row.pop(name), {})
        row.pop("method", None)
        at[row.pop("scorer")] = row
    return tree


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
