"""The numbers of the headline: which metrics they are, and their tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from known_unknowns.benchmark import registry
from known_unknowns.metrics.dual import DUAL, SEPARATOR
from known_unknowns.metrics.proportions import RECOGNISED
from known_unknowns.records import Metric
from known_unknowns.variants import VARIANTS

HEADLINE_PARSERS = ("official", "robust")
HEADLINE_METRICS = (
    "above_chance",
    "accuracy_answered",
    "refusal_recall",
    "refusal_precision",
    *RECOGNISED,
    "share_abstained",
    "share_unparsed",
    "share_cut",
    "share_failed",
    DUAL,
)
"""Headline metrics of all benchmarks, besides the accuracy; a benchmark adds its own (`BenchmarkMetrics.headline`)."""
MODEL_METRICS = (
    (None, "accuracy"),
    (None, "refusal_recall"),
    ("nota_only", "accuracy"),
    *(("blank", name) for name in RECOGNISED),
)
"""Variant and metric of the few numbers per benchmark that compare models. None is the benchmark's main variant."""
_OF_INTERVAL = ("low", "high", "n", "method")
_INTERVALS = {"accuracy": "", DUAL: f"{DUAL}_"}
"""Prefixes of the columns of intervals in the headline table, by metric."""
_DIGITS = 6


def has_content(variant: str) -> bool:
    """Whether a variant, or each of a pair, is not named after a function without content (`Variant.content_free`)."""
    functions = (VARIANTS.get(name) for name in variant.split(SEPARATOR))
    return not any(function.content_free for function in functions if function)


def main_parser(parsers: Iterable[str]) -> str:
    """Return the parser of numbers that compare models: the robust one, else the first."""
    parsers = list(parsers)
    return "robust" if "robust" in parsers else parsers[0]


def headline_metrics(benchmark: str) -> tuple[str, ...]:
    """Return the names of a benchmark's headline metrics."""
    return ("accuracy", *HEADLINE_METRICS, *registry.get(benchmark).metrics().headline)


def model_headline(metrics: Iterable[Metric], parser: str) -> dict[str, Metric]:
    """Return the numbers of one model that compare it with others.

    Parameters
    ----------
    metrics : iterable of Metric
        The model's metrics over all questions, one row each. The first variant of a benchmark with content is its main
        variant.
    parser : str
        The parser whose metrics are taken.

    Returns
    -------
    dict from str to Metric
        By name (``<benchmark>.accuracy``).
    """
    found = {(m.benchmark, m.variant, m.name): m for m in metrics if m.parser == parser}
    main: dict[str, str] = {}
    for benchmark, variant, _ in found:
        if has_content(variant):
            main.setdefault(benchmark, variant)
    wanted = {
        ".".join(part for part in (benchmark, variant, name) if part): (
            benchmark,
            variant or main.get(benchmark, ""),
            name,
        )
        for benchmark in dict.fromkeys(benchmark for benchmark, _, _ in found)
        for variant, name in MODEL_METRICS
    }
    return {name: found[key] for name, key in wanted.items() if key in found}


def variant_headline(metrics: Iterable[Metric], parser: str) -> dict[str, Metric]:
    """Return the headline metrics of one variant.

    Parameters
    ----------
    metrics : iterable of Metric
        The metrics of a model and a variant over all questions, of one seed or over seeds.
    parser : str
        The parser whose metrics have names without a prefix (``accuracy``). Of the others, only the accuracy is
        returned (``likelihood.accuracy``), and of those of `HEADLINE_PARSERS` the benchmark's own headline metrics.

    Returns
    -------
    dict from str to Metric
        By name.
    """
    found, general = {}, set(HEADLINE_METRICS)
    for m in metrics:
        names = set(headline_metrics(m.benchmark))
        if m.parser == parser and m.name in names:
            found[m.name] = m
        elif m.parser != parser and m.name in ({"accuracy"} if m.parser not in HEADLINE_PARSERS else names - general):
            found[f"{m.parser}.{m.name}"] = m
    return found


def headline_rows(metrics: Iterable[Metric]) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the columns and rows of the headline table: one row per model, benchmark, variant and parser.

    ``low``, ``high``, ``n`` and ``method`` are those of the accuracy. A pair of variants has rows of its own, with the
    dual accuracy and its interval in columns that begin with its name; the other columns are empty there.
    """
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    of_dual = (f"{_INTERVALS[DUAL]}{column}" for column in _OF_INTERVAL)
    columns = ["model", "benchmark", "variant", "parser", "accuracy", *_OF_INTERVAL, *HEADLINE_METRICS, *of_dual]
    for metric in metrics:
        if metric.parser not in HEADLINE_PARSERS or metric.name not in headline_metrics(metric.benchmark):
            continue
        key = (metric.model, metric.benchmark, metric.variant, metric.parser)
        row = rows.setdefault(key, dict(zip(columns, key, strict=False)))
        row[metric.name] = rounded(metric.value)
        if (prefix := _INTERVALS.get(metric.name)) is not None:
            numbers = (rounded(metric.low), rounded(metric.high), metric.n, metric.method)
            row |= {prefix + column: number for column, number in zip(_OF_INTERVAL, numbers, strict=True)}
        elif metric.name not in columns:
            columns.append(metric.name)
    return columns, list(rows.values())


def rounded(value: Any) -> Any:
    """Return a number of a summary with six digits; other values as they are."""
    return round(value, _DIGITS) if isinstance(value, float) else value
