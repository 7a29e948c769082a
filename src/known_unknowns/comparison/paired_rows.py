"""Rows of paired comparisons: their table, their correction for the number of pairs, and their text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np

from known_unknowns import tables
from known_unknowns.metrics.paired import holm, rank_intervals
from known_unknowns.records import Definition


@dataclass(frozen=True, slots=True)
class Series:
    """Whose answers are compared: a model's answers to a variant, as a parser parsed them."""

    model: str
    variant: str
    parser: str


@dataclass(frozen=True, slots=True)
class PairedRow:
    """The comparison of two series, a row of model_comparison.parquet."""

    benchmark: str
    model_a: str
    variant_a: str
    parser_a: str
    model_b: str
    variant_b: str
    parser_b: str
    n: int  # questions that both have
    groups: int  # images, or other groups of these questions
    seeds: int  # that both have; the accuracies are means over them
    only_a: int  # questions that only a has
    only_b: int
    accuracy_a: float | None
    accuracy_b: float | None
    difference: float | None  # accuracy_a - accuracy_b
    low: float | None
    high: float | None
    confidence: float
    method: str  # of the interval
    p: float | None
    p_holm: float | None
    test: str
    pairs: int  # that p_holm and the ranks are corrected for
    correlation: float | None  # of the two series of answers
    standard_error: float | None
    detectable: float | None  # minimum detectable difference at 80% power
    rank_a_low: int
    rank_a_high: int
    rank_b_low: int
    rank_b_high: int

    @property
    def a(self) -> Series:
        return Series(self.model_a, self.variant_a, self.parser_a)

    @property
    def b(self) -> Series:
        return Series(self.model_b, self.variant_b, self.parser_b)


def correct_for_pairs(rows: Sequence[PairedRow], *, confidence: float = 0.95) -> list[PairedRow]:
    """Correct the tests of all pairs of some series for their number, and set the ranks among these series.

    Only ``p_holm``, ``pairs`` and the ranks change; ``confidence`` is the level of all ranks together.
    """
    adjusted = holm([np.nan if row.p is None else row.p for row in rows]).tolist()
    corrected = [
        replace(row, p_holm=None if row.p is None else p, pairs=len(rows))
        for row, p in zip(rows, adjusted, strict=True)
    ]
    return rank_series(corrected, confidence=confidence)


RANK = Definition(
    "The best and the worst rank that a model can have, from the paired tests of all models together.",
    "docs/comparison.md#pairs-of-models",
)
"""What a rank is, for pages."""


def rank_series(rows: Sequence[PairedRow], *, confidence: float = 0.95) -> list[PairedRow]:
    """Set the ranks among the series of these rows. They follow from the corrected p-values that the rows have."""
    tested = [row for row in rows if row.p_holm is not None and row.p_holm <= 1 - confidence]
    better = [(row.a, row.b) if row.difference > 0 else (row.b, row.a) for row in tested if row.difference is not None]
    ranks = rank_intervals(list(dict.fromkeys(side for row in rows for side in (row.a, row.b))), better)
    return [
        replace(
            row,
            rank_a_low=ranks[row.a][0],
            rank_a_high=ranks[row.a][1],
            rank_b_low=ranks[row.b][0],
            rank_b_high=ranks[row.b][1],
        )
        for row in rows
    ]


def common_to_both(series: Series, compared: str) -> tuple[str, ...]:
    """The attributes that are the same in all series of a family."""
    return tuple(getattr(series, name) for name in ("variant", "parser", "model") if name != compared)


def as_text(rows: Sequence[PairedRow], compared: str) -> str:
    """Format rows for a terminal; accuracies and differences in percent and percentage points.

    ``compared`` is `Selection.compared`.
    """
    if not rows:
        return "No pair has answers to the same benchmark and variant."
    parts = []
    for (benchmark, *common), family in groupby(
        rows, key=lambda row: (row.benchmark, *common_to_both(row.a, compared))
    ):
        parts.append(_family(f"{benchmark}, {', '.join(common)}", list(family), compared))
    parts.append(
        f"difference: a - b in percentage points, with its {rows[0].confidence:.0%} interval\n"
        "p (Holm): corrected for all pairs of its table, as are the ranks; for two models without pairs of baselines\n"
        "detectable: minimum detectable difference at 80% power in percentage points"
    )
    return "\n\n".join(parts)


def _family(title: str, rows: list[PairedRow], compared: str) -> str:
    def name(series: Series) -> str:
        return str(getattr(series, compared))

    lines = [("a", "b", "n", "groups", "a %", "b %", "difference", "interval", "p", "p (Holm)", "detectable")]
    notes = []
    for row in rows:
        n = str(row.n) if row.seeds < 2 else f"{row.n} x {row.seeds} seeds"
        interval = "-" if row.low is None else f"[{_percent(row.low, '+')}, {_percent(row.high, '+')}]"
        accuracies = _percent(row.accuracy_a), _percent(row.accuracy_b), _percent(row.difference, "+")
        tests = _p(row.p), _p(row.p_holm), _percent(row.detectable)
        lines.append((name(row.a), name(row.b), n, str(row.groups), *accuracies, interval, *tests))
        pair = f"{name(row.a)} and {name(row.b)}"
        if row.only_a or row.only_b:
            notes.append(f"{pair}: {row.only_a} and {row.only_b} questions that the other one does not have")
        if row.low is None:
            notes.append(f"{pair}: no interval ({row.method})")
    if len(rows) > 1:
        ranks: dict[Series, tuple[int, int]] = {}
        for row in sorted(rows, key=lambda row: row.pairs, reverse=True):  # models are ranked without the baselines
            ranks[row.a] = row.rank_a_low, row.rank_a_high
            ranks[row.b] = row.rank_b_low, row.rank_b_high
        in_order = sorted(ranks.items(), key=lambda item: item[1])
        shown = (f"{name(series)} {low}" + (f"-{high}" if high > low else "") for series, (low, high) in in_order)
        notes.append(f"ranks: {', '.join(shown)}")
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join([f"{title} ({', '.join(dict.fromkeys(row.test for row in rows))})", *text, *notes])


def _percent(value: float | None, sign: str = "") -> str:
    return "-" if value is None else f"{100 * value:{sign}.1f}"


def _p(value: float | None) -> str:
    return "-" if value is None else "<0.0001" if value < 0.0001 else f"{value:.4f}"


def write_model_comparison(path: str | Path, rows: Iterable[PairedRow]) -> None:
    """Write a table of paired comparisons atomically; the same rows give the same bytes."""
    tables.write_dataclasses(path, rows, PairedRow)


def read_model_comparison(path: str | Path) -> list[PairedRow]:
    """Read a table of paired comparisons. DataError if the file is absent or is not one."""
    return tables.read_dataclasses(path, PairedRow, "a table of paired comparisons")
