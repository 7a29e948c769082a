"""Published numbers: the type of a cell of a table, and of a finding on one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

PERCENT, QUESTIONS, VIEWS = "percent", "questions", "views"
UNITS = (PERCENT, QUESTIONS, VIEWS)
"""The units of a number of a model. Numbers of other kinds can have any unit."""
MODEL, DATA, STATEMENT = "model", "data", "statement"
KINDS = (MODEL, DATA, STATEMENT)
"""A number of a model is compared with those of a run, a number of the data with the check of the data. A statement
repeats a number of a table in a text, a log or released files, and is audited only."""
ORIGINS = {
    "printed": "printed",
    "drawn": "drawn in figures (values from the authors' files)",
    "repeated": "of tables that repeat another",
    "logged": "of the authors' logs",
    "implied": "implied by the logs",
    "computed": "computed from released files",
}
"""Where a published number stands."""
ALL = "all"
"""The row or column of a finding on all rows or columns."""


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
        The reference, with its version.
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
    version : str
        The version of the paper or of the files that has the number.
    origin : str
        One of `ORIGINS`.
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
    version: str = ""
    origin: str = "printed"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.table}, {self.row}, {self.column}: {self.kind!r} is not one of {KINDS}")
        if self.origin not in ORIGINS:
            raise ValueError(f"{self.table}, {self.row}, {self.column}: {self.origin!r} is not one of {[*ORIGINS]}")
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
class Source:
    """A paper, log or file with published numbers.

    ``version`` is the one whose numbers are in published.yaml, ``not_checked`` another one that was not seen.
    """

    reference: str
    version: str
    not_checked: str = ""


CONCLUSION, NUMBER, DIGIT = "conclusion", "number", "digit"
CHANGES = {
    CONCLUSION: "a rank or a sentence of the paper changes",
    NUMBER: "a number changes",
    DIGIT: "only a last digit or a word changes",
}
"""What an issue changes, the most important first."""


@dataclass(frozen=True, slots=True)
class DeclaredIssue:
    """One cause of several findings, as published.yaml states it.

    Attributes
    ----------
    issue : str
        One sentence.
    changes : str
        One of `CHANGES`.
    findings : tuple of (str, str, str)
        Tables, rows and columns of the findings, as in `AuditFinding`; "any" stands for every row or column.
    cause : str
        What explains the findings, if it is known.
    """

    issue: str
    changes: str
    findings: tuple[tuple[str, str, str], ...]
    cause: str = ""

    def __post_init__(self) -> None:
        if self.changes not in CHANGES:
            raise ValueError(f"{self.issue} {self.changes!r} is not one of {[*CHANGES]}")


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
    relations : tuple of mapping
        Which numbers follow from others (README.md of this folder).
    sources : tuple of Source
        Papers, logs and files of the numbers, the paper first.
    issues : tuple of DeclaredIssue
        Which findings have the same cause (README.md of this folder).
    """

    benchmark: str
    cells: tuple[PublishedCell, ...]
    facts: Mapping[str, Fact] = field(default_factory=dict)
    relations: tuple[Mapping[str, Any], ...] = ()
    sources: tuple[Source, ...] = ()
    issues: tuple[DeclaredIssue, ...] = ()

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


NOT_ROUNDING, ONLY_IF = "not explained by rounding", "possible only if "


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """A published number that does not agree with other published numbers.

    Attributes
    ----------
    benchmark : str
        The benchmark's name.
    table, row, column : str
        The cell. ``row`` and ``column`` can be `ALL`.
    printed : str
        The number as printed.
    finding : str
        One sentence on what is inconsistent.
    arithmetic : str
        The computation that shows it.
    strength : str
        `NOT_ROUNDING` for a number that does not follow from others, or "possible only if ...". Empty if neither was
        derived, as of two prints of one number.
    """

    benchmark: str
    table: str
    row: str
    column: str
    printed: str
    finding: str
    arithmetic: str
    strength: str = ""

    @classmethod
    def of(cls, cell: PublishedCell, finding: str, arithmetic: str, strength: str = "") -> AuditFinding:
        """Return a finding on one cell."""
        printed = cell.printed if cell.spread is None else f"{cell.printed}±{cell.spread:.{cell.decimals}f}"
        return cls(cell.benchmark, cell.table, cell.row, cell.column, printed, finding, arithmetic, strength)

    @property
    def sentence(self) -> str:
        """The finding, with the condition under which the number is possible after all."""
        condition = "" if self.strength in ("", NOT_ROUNDING) else f" {self.strength[0].upper()}{self.strength[1:]}."
        return self.finding + condition

    def is_on(self, table: str, row: str, column: str) -> bool:
        """Whether the finding is on the number in this place."""
        return self.table == table and self.row in (row, ALL) and self.column in (column, ALL)
