"""Inconsistencies in the published tables of ActiView; see README.md.

All values are computed from the printed numbers. A difference counts only if rounding cannot explain it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from known_unknowns.benchmarks.actiview.format import TYPES
from known_unknowns.comparison.audit import Finding, Published
from known_unknowns.comparison.audit.relations import Derived, inconsistent, weighted_mean
from known_unknowns.comparison.published import PublishedCell, cells_by_row

TableRow = Mapping[str, PublishedCell]

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
_ALL_VIEWS, _RECALL_OFF_BY_ONE = 4.00, 74.62


def averages(cells: Iterable[PublishedCell]) -> list[Derived]:
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


def type_averages(cells: Iterable[PublishedCell]) -> list[Derived]:
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


def overall_accuracies(cells: Iterable[PublishedCell]) -> list[Derived]:
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


def _mean(cell: PublishedCell, parts: Iterable[tuple[PublishedCell, int]]) -> Derived:
    """Return the weighted mean of the parts. The cell may be truncated: some cells of the tables are."""
    return weighted_mean(cell, parts, truncation=True)


def audit(published: Published) -> Iterator[Finding]:
    """Yield the findings on the tables of this benchmark (`known_unknowns.comparison.audit`)."""
    cells = published.cells
    yield from inconsistent(averages(cells), "Does not follow from its row: the pipelines' cells give {}.")
    yield from inconsistent(type_averages(cells), "Does not follow from its row: the sub-classes' cells give {}.")
    table_of = {column: table for table, column in BY_CLASS.items()}
    for one in overall_accuracies(cells):
        yield from inconsistent([one], f"{table_of[one.cell.column]}'s sub-classes give {{}}.")
    yield from _recalls_off_by_one(cells)
    yield from _more_shifts_than_views(cells)


def _recalls_off_by_one(cells: Iterable[PublishedCell]) -> Iterator[Finding]:
    """Flag recalls of models that used all four views: Equation 1 gives 100."""
    for (table, _), row in cells_by_row(cells).items():
        if table == "Table 13" and row["Shifting-R #view"].value == _ALL_VIEWS:
            cell = row["Shifting-R R_select"]
            text = "All four views were used, so that Equation 1 gives 100."
            if cell.value == _RECALL_OFF_BY_ONE:
                text += " Numbering the used views from 0 and the annotated ones from 1 gives 641 of 859, as printed."
            yield Finding.of(
                cell, text, f"4 of 4 views used, so that 859 of 859 annotated views were; {cell.printed} printed"
            )


def _more_shifts_than_views(cells: Iterable[PublishedCell]) -> Iterator[Finding]:
    for (table, _), row in cells_by_row(cells).items():
        if table == "Table 3" and row["#shift"].value > row["#view"].value:
            text = f"More views shifted to than views used ({row['#view'].printed}): ours counts those that were used."
            arithmetic = f"{row['#shift'].printed} > {row['#view'].printed}"
            yield Finding.of(row["#shift"], text, arithmetic)


def _by_model(rows: Mapping[tuple[str, str], TableRow]) -> dict[str, TableRow]:
    """Return the rows of Tables 2 and 7 by model."""
    return {next(iter(row.values())).model: row for (table, _), row in rows.items() if table in _OVERALL_TABLES}
