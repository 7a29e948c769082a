"""The published cells of a benchmark, read from the YAML file of its name in this folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from known_unknowns.errors import DataError

_FOLDER = Path(__file__).parent
_PRINTED = re.compile(r"\d{1,3}(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """One number of a paper or of a released log.

    ``row`` is the model as the table names it and ``column`` the table's own heading; ``variant``, ``category`` and
    ``metric`` say which of our metrics it is. ``value`` is in percent, printed with ``decimals`` decimals.
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

    def __post_init__(self) -> None:
        for name in ("benchmark", "table", "row", "column", "variant", "category", "metric", "source"):
            if not getattr(self, name):
                raise ValueError(f"a published cell has no {name}")
        if not 0 <= self.value <= 100:
            raise ValueError(f"{self.table}, {self.row}, {self.column}: {self.value} is not a percentage")

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed place, in percentage points: what rounding may have hidden."""
        return 0.5 * 10**-self.decimals

    @property
    def printed(self) -> str:
        return f"{self.value:.{self.decimals}f}"


def load(benchmark: str) -> list[PublishedCell]:
    """The published cells of a benchmark, in the order of its file; none where there is no such file.

    Raises DataError naming the file, the table and the row of a cell that is not a printed percentage, that names
    a source that is not listed, or that stands there twice.
    """
    path = _FOLDER / f"{benchmark}.yaml"
    return read(path, benchmark) if path.is_file() else []


def read(path: Path, benchmark: str) -> list[PublishedCell]:
    """Read one file of published cells; see `load`."""
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
        if raw["benchmark"] != benchmark:
            raise ValueError(f"these are the numbers of {raw['benchmark']!r}, not of {benchmark!r}")
        cells = [cell for block in raw["blocks"] for cell in _block(raw, block)]
    except KeyError as error:
        raise DataError(f"the key {error} is missing", file=path) from error
    except (ValueError, TypeError, yaml.YAMLError) as error:
        raise DataError(str(error), file=path) from error
    seen = set()
    for cell in cells:
        key = (cell.table, cell.row, cell.column)
        if key in seen:
            raise DataError(f"{', '.join(key)} stands there twice", file=path)
        seen.add(key)
    return cells


def _block(raw: Mapping[str, Any], block: Mapping[str, Any]) -> Iterator[PublishedCell]:
    table, rows, columns = block["table"], block["rows"], block["columns"]
    notes = block.get("notes", {})
    if strangers := set(notes) - set(rows):
        raise ValueError(f"{table}: notes on rows that are not there: {', '.join(sorted(strangers))}")
    for row, text in rows.items():
        if not isinstance(text, str):
            raise ValueError(f"{table}, {row}: write {text} in quotes, so that its decimals are kept")
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
                variant=block["variant"],
                category=column["category"],
                metric=block["metric"],
                value=float(number),
                decimals=len(match[1] or ""),
                source=raw["sources"][block["source"]],
                note=" ".join(note for note in (block.get("note"), notes.get(row)) if note),
            )
