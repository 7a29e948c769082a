"""Numbers that follow from other printed numbers, with the largest error that rounding can explain.

`declared_relations` applies the relations that published.yaml declares; `papers` uses the same parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from known_unknowns.benchmark.published import DATA, NOT_ROUNDING, PERCENT, AuditFinding, Published, PublishedCell

Cells = Mapping[str, PublishedCell]

ROUNDING = 1e-9  # binary fractions
_DECIMALS = 2  # of an implied value, if the printed one has fewer


@dataclass(frozen=True, slots=True)
class Derived:
    """A published cell and its ``value`` from other cells, in the unit of the cell.

    ``slack`` is the largest error of the value by the rounding of those cells, ``arithmetic`` its computation. With
    ``truncation``, the cell may also be truncated, which changes it by up to a whole unit of its last place.
    """

    cell: PublishedCell
    value: float
    slack: float
    arithmetic: str
    truncation: bool = False

    @property
    def tolerance(self) -> float:
        """The largest difference that rounding explains."""
        own = 0.0 if _are_counts([self.cell]) else (2 if self.truncation else 1) * rounding_error(self.cell)
        return self.slack + own + ROUNDING

    @property
    def is_consistent(self) -> bool:
        """Whether the cell and its value from other cells agree."""
        return abs(self.value - self.cell.value) <= self.tolerance

    def finding(self, text: str) -> AuditFinding:
        """Return the finding that the cell does not follow. ``{}`` in the text is the implied value."""
        decimals = self.cell.decimals if _are_counts([self.cell]) else max(self.cell.decimals, _DECIMALS)
        shown = f"{self.value:,.{decimals}f}"
        explained = f"; rounding explains at most {self.tolerance:.3f}" if self.tolerance > 2 * ROUNDING else ""
        arithmetic = f"{self.arithmetic} = {shown}; printed {self.cell.printed}{explained}"
        return AuditFinding.of(self.cell, text.replace("{}", shown), arithmetic, NOT_ROUNDING)


def rounding_error(cell: PublishedCell) -> float:
    """Return the largest rounding error of a printed number: half a unit, or a whole one for a mean over runs.

    The number of each run may have been rounded before the mean was.
    """
    return cell.half_unit * (2 if cell.runs > 1 else 1)


def _are_counts(cells: Iterable[PublishedCell]) -> bool:
    """Whether all cells are whole numbers of the data, which are not rounded."""
    return all(cell.kind == DATA and cell.decimals == 0 and cell.unit != PERCENT for cell in cells)


def weighted_mean(
    cell: PublishedCell,
    parts: Iterable[tuple[PublishedCell, float]],
    *,
    whole: float | None = None,
    truncation: bool = False,
) -> Derived:
    """Return the weighted mean of ``parts`` (cells and their weights) as the implied value of another cell.

    ``whole`` is the divisor; the sum of the weights by default. A larger one adds parts with the value 0.
    """
    pairs = list(parts)
    whole = sum(weight for _, weight in pairs) if whole is None else whole
    value = sum(weight * part.value for part, weight in pairs) / whole
    slack = sum(weight * rounding_error(part) for part, weight in pairs) / whole
    terms = " + ".join(part.printed if weight == 1 else f"{weight:,g} x {part.printed}" for part, weight in pairs)
    return Derived(cell, value, slack, f"({terms}) / {whole:,g}", truncation)


def total(cell: PublishedCell, parts: Iterable[PublishedCell]) -> Derived:
    """Return the sum of cells as the implied value of another cell."""
    cells = list(parts)
    return Derived(
        cell,
        sum(part.value for part in cells),
        0.0 if _are_counts(cells) else sum(rounding_error(part) for part in cells),
        " + ".join(part.printed for part in cells),
    )


def product(cell: PublishedCell, one: PublishedCell, other: PublishedCell, *, unit: float = 1.0) -> Derived:
    """Return the product of two cells as the implied value of another cell; percentages have ``unit`` 100."""
    value = one.value * other.value / unit
    error, other_error = rounding_error(one), rounding_error(other)
    slack = (one.value * other_error + other.value * error + error * other_error) / unit
    over = "" if unit == 1 else f" / {unit:,g}"
    return Derived(cell, value, slack, f"{one.printed} x {other.printed}{over}")


def ratio(cell: PublishedCell, part: PublishedCell, whole: PublishedCell) -> Derived:
    """Return the percentage of two counts as the implied value of another cell."""
    return Derived(cell, 100 * part.value / whole.value, 0.0, f"100 x {part.printed} / {whole.printed}")


def inconsistent(derived: Iterable[Derived], text: str) -> Iterator[AuditFinding]:
    """Yield a finding for each value that does not follow, and for two of one column that fit after an exchange.

    ``text`` is the sentence of the findings; ``{}`` in it is the implied value.
    """
    odd = [one for one in derived if not one.is_consistent]
    for one in odd:
        yield one.finding(text)
        for other in odd:
            if one is not other and _are_exchanged(one, other):
                yield AuditFinding.of(
                    one.cell,
                    f"The numbers of {one.cell.row} and {other.cell.row} are exchanged.",
                    f"{one.arithmetic} = {one.value:.2f}, printed for {other.cell.row}; "
                    f"{other.arithmetic} = {other.value:.2f}, printed for {one.cell.row}",
                )


def _are_exchanged(one: Derived, other: Derived) -> bool:
    """Whether each of two values of one column is printed for the other one."""
    return (
        (one.cell.table, one.cell.column) == (other.cell.table, other.cell.column)
        and abs(one.value - other.cell.value) <= one.tolerance
        and abs(other.value - one.cell.value) <= other.tolerance
    )


def declared_relations(published: Published) -> Iterator[AuditFinding]:
    """Yield a finding for each number that does not follow as declared (``relations``; docs/comparison.md#audit)."""
    cells = {cell.key: cell for cell in published.cells}
    for relation in published.relations:
        named = {name: cells[tuple(key)] for name, key in relation.get("cells", {}).items()}
        for name, table in relation.get("rows", {}).items():
            cell, rows = named[name], [row for _, row in published.rows(table)]
            if cell.value != len(rows):
                arithmetic = f"{len(rows)} rows: {', '.join(rows)}; printed {cell.printed}"
                yield AuditFinding.of(cell, f"{table} has {len(rows)} rows.", arithmetic)
        derived: list[Derived] = []
        for group in _groups(published, relation):
            found = {**named, **group}
            derived += _derived(found, relation)
            for name, parts in relation.get("at_most", {}).items():
                if name in found:
                    yield from _at_most(found[name], [found[part] for part in parts], relation)
        yield from inconsistent(derived, relation.get("text", ""))


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
    for kind in ("mean", "sum", "share"):
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
                yield ratio(cell, *parts)


def _at_most(
    cell: PublishedCell, bounds: Sequence[PublishedCell], relation: Mapping[str, Any]
) -> Iterator[AuditFinding]:
    """Yield a finding if a number exceeds one of others by more than their rounding."""
    least = min(bounds, key=lambda bound: bound.value)
    slack = sum(each.half_unit for each in (cell, *bounds)) + ROUNDING
    if cell.value > least.value + slack:
        text = relation["text"]
        for number, bound in enumerate(bounds):
            text = text.replace(f"{{{number}}}", bound.printed)
        yield AuditFinding.of(cell, text, f"{cell.printed} > {least.printed}")
