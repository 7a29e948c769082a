"""What in MM-SAP's published tables does not follow from their other cells; see docs/mmsap.md.

Everything is recomputed from the printed numbers, and a difference counts only where rounding cannot explain it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from known_unknowns.comparison.cells import PublishedCell
from known_unknowns.comparison.flags import ROUNDING, Flag, Row, noted, rows_of

QUESTIONS: Mapping[str, int] = {"BasicVisQA": 400, "KnowVisQA": 350, "BeyondVisQA": 400}
"""Section 3.2 (final)."""
QUESTIONS_OF_FIRST: Mapping[str, int] = QUESTIONS | {"BeyondVisQA": 368}
"""Section 3.2 of the first preprint."""
RUNS = 5
"""Section 4.2: each model answers every question five times."""
SCORES = ("Table 1", "Table 3", "Table 7")
"""The tables with score_kk and score_ku by subset and in total."""
_MEANS = 0.05
"""In points: the mean of five products may be so far from the product of two means, where runs differ by a point."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A cell, what the others give for it (in its own unit), and by how much rounding may have moved that."""

    cell: PublishedCell
    value: float
    slack: float

    @property
    def follows(self) -> bool:
        return abs(self.value - self.cell.value) <= self.slack + ROUNDING


def spread_as_published(spread: float, runs: int) -> float:
    """Our standard deviation over runs (ddof = 1) as the first preprint prints it after its ±: with ddof = 0.

    Its text says "mean and variance". The answer rates and scores of a subset are counts of 400, 350 or 368 questions,
    five times over: for every one of these 48 cells there are whole counts whose standard deviation with ddof = 0
    rounds to what is printed, while for 21 of them no counts at all do with ddof = 1.
    """
    return spread * math.sqrt((runs - 1) / runs)


def totals(cells: Iterable[PublishedCell]) -> list[Recomputed]:
    """The Total columns of `SCORES`, from the subsets' (400, 350 and 400 of 1150), and score_sa from its two parts;
    and the Total of the first preprint's Table 1 (400, 350 and 368 of 1118)."""
    found: list[Recomputed] = []
    for (table, _), row in rows_of(cells).items():
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


def _mean(row: Row, total: str, parts: Sequence[str], questions: Mapping[str, int]) -> Recomputed:
    """The mean of parts, each weighted by its subset's share of all questions; what is not a part counts as 0."""
    everything = sum(questions.values())
    weights = [questions[row[part].category] / everything for part in parts]
    value = sum(weight * row[part].value for weight, part in zip(weights, parts, strict=True))
    return _recomputed(row[total], value, [w * row[part].half_unit for w, part in zip(weights, parts, strict=True)])


def _recomputed(cell: PublishedCell, value: float, roundings: Iterable[float]) -> Recomputed:
    """A whole unit of the last place for the cell itself: some totals were cut off rather than rounded."""
    return Recomputed(cell, value, sum(roundings) + 2 * cell.half_unit)


def with_flags(cells: Sequence[PublishedCell]) -> list[PublishedCell]:
    """The cells, with a note on each that does not follow from the others."""
    return noted(cells, flags(cells))


def flags(cells: Sequence[PublishedCell]) -> list[Flag]:
    """All that does not follow."""
    checks: tuple[Callable[[Sequence[PublishedCell]], Iterable[Flag]], ...] = (
        _totals_that_do_not_follow,
        _rows_that_are_identical,
        _refused_more_than_refused,
        _rates_that_do_not_multiply,
    )
    return [flag for check in checks for flag in check(cells)]


def _totals_that_do_not_follow(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    for found in totals(cells):
        if not found.follows:
            yield Flag(found.cell, f"Does not follow from its row: the subsets' cells give {found.value:.2f}.")


def _rows_that_are_identical(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    """Two models of one table whose cells are equal in every digit."""
    rows = {key: row for key, row in rows_of(cells).items() if len(row) > 1}
    for (table, name), row in rows.items():
        for (other_table, other), twin in rows.items():
            digits, of_twin = ({column: cell.printed for column, cell in cells.items()} for cells in (row, twin))
            if table == other_table and name != other and digits == of_twin:
                yield from (Flag(cell, f"The row is that of {other} in every digit.") for cell in row.values())


def _refused_more_than_refused(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    """In KnowVisQA, score_ku counts some of the refusals: it cannot exceed 100 less the Answer Rate of Table 2."""
    rows = rows_of(cells)
    for (table, name), row in rows.items():
        rates = rows.get(("Table 2", name))
        if table != "Table 1" or rates is None:
            continue
        score, rate = row["KnowVisQA score_ku"], rates["KnowVisQA Answer Rate"]
        refused = 100 - rate.value
        if score.value > refused + score.half_unit + rate.half_unit + 1e-9:
            yield Flag(score, f"More than all refusals: Table 2's Answer Rate of {rate.printed} leaves {refused:.2f}.")


def _rates_that_do_not_multiply(cells: Sequence[PublishedCell]) -> Iterator[Flag]:
    """Answer Rate times Answer Accuracy is score_kk (Equations 1, 5 and 6 of the final version)."""
    rows = rows_of(cells)
    for (table, name), row in rows.items():
        scores = rows.get(("Table 1", name))
        if table != "Table 2" or scores is None:
            continue
        for subset in ("BasicVisQA", "KnowVisQA"):
            rate, accuracy = row[f"{subset} Answer Rate"], row[f"{subset} Answer Acc"]
            score = scores[f"{subset} score_kk"]
            product = rate.value * accuracy.value / 100
            if abs(product - score.value) > _MEANS:
                text = f"Times the Answer Rate of {rate.printed} it is {product:.2f}; Table 1 has {score.printed}."
                yield Flag(accuracy, text)
