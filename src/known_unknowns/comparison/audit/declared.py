"""Relations that published.yaml declares: numbers of a table that follow from others of the same row or column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from known_unknowns.benchmark.published import IMPOSSIBLE, ONLY_IF, Finding, Published, PublishedCell
from known_unknowns.comparison.audit.checks import row_count
from known_unknowns.comparison.audit.relations import (
    ROUNDING,
    Derived,
    inconsistent,
    product,
    ratio,
    total,
    weighted_mean,
)

Cells = Mapping[str, PublishedCell]


def declared_relations(published: Published) -> Iterator[Finding]:
    """Yield a finding for each number that does not follow as declared (``relations``; see docs/audit.md)."""
    cells = {cell.key: cell for cell in published.cells}
    for relation in published.relations:
        named = {name: cells[tuple(key)] for name, key in relation.get("cells", {}).items()}
        for name, table in relation.get("rows", {}).items():
            yield from row_count(named[name], published, table)
        derived: list[Derived] = []
        for group in _groups(published, relation):
            found = {**named, **group}
            derived += _derived(found, relation)
            for name, parts in relation.get("at_most", {}).items():
                if name in found:
                    yield from _at_most(found[name], [found[part] for part in parts], relation)
        strength = ONLY_IF + relation["only_if"] if "only_if" in relation else IMPOSSIBLE
        yield from inconsistent(derived, _filled(relation.get("text", ""), [*named.values()]), strength)


def _groups(published: Published, relation: Mapping[str, Any]) -> list[Cells]:
    """The rows, or with ``by: column`` the columns, of the tables of a relation; none but the named cells without."""
    rows = published.rows(*relation["tables"]) if "tables" in relation else {}
    if relation.get("by") != "column":
        return [*rows.values()] or [{}]
    columns: dict[tuple[str, str], dict[str, PublishedCell]] = {}
    for (table, row), cells in rows.items():
        for column, cell in cells.items():
            columns.setdefault((table, column), {})[row] = cell
    return [*columns.values()]


def _derived(cells: Cells, relation: Mapping[str, Any]) -> Iterator[Derived]:
    for kind in ("mean", "sum", "share", "product"):
        for name, names in relation.get(kind, {}).items():
            if name not in cells or any(part not in cells for part in names):
                continue
            cell, parts = cells[name], [cells[part] for part in names]
            if kind == "mean":
                by_questions = relation.get("weights") == "questions"
                pairs = [(part, (part.questions or 0) if by_questions else 1) for part in parts]
                whole = cell.questions if by_questions else None
                yield weighted_mean(cell, pairs, whole=whole, truncation=relation.get("truncation", False))
            elif kind == "sum":
                yield total(cell, parts)
            else:
                yield (ratio if kind == "share" else product)(cell, *parts)


def _at_most(cell: PublishedCell, bounds: Sequence[PublishedCell], relation: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding if a number exceeds one of others by more than their rounding, or at all ``as_printed``."""
    least = min(bounds, key=lambda bound: bound.value)
    slack = 0.0 if relation.get("as_printed") else sum(each.half_unit for each in (cell, *bounds)) + ROUNDING
    if cell.value > least.value + slack:
        yield Finding.of(cell, _filled(relation["text"], bounds), f"{cell.printed} > {least.printed}")


def _filled(text: str, parts: Sequence[PublishedCell]) -> str:
    """Write printed numbers in place of {0}, {1}, ..."""
    for number, part in enumerate(parts):
        text = text.replace(f"{{{number}}}", part.printed)
    return text
