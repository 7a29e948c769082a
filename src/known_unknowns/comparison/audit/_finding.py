"""A finding: a published number that is inconsistent with other published numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from known_unknowns.comparison.published import PublishedCell

ALL = "all"
"""The row or column of a finding on all rows or columns."""


@dataclass(frozen=True, slots=True)
class Finding:
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
    """

    benchmark: str
    table: str
    row: str
    column: str
    printed: str
    finding: str
    arithmetic: str

    @classmethod
    def of(cls, cell: PublishedCell, finding: str, arithmetic: str) -> Finding:
        """Return a finding on one cell."""
        printed = cell.printed if cell.spread is None else f"{cell.printed}±{cell.spread:.{cell.decimals}f}"
        return cls(cell.benchmark, cell.table, cell.row, cell.column, printed, finding, arithmetic)

    def is_on(self, cell: PublishedCell) -> bool:
        """Whether the finding is on a cell."""
        return self.table == cell.table and self.row in (cell.row, ALL) and self.column in (cell.column, ALL)


def with_notes(cells: Iterable[PublishedCell], findings: Sequence[Finding]) -> list[PublishedCell]:
    """Return the cells, with the sentences of their findings appended to their notes."""
    by_table: dict[str, list[Finding]] = {}
    for finding in findings:
        by_table.setdefault(finding.table, []).append(finding)
    noted = []
    for cell in cells:
        notes = [finding.finding for finding in by_table.get(cell.table, ()) if finding.is_on(cell)]
        noted.append(replace(cell, note=" ".join(filter(None, [cell.note, *notes]))) if notes else cell)
    return noted
