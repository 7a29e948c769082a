"""What the installed audits find in published numbers, as notes beside these numbers.

An audit is found through its entry point in the group ``known_unknowns.audits``. Only the pages need audits: a verdict
does not depend on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import TypeVar

from known_unknowns.benchmark.published import AuditFinding, PublishedCell
from known_unknowns.comparison.compare import ComparisonRow
from known_unknowns.comparison.published import load, published
from known_unknowns.entry_points import AUDITS, of_group

_Noted = TypeVar("_Noted", PublishedCell, ComparisonRow)


@cache
def findings(benchmark: str) -> tuple[AuditFinding, ...]:
    """Return what the audits find in the published numbers of a benchmark."""
    numbers = published(benchmark)
    return tuple(finding for entry in of_group(AUDITS).values() for finding in entry.load()(numbers))


def noted(benchmark: str) -> list[PublishedCell]:
    """Return the published numbers of models (`comparison.load`), with the findings as notes."""
    return with_notes(load(benchmark), findings(benchmark))


def with_notes(rows: Iterable[_Noted], findings: Sequence[AuditFinding]) -> list[_Noted]:
    """Return the rows of one benchmark, with the sentences of their findings appended to their notes."""
    by_table: dict[str, list[AuditFinding]] = {}
    for finding in findings:
        by_table.setdefault(finding.table, []).append(finding)
    return [replace(row, note=_note(row, by_table.get(row.table, ()))) for row in rows]


def _note(row: PublishedCell | ComparisonRow, findings: Sequence[AuditFinding]) -> str:
    sentences = [each.finding for each in findings if each.is_on(row.table, row.row, row.column)]
    return " ".join(filter(None, [row.note, *sentences]))
