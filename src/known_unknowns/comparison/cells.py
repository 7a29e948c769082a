"""The published cells of a benchmark, from published.yaml in its folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from known_unknowns import benchmarks
from known_unknowns.errors import DataError

_PRINTED = re.compile(r"(\d{1,3}(?:\.(\d+))?)(?:±(\d+(?:\.\d+)?))?")
PERCENT, QUESTIONS, VIEWS = "percent", "questions", "views"
UNITS = (PERCENT, QUESTIONS, VIEWS)


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """One number of a paper or of a released log.

    Attributes
    ----------
    benchmark : str
        The benchmark's name.
    table : str
        The table or figure of the paper, or the log.
    row : str
        The model as the table names it.
    column : str
        The column heading as printed.
    variant, category, metric : str
        The metric of this project that corresponds to the cell.
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
    scorer : str, optional
        The only scorer that corresponds to the table's parser, if it is not the official one.
    n : int, optional
        The number of questions, if it differs from that of the published data.
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
    scorer: str | None = None
    n: int | None = None

    def __post_init__(self) -> None:
        for name in ("benchmark", "table", "row", "column", "variant", "category", "metric", "source"):
            if not getattr(self, name):
                raise ValueError(f"a published cell has no {name}")
        if self.unit not in UNITS:
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
        return f"{self.value:.{self.decimals}f}"


def load(benchmark: str) -> list[PublishedCell]:
    """Return the published cells of a benchmark, in the order of its file.

    Parameters
    ----------
    benchmark : str
        The benchmark's name.

    Returns
    -------
    list of PublishedCell
        The cells, with the notes of the benchmark's audit. Empty if the benchmark has no published.yaml.

    Raises
    ------
    DataError
        If a cell is not a printed number, names an unlisted source, or occurs twice. The message names the file, the
        table and the row.
    """
    found = benchmarks.get(benchmark)
    cells = read(found.published, benchmark) if found.published else []
    return found.audit.get()(cells) if found.audit else cells


def read(path: Path, benchmark: str) -> list[PublishedCell]:
    """Read one file of published cells; see `load`."""
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
        if raw["benchmark"] != benchmark:
            raise ValueError(f"the file has the numbers of {raw['benchmark']!r}, not of {benchmark!r}")
        cells = [cell for block in raw["blocks"] for cell in _block(raw, block)]
    except KeyError as error:
        raise DataError(f"the key {error} is missing", file=path) from error
    except (ValueError, TypeError, yaml.YAMLError) as error:
        raise DataError(str(error), file=path) from error
    seen = set()
    for cell in cells:
        key = (cell.table, cell.row, cell.column)
        if key in seen:
            raise DataError(f"{', '.join(key)} occurs twice", file=path)
        seen.add(key)
    return cells


def _block(raw: Mapping[str, Any], block: Mapping[str, Any]) -> Iterator[PublishedCell]:
    table, rows, columns = block["table"], block["rows"], block["columns"]
    notes, models = block.get("notes", {}), raw.get("models", {})
    if unknown := set(notes) - set(rows):
        raise ValueError(f"{table}: notes on unknown rows: {', '.join(sorted(unknown))}")
    for row, text in rows.items():
        if not isinstance(text, str):
            raise ValueError(f"{table}, {row}: write {text} in quotes to keep its decimals")
        printed = text.split()
        if len(printed) != len(columns):
            raise ValueError(f"{table}, {row}: {len(printed)} cells for {len(columns)} columns")
        for column, number in zip(columns, printed, strict=True):
            match = _PRINTED.fullmatch(number)
            if match is None:
                raise ValueError(f"{table}, {row}, {column['name']}: {number!r} is not a printed percentage")
            yield PublishedCell(
                benchmark=raw["benchmark"],
                table=table,
                row=row,
                column=column["name"],
                variant=column["variant"] if "variant" in column else block["variant"],
                category=column["category"],
                metric=column["metric"] if "metric" in column else block["metric"],
                value=float(match[1]),
                decimals=len(match[2] or ""),
                source=raw["sources"][block["source"]],
                note=" ".join(note for note in (block.get("note"), notes.get(row)) if note),
                model=models.get(row, row),
                unit=column.get("unit", PERCENT),
                spread=None if match[3] is None else float(match[3]),
                scorer=block.get("scorer"),
                n=column.get("n"),
            )
