"""The published numbers of a benchmark: the type of a cell, and the reader of published.yaml."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from known_unknowns.errors import DataError
from known_unknowns.records import OVERALL
from known_unknowns.yaml_reader import parse_yaml

_PRINTED = re.compile(r"(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?(?:±(\d+(?:\.\d+)?))?")
PERCENT, QUESTIONS, VIEWS = "percent", "questions", "views"
UNITS = (PERCENT, QUESTIONS, VIEWS)
"""The units of a number of a model. Numbers of other kinds can have any unit."""
MODEL, DATA, STATEMENT = "model", "data", "statement"
KINDS = (MODEL, DATA, STATEMENT)
"""A number of a model is compared with those of a run, a number of the data with the check of the data. A statement
repeats a number of a table in a text, a log or released files, and is audited only."""


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """One number of a paper or of a released log.

    Attributes
    ----------
    benchmark : str
        The benchmark's name.
    table : str
        The table or figure of the paper, the section of its text, or the log.
    row : str
        The model as the table names it; for data, what the row counts.
    column : str
        The column heading as printed.
    variant, category, metric : str
        The metric of this project that corresponds to the cell. For data, ``metric`` is the quantity of the
        benchmark's check, if it counts it, and ``variant`` is empty.
    value : float
        The printed number, in ``unit``.
    decimals : int
        The number of printed decimals.
    source : str
        The reference.
    note : str
        Remarks on the cell, including what the benchmark's audit finds.
    model : str
        One name for a model that tables name in several ways; ``row`` if empty.
    unit : str
        "percent", "questions" or "views".
    spread : float, optional
        The number printed after ±.
    parser : str, optional
        The only parser that corresponds to the table's parser, if it is not the official one.
    n : int, optional
        The number of questions, if it differs from that of the published data.
    kind : str
        One of `KINDS`.
    revision : str
        The name of the published data that the number was measured on; empty if the file names none.
    questions : int, optional
        The number of questions of ``category`` in these data; None if no source states it.
    runs : int
        The number of runs that the cell is the mean of.
    countable : bool
        Whether the number is a count over ``questions``. A ratio with another denominator is not.
    """

    benchmark: str
    table: str
    row: str
    column: str
    variant: str
    category: str
    metric: str
    value: float
    decimals: int
    source: str
    note: str = ""
    model: str = ""
    unit: str = PERCENT
    spread: float | None = None
    parser: str | None = None
    n: int | None = None
    kind: str = MODEL
    revision: str = ""
    questions: int | None = None
    runs: int = 1
    countable: bool = True

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.table}, {self.row}, {self.column}: {self.kind!r} is not one of {KINDS}")
        required = ["benchmark", "table", "row", "column", "category", "metric", "source"]
        for name in required if self.kind == DATA else [*required, "variant"]:
            if not getattr(self, name):
                raise ValueError(f"a published cell has no {name}")
        if self.unit not in UNITS and self.kind == MODEL:
            raise ValueError(f"{self.table}, {self.row}, {self.column}: {self.unit!r} is not one of {UNITS}")
        if not 0 <= self.value <= 100 and self.unit == PERCENT:
            raise ValueError(f"{self.table}, {self.row}, {self.column}: {self.value} is not a percentage")
        if not self.model:
            object.__setattr__(self, "model", self.row)

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed place: the largest rounding error."""
        return 0.5 * 10**-self.decimals

    @property
    def printed(self) -> str:
        """The number as printed."""
        return f"{self.value:,.{self.decimals}f}"

    @property
    def key(self) -> tuple[str, str, str]:
        """Table, row and column, which identify the cell within a benchmark."""
        return self.table, self.row, self.column


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that an audit needs and no table prints: a value, and its source."""

    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class Published:
    """Everything that published.yaml of a benchmark has.

    Attributes
    ----------
    benchmark : str
        The benchmark's name.
    cells : tuple of PublishedCell
        All cells, of every kind, in the order of the file.
    facts : mapping of str to Fact
        Declared facts, by name.
    """

    benchmark: str
    cells: tuple[PublishedCell, ...]
    facts: Mapping[str, Fact] = field(default_factory=dict)

    def rows(self, *tables: str) -> dict[tuple[str, str], dict[str, PublishedCell]]:
        """Return the cells by (table, row), then by column: of these tables, or of all if none is named."""
        return cells_by_row(cell for cell in self.cells if not tables or cell.table in tables)

    def row(self, table: str, row: str) -> dict[str, PublishedCell]:
        """Return the cells of one row by column."""
        return {cell.column: cell for cell in self.cells if (cell.table, cell.row) == (table, row)}


def cells_by_row(cells: Iterator[PublishedCell] | Any) -> dict[tuple[str, str], dict[str, PublishedCell]]:
    """Return the cells by (table, row), then by column."""
    found: dict[tuple[str, str], dict[str, PublishedCell]] = {}
    for cell in cells:
        found.setdefault((cell.table, cell.row), {})[cell.column] = cell
    return found


def read(*paths: Path, benchmark: str) -> Published:
    """Read the published numbers of a benchmark.

    Parameters
    ----------
    *paths : Path
        The file published.yaml, and further files with more ``blocks`` and ``facts``.
    benchmark : str
        The benchmark's name.

    Raises
    ------
    DataError
        If a cell is not a printed number, names an unlisted source, or occurs twice. The message names the file, the
        table and the row.
    """
    raw: dict[str, Any] = {}
    cells: dict[tuple[str, ...], PublishedCell] = {}
    facts: dict[str, Fact] = {}
    for path in paths:
        try:
            part = parse_yaml(path.read_text(encoding="utf-8"))
            raw = raw or part
            if raw["benchmark"] != benchmark:
                raise ValueError(f"the file has the numbers of {raw['benchmark']!r}, not of {benchmark!r}")
            for cell in (cell for block in part["blocks"] for cell in _block(raw, block)):
                if cell.key in cells:
                    raise ValueError(f"{', '.join(cell.key)} occurs twice")
                cells[cell.key] = cell
            facts |= {name: Fact(fact["value"], fact["source"]) for name, fact in part.get("facts", {}).items()}
        except KeyError as error:
            raise DataError(f"the key {error} is missing", file=path) from error
        except (ValueError, TypeError, yaml.YAMLError) as error:
            raise DataError(str(error), file=path) from error
    return Published(benchmark, tuple(cells.values()), facts)


def _block(raw: Mapping[str, Any], block: Mapping[str, Any]) -> Iterator[PublishedCell]:
    table, rows, columns = block["table"], block["rows"], block["columns"]
    notes = block.get("notes", {})
    if unknown := set(notes) - set(rows):
        raise ValueError(f"{table}: notes on unknown rows: {', '.join(sorted(unknown))}")
    for row, text in rows.items():
        if not isinstance(text, str):
            raise ValueError(f"{table}, {row}: write {text} in quotes to keep its decimals")
        printed = text.split()
        if len(printed) != len(columns):
            raise ValueError(f"{table}, {row}: {len(printed)} cells for {len(columns)} columns")
        for column, number in zip(columns, printed, strict=True):
            if number != "-":  # not printed
                yield _cell(raw, block, row, column, number)


def _cell(
    raw: Mapping[str, Any], block: Mapping[str, Any], row: str, column: Mapping[str, Any], number: str
) -> PublishedCell:
    table, kind = block["table"], block.get("kind", MODEL)
    match = _PRINTED.fullmatch(number)
    if match is None:
        raise ValueError(f"{table}, {row}, {column['name']}: {number!r} is not a printed percentage")
    settings = dict(block) | dict(column)
    category = settings.get("category", OVERALL) if kind == DATA else column["category"]
    if kind == DATA:
        own = row if len(block["columns"]) == 1 else f"{row}, {column['name']}"
        metric = block.get("quantities", {}).get(row, own)
    else:
        metric = settings["metric"]
    revision, questions = _data(raw, block, category)
    return PublishedCell(
        benchmark=raw["benchmark"],
        table=table,
        row=row,
        column=column["name"],
        variant="" if kind == DATA else settings["variant"],
        category=category,
        metric=metric,
        value=float(number.partition("±")[0].replace(",", "")),
        decimals=len(match[2] or ""),
        source=raw["sources"][block["source"]],
        note=" ".join(note for note in (block.get("note"), block.get("notes", {}).get(row)) if note),
        model=raw.get("models", {}).get(row, row),
        unit=settings.get("unit", PERCENT),
        spread=None if match[3] is None else float(match[3]),
        parser=block.get("parser"),
        n=column.get("n"),
        kind=kind,
        revision=revision,
        questions=settings.get("questions", questions),
        runs=block.get("runs", 1),
        countable=settings.get("countable", True),
    )


def _data(raw: Mapping[str, Any], block: Mapping[str, Any], category: str) -> tuple[str, int | None]:
    """Return the revision of the data of a block (by default the first), and its number of questions of a category."""
    data = raw.get("data", {})
    revision = block.get("data", next(iter(data), ""))
    return revision, data[revision]["questions"].get(category) if revision else None
