"""Notes on published cells that are inconsistent with other cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from known_unknowns.comparison.cells import PublishedCell

TableRow = Mapping[str, PublishedCell]
"""The cells of one row of one table, by column."""
ROUNDING = 1e-9  # binary fractions


@dataclass(frozen=True, slots=True)
class Flag:
    """A published cell, and a sentence on what it is inconsistent with."""

    cell: PublishedCell
    text: str


def with_notes(cells: Sequence[PublishedCell], flags: Iterable[Flag]) -> list[PublishedCell]:
    """Return the cells, with the texts of the flags appended to the notes of the flagged cells."""
    notes: dict[tuple[str, str, str], list[str]] = {}
    for flag in flags:
        notes.setdefault(_key(flag.cell), []).append(flag.text)
    return [
        replace(cell, note=" ".join(filter(None, [cell.note, *notes[_key(cell)]]))) if _key(cell) in notes else cell
        for cell in cells
    ]


def cells_by_row(cells: Iterable[PublishedCell]) -> dict[tuple[str, str], dict[str, PublishedCell]]:
    """Return the cells by (table, row), then by column."""
    found: dict[tuple[str, str], dict[str, PublishedCell]] = {}
    for cell in cells:
        found.setdefault((cell.table, cell.row), {})[cell.column] = cell
    return found


def _key(cell: PublishedCell) -> tuple[str, str, str]:
    return cell.table, cell.row, cell.column
