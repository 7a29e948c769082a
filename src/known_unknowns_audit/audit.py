"""The audit of the published numbers of a benchmark.

`findings_on` runs the checks that apply to any benchmark (`checks`), the `relations` that its published.yaml declares,
those of its paper (`papers`), and the method ``audit`` of the benchmark. `relations` and `grim` have the building
blocks. `issues` groups the findings by cause.
"""

from __future__ import annotations

from collections.abc import Iterator

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import AuditFinding, Published
from known_unknowns_audit.checks import generic_checks
from known_unknowns_audit.papers import OF_PAPERS
from known_unknowns_audit.relations import declared_relations


def findings_on(numbers: Published) -> tuple[AuditFinding, ...]:
    """Return the findings on published numbers, each once, in the order of their tables."""
    found = dict.fromkeys(_every_finding(numbers) if numbers.cells else ())
    order = {table: place for place, table in enumerate(dict.fromkeys(cell.table for cell in numbers.cells))}
    return tuple(sorted(found, key=lambda finding: order.get(finding.table, len(order))))


def _every_finding(numbers: Published) -> Iterator[AuditFinding]:
    yield from generic_checks(numbers)
    yield from declared_relations(numbers)
    if of_paper := OF_PAPERS.get(numbers.benchmark):
        yield from of_paper(numbers)
    yield from registry.get(numbers.benchmark).audit(numbers)
