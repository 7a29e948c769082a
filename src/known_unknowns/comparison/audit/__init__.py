"""The audit of published numbers: what they imply, recomputed from the printed digits.

`audit` runs the checks that apply to any benchmark (`checks`), the `relations` that its published.yaml declares, and
its own ``audit`` function. `relations` and `grim` have the building blocks. `issues` groups the findings by cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import MODEL, Finding, Published, PublishedCell
from known_unknowns.comparison.audit.checks import generic_checks
from known_unknowns.comparison.audit.relations import declared_relations
from known_unknowns.comparison.published import read


def published(benchmark: str) -> Published:
    """Return the published numbers of a benchmark, of every kind; empty if it has no published.yaml."""
    return _audited(registry.get(benchmark).published, benchmark)[0]


def audit(benchmark: str) -> tuple[Finding, ...]:
    """Return the findings on the published numbers of a benchmark, each once, in the order of its tables."""
    return _audited(registry.get(benchmark).published, benchmark)[1]


@cache
def _audited(paths: tuple[Path, ...], benchmark: str) -> tuple[Published, tuple[Finding, ...]]:
    """The numbers and the findings; many tables of a report need them, and they take a second to compute."""
    numbers = read(*paths, benchmark=benchmark)
    return numbers, audit_published(numbers)


def audit_published(numbers: Published) -> tuple[Finding, ...]:
    """Return the findings on published numbers; see `audit`."""
    if not numbers.cells:
        return ()
    found = dict.fromkeys(
        [*generic_checks(numbers), *declared_relations(numbers), *registry.get(numbers.benchmark).audit(numbers)]
    )
    order = {table: place for place, table in enumerate(dict.fromkeys(cell.table for cell in numbers.cells))}
    return tuple(sorted(found, key=lambda finding: order.get(finding.table, len(order))))


def load(benchmark: str) -> list[PublishedCell]:
    """Return the published numbers of models in the order of the file, with the findings of the audit as notes.

    Raises
    ------
    DataError
        As `known_unknowns.comparison.published.read`.
    """
    return [cell for cell in with_notes(published(benchmark).cells, audit(benchmark)) if cell.kind == MODEL]


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
