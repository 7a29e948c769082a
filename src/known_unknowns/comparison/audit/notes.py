"""Findings of the audit as notes on published cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from known_unknowns.benchmark.published import Finding, PublishedCell


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
