"""Inconsistencies in the published tables of ActiView; see README.md.

All values are computed from the printed numbers. A difference counts only if rounding cannot explain it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from known_unknowns.benchmarks.actiview.format import TYPES
from known_unknowns.benchmarks.actiview.metrics import AVERAGES
from known_unknowns.comparison.cells import PERCENT, PublishedCell
from known_unknowns.comparison.flags import ROUNDING, Flag, TableRow, cells_by_row, with_notes

HUMAN = 84.67
"""Percent: mean accuracy of six people who may look things up, on 60 of the questions (Table 4)."""
CHANCE = 33.95
"""Percent, as printed (Section 5); the published options give 34.24."""

QUESTIONS: Mapping[str, int] = {
    "Geo-Loc": 37,
    "Orient": 30,
    "Daily-Loc": 41,
    "Obj-Attr": 50,
    "Obj-Rel": 46,
    "Count-Dis": 47,
    "Event-M": 34,
    "Event-S": 40,
    "Type I": 108,
    "Type II": 143,
    "Type III": 74,
    "Overall": 325,
}
"""Numbers of questions of the published data."""
PIPELINES = ("Zooming", "Shifting-R", "Shifting-E", "Shifting-M", "Shifting-H")
"""The columns of Table 2 that its AVG column averages."""
BY_CLASS: Mapping[str, str] = dict(zip((f"Table {n}" for n in range(8, 13)), PIPELINES, strict=True))
"""The tables of sub-classes, and the column of Table 2 with the accuracy over all their sub-classes."""
_OVERALL_TABLES = ("Table 2", "Table 7")
_AVERAGES = {average.name for average in AVERAGES}
_ALL_VIEWS, _RECALL_OFF_BY_ONE = 4.00, 74.62


@dataclass(frozen=True, slots=True)
class DerivedValue:
    """A published cell, its value from other cells (in its unit), and the largest rounding error of that value."""

    cell: PublishedCell
    value: float
    slack: float

    @property
    def is_consistent(self) -> bool:
        """Whether the two agree. The cell may differ by a whole unit of its last digit: some numbers are truncated."""
        return abs(self.value - self.cell.value) <= self.slack + 2 * self.cell.half_unit + ROUNDING


def averages(cells: Iterable[PublishedCell]) -> list[DerivedValue]:
    """Recompute the AVG columns of Tables 2, 7 and 14, which are means of accuracies over pipelines.

    References
    ----------
    arXiv:2410.04659, Tables 2, 7 and 14.
    """
    found = []
    for (table, _), row in cells_by_row(cells).items():
        if table in _OVERALL_TABLES:
            found.append(_mean(row["AVG"], [(row[name], 1) for name in PIPELINES]))
        elif table == "Table 14":
            for column, cell in row.items():
                if column.endswith(", AVG"):
                    split = column.removesuffix("AVG")
                    found.append(_mean(cell, [(row[split + name], 1) for name in PIPELINES[:2]]))
    return found


def type_averages(cells: Iterable[PublishedCell]) -> list[DerivedValue]:
    """Recompute the AVG columns of Tables 8 to 12: the accuracy of each type from its sub-classes.

    References
    ----------
    arXiv:2410.04659, Tables 8 to 12.
    """
    return [
        _mean(row[f"{name} AVG"], [(row[part], QUESTIONS[part]) for part in parts])
        for (table, _), row in cells_by_row(cells).items()
        if table in BY_CLASS
        for name, parts in TYPES.items()
    ]


def overall_accuracies(cells: Iterable[PublishedCell]) -> list[DerivedValue]:
    """Recompute the accuracies of Tables 2 and 7 from the sub-classes of Tables 8 to 12.

    References
    ----------
    arXiv:2410.04659, Tables 2 and 7 to 12.
    """
    rows = cells_by_row(cells)
    overall = _by_model(rows)
    found = []
    for (table, _), row in rows.items():
        whole = overall.get(next(iter(row.values())).model) if table in BY_CLASS else None
        if whole is not None:
            parts = [(row[part], QUESTIONS[part]) for names in TYPES.values() for part in names]
            found.append(_mean(whole[BY_CLASS[table]], parts))
    return found


def _mean(cell: PublishedCell, parts: Sequence[tuple[PublishedCell, int]]) -> DerivedValue:
    """Return the weighted mean of the parts."""
    everything = sum(weight for _, weight in parts)
    value = sum(weight * part.value for part, weight in parts) / everything
    return DerivedValue(cell, value, sum(weight * part.half_unit for part, weight in parts) / everything)


def with_flags(cells: Sequence[PublishedCell]) -> list[PublishedCell]:
    """Return the cells, with a note on each inconsistent cell."""
    return with_notes(cells, flags(cells))


def flags(cells: Sequence[PublishedCell]) -> list[Flag]:
    """Return all inconsistencies.

    Parameters
    ----------
    cells : sequence of PublishedCell
        The published cells.

    Returns
    -------
    list of Flag
        The inconsistent cells, each with a sentence.
    """
    checks: tuple[Callable[[Sequence[PublishedCell]], Iterable[Flag]], ...] = (
        _inconsistent_means,
        _impossible_shares,
        _differences_between_tables,
        _recalls_off_by_one,
        _more_shifts_than_views,
    )
    return [flag for check in checks for flag in check(cells)]


def _inconsistent_means(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    for found in averages(cells):
        if not found.is_consistent:
            yield Flag(found.cell, f"Does not follow from its row: the pipelines' cells give {found.value:.2f}.")
    for found in type_averages(cells):
        if not found.is_consistent:
            yield Flag(found.cell, f"Does not follow from its row: the sub-classes' cells give {found.value:.2f}.")
    table_of = {column: table for table, column in BY_CLASS.items()}
    for found in overall_accuracies(cells):
        if not found.is_consistent:
            table = table_of[found.cell.column]
            yield Flag(found.cell, f"{table}'s sub-classes give {found.value:.2f}.")


def _impossible_shares(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    """Flag accuracies that are not a whole number of right answers among the questions of their category."""
    for cell in cells:
        if cell.metric == "accuracy" and cell.unit == PERCENT and cell.variant not in _AVERAGES:
            n = QUESTIONS[cell.category]
            nearest = 100 * round(cell.value / 100 * n) / n
            if abs(nearest - cell.value) > 2 * cell.half_unit + ROUNDING:
                yield Flag(
                    cell, f"No number of right answers among {n} questions gives it; the nearest is {nearest:.2f}."
                )


def _differences_between_tables(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    """Flag cells of Tables 13 and 14 that differ from Table 2 or 7 for the same model and pipeline."""
    rows = cells_by_row(cells)
    overall = _by_model(rows)
    columns = {
        "Table 13": {f"{name} ACC_QA": name for name in PIPELINES[:2]},
        "Table 14": {f"4 splits, {name}": name for name in PIPELINES[:2]},
    }
    for (table, _), row in rows.items():
        for column, name in columns.get(table, {}).items():
            other = overall[row[column].model][name]
            if row[column].printed != other.printed:
                yield Flag(row[column], f"{other.table} has {other.printed}.")


def _recalls_off_by_one(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    """Flag recalls of models that used all four views: Equation 1 gives 100."""
    for (table, _), row in cells_by_row(cells).items():
        if table == "Table 13" and row["Shifting-R #view"].value == _ALL_VIEWS:
            cell = row["Shifting-R R_select"]
            text = "All four views were used, so that Equation 1 gives 100."
            if cell.value == _RECALL_OFF_BY_ONE:
                text += " Numbering the used views from 0 and the annotated ones from 1 gives 641 of 859, as printed."
            yield Flag(cell, text)


def _more_shifts_than_views(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    for (table, _), row in cells_by_row(cells).items():
        if table == "Table 3" and row["#shift"].value > row["#view"].value:
            text = f"More views shifted to than views used ({row['#view'].printed}): ours counts those that were used."
            yield Flag(row["#shift"], text)


def _by_model(rows: Mapping[tuple[str, str], TableRow]) -> dict[str, TableRow]:
    """Return the rows of Tables 2 and 7 by model."""
    return {next(iter(row.values())).model: row for (table, _), row in rows.items() if table in _OVERALL_TABLES}
