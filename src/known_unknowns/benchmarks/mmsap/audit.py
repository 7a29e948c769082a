"""Inconsistencies in the published tables of MM-SAP; see README.md.

All values are computed from the printed numbers. A difference counts only if rounding cannot explain it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from known_unknowns.comparison.audit import Finding, Published
from known_unknowns.comparison.audit.relations import Derived, inconsistent, total, weighted_mean
from known_unknowns.comparison.published import PublishedCell, cells_by_row

TableRow = Mapping[str, PublishedCell]

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


def totals(cells: Iterable[PublishedCell]) -> list[Derived]:
    """Recompute the Total columns from the subsets, and score_sa from its two parts.

    The weights are 400, 350 and 400 of 1150 questions; in Table 1 of the first preprint, 400, 350 and 368 of 1118.

    References
    ----------
    arXiv:2401.07529, Tables 1, 3 and 7, and Table 1 of the first version.
    """
    found: list[Derived] = []
    for (table, _), row in cells_by_row(cells).items():
        if table in SCORES:
            parts = {
                "score_kk": ("BasicVisQA score_kk", "KnowVisQA score_kk"),
                "score_ku": ("KnowVisQA score_ku", "BeyondVisQA score_ku"),
            }
            found += [_mean(row, f"Total {name}", names, QUESTIONS) for name, names in parts.items()]
            both = [row[f"Total {name}"] for name in parts]
            found.append(total(row["Total score_sa"], both, truncation=True))
        elif "Total" in row:
            found.append(_mean(row, "Total", tuple(QUESTIONS_OF_FIRST), QUESTIONS_OF_FIRST))
    return found


def _mean(row: TableRow, name: str, parts: Sequence[str], questions: Mapping[str, int]) -> Derived:
    """Return the mean of parts, weighted by the questions of their subset. Other subsets count as 0."""
    weights = [(row[part], questions[row[part].category]) for part in parts]
    return weighted_mean(row[name], weights, whole=sum(questions.values()), truncation=True)


def audit(published: Published) -> Iterator[Finding]:
    """Yield the findings on the tables of this benchmark (`known_unknowns.comparison.audit`)."""
    cells = published.cells
    yield from inconsistent(totals(cells), "Does not follow from its row: the subsets' cells give {}.")
    yield from _scores_above_all_refusals(cells)
    yield from _inconsistent_products(cells)


def _scores_above_all_refusals(cells: Sequence[PublishedCell]) -> Iterator[Finding]:
    """Flag score_ku in KnowVisQA above 100 minus the Answer Rate of Table 2: it counts some of the refusals."""
    rows = cells_by_row(cells)
    for (table, name), row in rows.items():
        rates = rows.get(("Table 2", name))
        if table != "Table 1" or rates is None:
            continue
        score, rate = row["KnowVisQA score_ku"], rates["KnowVisQA Answer Rate"]
        refused = 100 - rate.value
        if score.value > refused + score.half_unit + rate.half_unit + 1e-9:
            text = f"More than all refusals: Table 2's Answer Rate of {rate.printed} leaves {refused:.2f}."
            yield Finding.of(score, text, f"100 - {rate.printed} = {refused:.2f} < {score.printed}")


def _inconsistent_products(cells: Sequence[PublishedCell]) -> Iterator[Finding]:
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
                yield Finding.of(accuracy, text, f"{rate.printed} x {accuracy.printed} / 100 = {product:.2f}")
