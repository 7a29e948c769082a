"""The table of the comparison: one row per published cell, model of this run and parser, with a verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from known_unknowns import tables
from known_unknowns.comparison.verdicts import VERDICTS


def _text(name: str) -> pa.Field:
    return pa.field(name, pa.string(), nullable=False)


COMPARISON = pa.schema(
    [
        _text("benchmark"),
        _text("table"),  # of the paper, or the log
        _text("row"),  # the model, as published
        _text("column"),  # the table's heading
        _text("variant"),
        _text("category"),
        _text("metric"),  # of this run, under the official parser
        pa.field("published", pa.float64(), nullable=False),  # in the unit
        pa.field("published_spread", pa.float64()),  # the number after its ±
        pa.field("decimals", pa.int64(), nullable=False),  # as printed
        _text("unit"),  # percent, questions or views
        _text("source"),
        _text("note"),
        pa.field("model", pa.string()),  # of this run that corresponds to the row
        _text("parser"),
        pa.field("our_metric", pa.string()),  # differs from `metric` if only the official parser has that one
        pa.field("value", pa.float64()),  # in the unit
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("spread", pa.float64()),  # standard deviation over seeds, ddof = 1
        pa.field("n", pa.int64()),
        pa.field("method", pa.string()),
        _text("verdict"),
        _text("reason"),
        pa.field("published_row", pa.string()),  # one name for a model that tables name in several ways
        pa.field("published_n", pa.int64()),  # number of questions
        pa.field("published_revision", pa.string()),  # of the data: a commit, or a name in published.yaml
        pa.field("revision", pa.string()),  # the commit of our data
        pa.field("margin", pa.float64()),  # of "reproduced", in the unit: the sum of the three parts
        pa.field("margin_rounding", pa.float64()),
        pa.field("margin_flips", pa.float64()),
        pa.field("margin_spread", pa.float64()),
        pa.field("flip_rate", pa.float64()),  # upper bound of the share of questions with a changed answer
        pa.field("flips_source", pa.string()),
        pa.field("matches", pa.int64()),  # other rows of the column that the same result would have matched
        pa.field("rivals", pa.int64()),  # number of these rows
        pa.field("supporting", pa.int64()),  # numbers of the same replies within their margins
        pa.field("supporting_of", pa.int64()),  # number of these numbers
        pa.field("obstacle", pa.string()),  # why there is no judgement: one of `conditions.OBSTACLES`
    ]
)


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One row of `COMPARISON`. All numbers are in its unit. Numbers of this run are None if nothing was run."""

    benchmark: str
    table: str
    row: str
    column: str
    variant: str
    category: str
    metric: str
    published: float
    published_spread: float | None
    decimals: int
    unit: str
    source: str
    note: str
    model: str | None
    parser: str
    our_metric: str | None
    value: float | None
    low: float | None
    high: float | None
    spread: float | None
    n: int | None
    method: str | None
    verdict: str
    reason: str
    published_row: str | None = None
    published_n: int | None = None
    published_revision: str | None = None
    revision: str | None = None
    margin: float | None = None
    margin_rounding: float | None = None
    margin_flips: float | None = None
    margin_spread: float | None = None
    flip_rate: float | None = None
    flips_source: str | None = None
    matches: int | None = None
    rivals: int | None = None
    supporting: int | None = None
    supporting_of: int | None = None
    obstacle: str | None = None

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"{self.verdict!r} is not one of {VERDICTS}")


def write_comparison(path: str | Path, rows: Iterable[ComparisonRow]) -> None:
    """Write a comparison table atomically; the same rows give the same bytes."""
    tables.write_dataclasses(path, rows, COMPARISON)


def read_comparison(path: str | Path) -> list[ComparisonRow]:
    """Read a comparison table. DataError if the file is absent or is not one."""
    return tables.read_dataclasses(path, ComparisonRow, COMPARISON, "a table of comparisons")
