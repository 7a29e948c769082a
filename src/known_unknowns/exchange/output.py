"""Print the result of rescoring: as one JSON object or as tables."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from known_unknowns.exchange.results import RescoreResult
from known_unknowns.records import OVERALL, Metric
from known_unknowns.tables.aligned_text import align

ACCURACY = "accuracy"


def format_json(result: RescoreResult, *, categories: bool = False) -> str:
    """Return one object: {"benchmark", "variant", "n", "parsers": {parser: {metric: numbers}}}.

    The numbers of a metric are "value", "low", "high", "n" and "denominator"; undefined is null. With
    ``categories``, a further key of this name has the same by parser and category.
    """
    content: dict[str, Any] = {
        "benchmark": result.benchmark,
        "variant": result.variant,
        "n": result.n,
        **({"samples": result.samples} if result.samples > 1 else {}),
        "parsers": {parser: _numbers(result, parser, OVERALL) for parser in result.parsers},
    }
    if categories:
        names = _categories(result)
        content["categories"] = {
            parser: {name: _numbers(result, parser, name) for name in names} for parser in result.parsers
        }
    return json.dumps(content, indent=2, allow_nan=False)


def _numbers(result: RescoreResult, parser: str, category: str) -> dict[str, dict[str, Any]]:
    names = ("value", "low", "high", "n", "denominator")
    metrics = (m for m in result.shown if (m.parser, m.category) == (parser, category))
    return {metric.name: {name: getattr(metric, name) for name in names} for metric in metrics}


def _categories(result: RescoreResult) -> list[str]:
    return [name for name in dict.fromkeys(metric.category for metric in result.metrics) if name != OVERALL]


def format_tables(result: RescoreResult) -> str:
    """Return tables of every metric over all questions and of each category's accuracy, one column per parser."""
    overall = {(m.name, m.parser): m for m in result.shown if m.category == OVERALL}
    by_category = {(m.category, m.parser): m for m in result.shown if m.name == ACCURACY and m.category != OVERALL}
    samples = f", {result.samples} samples of each" if result.samples > 1 else ""
    lines = [f"{result.benchmark}, {result.variant}: {result.n} questions{samples}", *result.unfinished, ""]
    lines += _table("all questions", dict.fromkeys(name for name, _ in overall), overall, result.parsers)
    if by_category:
        lines += ["", *_table(ACCURACY, _categories(result), by_category, result.parsers)]
    return "\n".join(lines)


def _table(title: str, names: Iterable[str], metrics: dict[tuple[str, str], Metric], parsers: list[str]) -> list[str]:
    rows = [[title, *parsers]]
    rows += [[name, *(_cell(metrics.get((name, parser))) for parser in parsers)] for name in names]
    rule = ["-" * max(map(len, column)) for column in zip(*rows, strict=True)]
    return align([rows[0], rule, *rows[1:]])


def _cell(metric: Metric | None) -> str:
    """Format value, interval and denominator; "-" if undefined, "" if the parser does not have the metric."""
    if metric is None:
        return ""
    if metric.value is None:
        return "-"
    text = f"{metric.value:.4f}"
    if metric.low is not None and metric.high is not None:
        text += f" [{metric.low:.4f}, {metric.high:.4f}]"
    return f"{text} of {metric.denominator:.0f}"
