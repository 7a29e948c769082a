"""Notes on published cells that do not follow from other cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from known_unknowns.comparison.cells import PublishedCell

Row = Mapping[str, PublishedCell]
"""The cells of one row of one table, by column."""
ROUNDING = 1e-9  # of binary fractions


@dataclass(frozen=True, slots=True)
class Flag:
    """``text`` says of ``cell`` what does not follow."""

    cell: PublishedCell
    text: str


def noted(cells: Sequence[PublishedCell], flags: Iterable[Flag]) -> list[PublishedCell]:
    """The cells, with the flags' texts in the notes of those that are flagged."""
    notes: dict[tuple[str, str, str], list[str]] = {}
    for flag in flags:
        notes.setdefault(_key(flag.cell), []).append(flag.text)
    return [
        replace(cell, note=" ".join(filter(None, [cell.note, *notes[_key(cell)]]))) if _key(cell) in notes else cell
        for cell in cells
    ]


def rows_of(cells: Iterable[PublishedCell]) -> dict[tuple[str, str], dict[str, PublishedCell]]:
    """Cells by (table, row), then by column."""
    found: dict[tuple[str, str], dict[str, PublishedCell]] = {}
    for cell in cells:
        found.setdefault((cell.table, cell.row), {})[cell.column] = cell
    return found


def _key(cell: PublishedCell) -> tuple[str, str, str]:
    return cell.table, cell.row, cell.column
