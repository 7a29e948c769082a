"""The audit of published numbers: what they imply, recomputed from the printed digits.

`audit` runs the checks that apply to any benchmark (`checks`), those that its published.yaml declares (`declared`), and
those of the benchmark itself, which its ``audit``
function yields from its `Published` numbers. `relations` and `grim` have the building blocks of both.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import Finding, Published
from known_unknowns.comparison.audit.checks import generic_checks
from known_unknowns.comparison.audit.declared import declared_relations
from known_unknowns.comparison.audit.notes import with_notes
from known_unknowns.comparison.published import read

__all__ = ["audit", "audit_published", "published", "with_notes"]


def published(benchmark: str) -> Published:
    """Return the published numbers of a benchmark, of every kind; empty if it has no published.yaml."""
    paths = registry.get(benchmark).published
    return _read(paths, _changed(paths), benchmark)


def audit(benchmark: str) -> tuple[Finding, ...]:
    """Return the findings on the published numbers of a benchmark, in the order of its tables.

    Parameters
    ----------
    benchmark : str
        The benchmark's name.

    Returns
    -------
    tuple of Finding
        Every finding once.
    """
    paths = registry.get(benchmark).published
    return _audit(paths, _changed(paths), benchmark)


def _changed(paths: Iterable[Path]) -> tuple[int, ...]:
    return tuple(path.stat().st_mtime_ns for path in paths)


@cache
def _read(paths: tuple[Path, ...], changed: tuple[int, ...], benchmark: str) -> Published:
    return read(*paths, benchmark=benchmark)


@cache
def _audit(paths: tuple[Path, ...], changed: tuple[int, ...], benchmark: str) -> tuple[Finding, ...]:
    """The findings; many tables of a report need them, and they take a second to compute."""
    return audit_published(_read(paths, changed, benchmark))


def audit_published(numbers: Published) -> tuple[Finding, ...]:
    """Return the findings on published numbers; see `audit`."""
    if not numbers.cells:
        return ()
    found = dict.fromkeys(
        [*generic_checks(numbers), *declared_relations(numbers), *registry.get(numbers.benchmark).audit(numbers)]
    )
    order = {table: place for place, table in enumerate(dict.fromkeys(cell.table for cell in numbers.cells))}
    return tuple(sorted(found, key=lambda finding: order.get(finding.table, len(order))))
