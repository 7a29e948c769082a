"""The leaderboard: one row per model and benchmark, with the numbers that compare models, their n and intervals."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from known_unknowns.metrics.dual import DUAL
from known_unknowns.metrics.proportions import RECOGNISED
from known_unknowns.metrics.summary import has_content, main_parser, rounded
from known_unknowns.records import Metric

NUMBERS = ("accuracy", "dual_accuracy", "nota_only_accuracy", *(f"blank_{name}" for name in RECOGNISED))
"""Numbers of a row: the accuracy of the main variant, the first dual accuracy, and those of two stress tests.

`nota_only` has an accuracy: the refusal is right. Without content (`blank`), only the share that recognised it counts,
and its two parts."""
_PARTS = ("", "_low", "_high", "_n", "_method")
COLUMNS = ("model", "benchmark", "parser", "variant", "dual_variant", *(n + part for n in NUMBERS for part in _PARTS))


def leaderboard_row(metrics: Iterable[Metric]) -> dict[str, Any]:
    """Return the row of one model and benchmark; a number that was not measured is absent.

    Parameters
    ----------
    metrics : iterable of Metric
        Metrics over all questions, one row per metric, in the order of the model's table of metrics: the first variant
        with content is the main one.

    Returns
    -------
    dict from str to Any
        Values of `COLUMNS`. ``<number>_n`` counts questions; ``<number>_low`` and ``<number>_high`` are the interval.
    """
    every = list(metrics)
    parser = main_parser(dict.fromkeys(metric.parser for metric in every))
    found = {(metric.variant, metric.name): metric for metric in every if metric.parser == parser}
    main = next((metric.variant for metric in every if has_content(metric.variant)), "")
    dual = next((variant for variant, name in found if name == DUAL and has_content(variant)), "")
    row = {"model": every[0].model, "benchmark": every[0].benchmark, "parser": parser}
    keys = [(main, "accuracy"), (dual, DUAL), ("nota_only", "accuracy"), *(("blank", name) for name in RECOGNISED)]
    for number, key in zip(NUMBERS, keys, strict=True):
        if metric := found.get(key):
            values = (metric.value, metric.low, metric.high, metric.n, metric.method)
            row |= {number + part: rounded(value) for part, value in zip(_PARTS, values, strict=True)}
    return row | ({"variant": main} if main else {}) | ({"dual_variant": dual} if dual else {})


def by_model(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, dict[str, float | None]]]:
    """Return the short record of each model: the accuracy and the dual accuracy on each benchmark."""
    records: dict[str, dict[str, dict[str, float | None]]] = {}
    for row in rows:
        numbers = {number: row[number] for number in NUMBERS[:2] if number in row}
        records.setdefault(row["model"], {})[row["benchmark"]] = numbers
    return records


def read_leaderboard(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a leaderboard in CSV. An empty cell is absent from its row."""
    with path.open(newline="", encoding="utf-8") as lines:
        rows = [{name: value for name, value in row.items() if value} for row in csv.DictReader(lines)]
    for row in rows:
        for name in NUMBERS:
            row |= {name + part: float(row[name + part]) for part in _PARTS[:3] if name + part in row}
            row |= {f"{name}_n": int(row[f"{name}_n"])} if f"{name}_n" in row else {}
    return rows
