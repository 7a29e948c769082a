"""What in ActiView's published tables does not follow from their other cells; see docs/actiview_protocols.md.

Everything is recomputed from the printed numbers, and a difference counts only where rounding cannot explain it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from known_unknowns.benchmarks.actiview.format import TYPES
from known_unknowns.comparison.cells import PERCENT, PublishedCell
from known_unknowns.comparison.flags import ROUNDING, Flag, Row, noted, rows_of

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
"""Of the published data."""
PIPELINES = ("Zooming", "Shifting-R", "Shifting-E", "Shifting-M", "Shifting-H")
"""The columns of Table 2 that its AVG is of."""
BY_CLASS: Mapping[str, str] = dict(zip((f"Table {n}" for n in range(8, 13)), PIPELINES, strict=True))
"""The tables of sub-classes, and the column of Table 2 that each is the whole of."""
_OVERALL_TABLES = ("Table 2", "Table 7")
_EVERY_VIEW, _ONE_OFF = 4.00, 74.62


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A cell, what other cells give for it (in its own unit), and by how much rounding may have moved that."""

    cell: PublishedCell
    value: float
    slack: float

    @property
    def follows(self) -> bool:
        """A whole unit of the last place is left to the cell itself: some numbers were cut off rather than rounded."""
        return abs(self.value - self.cell.value) <= self.slack + 2 * self.cell.half_unit + ROUNDING


def averages(cells: Iterable[PublishedCell]) -> list[Recomputed]:
    """The AVG columns of Tables 2, 7 and 14: means of accuracies over pipelines."""
    found = []
    for (table, _), row in rows_of(cells).items():
        if table in _OVERALL_TABLES:
            found.append(_mean(row["AVG"], [(row[name], 1) for name in PIPELINES]))
        elif table == "Table 14":
            for column, cell in row.items():
                if column.endswith(", AVG"):
                    split = column.removesuffix("AVG")
                    found.append(_mean(cell, [(row[split + name], 1) for name in PIPELINES[:2]]))
    return found


def types(cells: Iterable[PublishedCell]) -> list[Recomputed]:
    """The AVG columns of Tables 8 to 12: each type's accuracy, from its sub-classes'."""
    return [
        _mean(row[f"{name} AVG"], [(row[part], QUESTIONS[part]) for part in parts])
        for (table, _), row in rows_of(cells).items()
        if table in BY_CLASS
        for name, parts in TYPES.items()
    ]


def wholes(cells: Iterable[PublishedCell]) -> list[Recomputed]:
    """The accuracies of Table 2 (and 7), from the sub-classes of Tables 8 to 12."""
    rows = rows_of(cells)
    overall = _by_model(rows)
    found = []
    for (table, _), row in rows.items():
        whole = overall.get(next(iter(row.values())).model) if table in BY_CLASS else None
        if whole is not None:
            parts = [(row[part], QUESTIONS[part]) for names in TYPES.values() for part in names]
            found.append(_mean(whole[BY_CLASS[table]], parts))
    return found


def _mean(cell: PublishedCell, parts: Sequence[tuple[PublishedCell, int]]) -> Recomputed:
    """The mean of parts with their weights."""
    everything = sum(weight for _, weight in parts)
    value = sum(weight * part.value for part, weight in parts) / everything
    return Recomputed(cell, value, sum(weight * part.half_unit for part, weight in parts) / everything)


def with_flags(cells: Sequence[PublishedCell]) -> list[PublishedCell]:
    """The cells, with a note on each that does not follow from the others."""
    return noted(cells, flags(cells))


def flags(cells: Sequence[PublishedCell]) -> list[Flag]:
    """All that does not follow."""
    checks: tuple[Callable[[Sequence[PublishedCell]], Iterable[Flag]], ...] = (
        _means_that_do_not_follow,
        _no_number_of_questions,
        _otherwise_in_another_table,
        _recalls_that_are_one_off,
        _more_shifts_than_views,
    )
    return [flag for check in checks for flag in check(cells)]


def _means_that_do_not_follow(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    for found in averages(cells):
        if not found.follows:
            yield Flag(found.cell, f"Does not follow from its row: the pipelines' cells give {found.value:.2f}.")
    for found in types(cells):
        if not found.follows:
            yield Flag(found.cell, f"Does not follow from its row: the sub-classes' cells give {found.value:.2f}.")
    table_of = {column: table for table, column in BY_CLASS.items()}
    for found in wholes(cells):
        if not found.follows:
            table = table_of[found.cell.column]
            yield Flag(found.cell, f"{table}'s sub-classes give {found.value:.2f}.")


def _no_number_of_questions(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    """An accuracy is a whole number of right answers among the questions of its category."""
    for cell in cells:
        if cell.metric == "accuracy" and cell.unit == PERCENT:
            n = QUESTIONS[cell.category]
            nearest = 100 * round(cell.value / 100 * n) / n
            if abs(nearest - cell.value) > 2 * cell.half_unit + ROUNDING:
                yield Flag(
                    cell, f"No number of right answers among {n} questions gives it; the nearest is {nearest:.2f}."
                )


def _otherwise_in_another_table(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    """Zooming and Shifting-R of Tables 13 and 14, where Table 2 (or 7) prints something else for the same model."""
    rows = rows_of(cells)
    overall = _by_model(rows)
    columns = {
        "Table 13": {f"{name} ACC_QA": name for name in PIPELINES[:2]},
        "Table 14": {f"4 splits, {name}": name for name in PIPELINES[:2]},
    }
    for (table, _), row in rows.items():
        for column, name in columns.get(table, {}).items():
            there = overall[row[column].model][name]
            if row[column].printed != there.printed:
                yield Flag(row[column], f"{there.table} has {there.printed}.")


def _recalls_that_are_one_off(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    """Who looks at all four views misses none: Equation 1 gives 100."""
    for (table, _), row in rows_of(cells).items():
        if table == "Table 13" and row["Shifting-R #view"].value == _EVERY_VIEW:
            cell = row["Shifting-R R_select"]
            text = "All four views were used, so that Equation 1 gives 100."
            if cell.value == _ONE_OFF:
                text += " Numbering the used views from 0 and the annotated ones from 1 gives 641 of 859, as printed."
            yield Flag(cell, text)


def _more_shifts_than_views(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    for (table, _), row in rows_of(cells).items():
        if table == "Table 3" and row["#shift"].value > row["#view"].value:
            text = f"More views shifted to than views used ({row['#view'].printed}): ours counts those that were used."
            yield Flag(row["#shift"], text)


def _by_model(rows: Mapping[tuple[str, str], Row]) -> dict[str, Row]:
    """The rows of Tables 2 and 7, by the model that they stand for."""
    return {next(iter(row.values())).model: row for (table, _), row in rows.items() if table in _OVERALL_TABLES}
