"""Inconsistencies in the published tables of MM-SAP; see README.md.

All values are computed from the printed numbers. A difference counts only if rounding cannot explain it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from known_unknowns.comparison.cells import PublishedCell
from known_unknowns.comparison.flags import ROUNDING, Flag, TableRow, cells_by_row, with_notes

QUESTIONS: Mapping[str, int] = {"BasicVisQA": 400, "KnowVisQA": 350, "BeyondVisQA": 400}
"""Section 3.2 (final)."""
QUESTIONS_OF_FIRST: Mapping[str, int] = QUESTIONS | {"BeyondVisQA": 368}
"""Section 3.2 of the first preprint."""
RUNS = 5
"""Section 4.2: each model answers every question five times."""
SCORES = ("Table 1", "Table 3", "Table 7")
"""The tables with score_kk and score_ku by subset and in total."""
_TOLERANCE = 0.05
"""In points: the mean of five products may differ this much from the product of two means if runs differ by a point."""


@dataclass(frozen=True, slots=True)
class DerivedValue:
    """A published cell, its value from other cells (in its unit), and the largest rounding error of that value."""

    cell: PublishedCell
    value: float
    slack: float

    @property
    def is_consistent(self) -> bool:
        """Whether the cell and its value from other cells agree within rounding."""
        return abs(self.value - self.cell.value) <= self.slack + ROUNDING


def spread_as_published(spread: float, runs: int) -> float:
    """Convert our standard deviation over runs (ddof = 1) to that of the first preprint (ddof = 0).

    Parameters
    ----------
    spread : float
        Standard deviation with ddof = 1.
    runs : int
        The number of runs.

    Returns
    -------
    float
        Standard deviation with ddof = 0.

    Notes
    -----
    The text of the preprint says "mean and variance". Its answer rates and scores are counts out of 400, 350 or 368
    questions in five runs. For each of these 48 cells, some counts have a standard deviation with ddof = 0 that rounds
    to the printed one. With ddof = 1, no counts do for 21 of the cells.

    References
    ----------
    arXiv:2401.07529v1, Tables 1 and 2.
    """
    return spread * math.sqrt((runs - 1) / runs)


def totals(cells: Iterable[PublishedCell]) -> list[DerivedValue]:
    """Recompute the Total columns from the subsets, and score_sa from its two parts.

    The weights are 400, 350 and 400 of 1150 questions; in Table 1 of the first preprint, 400, 350 and 368 of 1118.

    References
    ----------
    arXiv:2401.07529, Tables 1, 3 and 7, and Table 1 of the first version.
    """
    found: list[DerivedValue] = []
    for (table, _), row in cells_by_row(cells).items():
        if table in SCORES:
            parts = {
                "score_kk": ("BasicVisQA score_kk", "KnowVisQA score_kk"),
                "score_ku": ("KnowVisQA score_ku", "BeyondVisQA score_ku"),
            }
            found += [_mean(row, f"Total {name}", names, QUESTIONS) for name, names in parts.items()]
            both = [row[f"Total {name}"] for name in parts]
            found.append(_recomputed(row["Total score_sa"], sum(c.value for c in both), [c.half_unit for c in both]))
        elif "Total" in row:
            found.append(_mean(row, "Total", tuple(QUESTIONS_OF_FIRST), QUESTIONS_OF_FIRST))
    return found


def _mean(row: TableRow, total: str, parts: Sequence[str], questions: Mapping[str, int]) -> DerivedValue:
    """Return the mean of parts, weighted by the share of their subset in all questions. Other subsets count as 0."""
    everything = sum(questions.values())
    weights = [questions[row[part].category] / everything for part in parts]
    value = sum(weight * row[part].value for weight, part in zip(weights, parts, strict=True))
    return _recomputed(row[total], value, [w * row[part].half_unit for w, part in zip(weights, parts, strict=True)])


def _recomputed(cell: PublishedCell, value: float, roundings: Iterable[float]) -> DerivedValue:
    """Return the value with its rounding error, and a whole unit of the last digit: some totals are truncated."""
    return DerivedValue(cell, value, sum(roundings) + 2 * cell.half_unit)


def with_flags(cells: Sequence[PublishedCell]) -> list[PublishedCell]:
    """Return the cells, with a note on each inconsistent cell."""
    return with_notes(cells, flags(cells))


def flags(cells: Sequence[PublishedCell]) -> list[Flag]:
    """Return all inconsistencies.

    Parameters
    ----------
    cells : sequence of PublishedCell
        The published cells.

    Returns
    -------
    list of Flag
        The inconsistent cells, each with a sentence.
    """
    checks: tuple[Callable[[Sequence[PublishedCell]], Iterable[Flag]], ...] = (
        _inconsistent_totals,
        _identical_rows,
        _scores_above_all_refusals,
        _inconsistent_products,
    )
    return [flag for check in checks for flag in check(cells)]


def _inconsistent_totals(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    for found in totals(cells):
        if not found.is_consistent:
            yield Flag(found.cell, f"Does not follow from its row: the subsets' cells give {found.value:.2f}.")


def _identical_rows(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    """Flag two models of one table with equal cells."""
    rows = {key: row for key, row in cells_by_row(cells).items() if len(row) > 1}
    for (table, name), row in rows.items():
        for (other_table, other), twin in rows.items():
            digits, of_twin = ({column: cell.printed for column, cell in cells.items()} for cells in (row, twin))
            if table == other_table and name != other and digits == of_twin:
                yield from (Flag(cell, f"The row is that of {other} in every digit.") for cell in row.values())


def _scores_above_all_refusals(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    """Flag score_ku in KnowVisQA above 100 minus the Answer Rate of Table 2: it counts some of the refusals."""
    rows = cells_by_row(cells)
    for (table, name), row in rows.items():
        rates = rows.get(("Table 2", name))
        if table != "Table 1" or rates is None:
            continue
        score, rate = row["KnowVisQA score_ku"], rates["KnowVisQA Answer Rate"]
        refused = 100 - rate.value
        if score.value > refused + score.half_unit + rate.half_unit + 1e-9:
            yield Flag(score, f"More than all refusals: Table 2's Answer Rate of {rate.printed} leaves {refused:.2f}.")


def _inconsistent_products(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    """Flag score_kk that is not Answer Rate times Answer Accuracy (Equations 1, 5 and 6 of the final version)."""
    rows = cells_by_row(cells)
    for (table, name), row in rows.items():
        scores = rows.get(("Table 1", name))
        if table != "Table 2" or scores is None:
            continue
        for subset in ("BasicVisQA", "KnowVisQA"):
            rate, accuracy = row[f"{subset} Answer Rate"], row[f"{subset} Answer Acc"]
            score = scores[f"{subset} score_kk"]
            product = rate.value * accuracy.value / 100
            if abs(product - score.value) > _TOLERANCE:
                text = f"Times the Answer Rate of {rate.printed} it is {product:.2f}; Table 1 has {score.printed}."
                yield Flag(accuracy, text)
