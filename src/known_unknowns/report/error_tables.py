"""Shares of the kinds of wrong answers that reviewers tagged (docs/review.md), from the tables of the run."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from known_unknowns.errors import DataError
from known_unknowns.records import OVERALL
from known_unknowns.report.formatting import Cell, Head, Row, Table, interval, percent
from known_unknowns.report.tables import Run


@dataclass(frozen=True, slots=True)
class Examples:
    """Ids of questions with wrong answers of one kind."""

    model: str
    variant: str
    seed: str
    tag: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ErrorShares:
    """What the page shows of the errors of all models with tags."""

    table: Table
    examples: tuple[Examples, ...]
    method: str


def shares(run: Run, results: Path) -> ErrorShares | None:
    """Return the shares of each kind of error; None if no wrong answers are tagged.

    Parameters
    ----------
    run : Run
        The benchmark, with its models.
    results : Path
        The edition's folder, whose ``errors/<model>/<benchmark>/<variant>-seed<k>.csv`` are read.

    Raises
    ------
    DataError
        If a table cannot be read.
    """
    rows, examples, method = [], [], ""
    for model in run.models:
        for path in sorted((results / "errors" / model / run.benchmark).glob("*-seed*.csv")):
            variant, _, seed = path.stem.rpartition("-seed")
            heads = (Head(model), Head(variant))
            for tag, values in _read(path):
                share, low, high = (float(values[name]) for name in ("share", "low", "high"))
                note = _note(values)
                cell = Cell(percent(share), interval(low, high), int(values["n"]), title=values["method"], note=note)
                rows.append(Row((*heads, Head(tag)), (cell, Cell(values["count"]))))
                examples.append(Examples(model, variant, seed, tag, tuple(json.loads(values["examples"]))))
                method = values["method"]
    if not rows:
        return None
    table = Table("Kinds of wrong answers", ("Model", "Variant", "Kind"), (Head("Share"), Head("Count")), tuple(rows))
    return ErrorShares(table, tuple(examples), method)


def _read(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tags over all categories that some answer has, the most frequent one first."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["category"] == OVERALL and int(row["count"])]
    except (OSError, KeyError, ValueError, csv.Error) as error:
        message = f"not a table of errors ({error}); delete it and run again"
        raise DataError(message, file=path) from error
    for row in sorted(rows, key=lambda row: -int(row["count"])):
        yield row["tag"], row


def _note(values: dict[str, Any]) -> str:
    """What is not in n."""
    left = [f"{values[name]} {name}" for name in ("pending", "disputed") if int(values[name])]
    return ", ".join(left)
