"""The report's tables of the audit: findings on the published numbers, and published numbers about the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from known_unknowns.benchmark.published import DATA, PERCENT, Finding
from known_unknowns.comparison.audit import audit, published
from known_unknowns.comparison.audit.output import place
from known_unknowns.report.formatting import DASH, Cell, Head, Row, Table


def tables(benchmark: str, title: str, counted: Mapping[str, float]) -> dict[str, Table | None]:
    """Return both tables of a benchmark, each None if it is empty.

    Parameters
    ----------
    benchmark : str
        The benchmark's name.
    title : str
        Its title.
    counted : mapping of str to float
        The quantities that the check of the published data counts, by name; empty without such data.
    """
    return {"findings": findings(audit(benchmark), title), "data": numbers(benchmark, title, counted)}


def findings(found: Sequence[Finding], title: str) -> Table | None:
    """Return the findings by table, each with its arithmetic; None without findings."""
    if not found:
        return None
    rows: list[Row] = []
    for table, of_table in groupby(found, key=lambda finding: finding.table):
        rows.append(Row((Head(table),), ()))
        for finding in of_table:
            printed = Cell(finding.printed, kind="text")
            rows.append(
                Row(
                    (Head(place(finding)),),
                    (printed, Cell(finding.sentence, kind="text"), Cell(finding.arithmetic, kind="text")),
                )
            )
    columns = (Head("printed"), Head("finding"), Head("arithmetic"))
    return Table(f"{title}: findings on the published numbers", ("Cell",), columns, tuple(rows))


def numbers(benchmark: str, title: str, counted: Mapping[str, float]) -> Table | None:
    """Return the published numbers about the data, beside those of the check; None without such numbers."""
    rows: list[Row] = []
    cells = [cell for cell in published(benchmark).cells if cell.kind == DATA]
    for table, of_table in groupby(cells, key=lambda cell: cell.table):
        rows.append(Row((Head(table),), ()))
        for cell in of_table:
            shown = f"{cell.printed}%" if cell.unit == PERCENT else cell.printed
            ours = counted.get(cell.metric)
            rows.append(
                Row(
                    (Head(f"{cell.row}, {cell.column}"),),
                    (Cell(shown, kind="plain"), Cell(DASH if ours is None else f"{ours:,.10g}")),
                )
            )
    columns = (Head("published"), Head("counted by the check"))
    return Table(f"{title}: published numbers about the data", ("Number",), columns, tuple(rows)) if rows else None
