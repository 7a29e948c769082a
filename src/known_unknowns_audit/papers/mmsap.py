"""What the published numbers of MM-SAP imply; see docs/comparison.md#audit.

The checks of any benchmark come besides (`known_unknowns_audit`). A difference counts only if rounding
cannot explain it.
"""

from __future__ import annotations

from collections.abc import Iterator

from known_unknowns.benchmark.published import ALL, AuditFinding, Published, PublishedCell
from known_unknowns_audit.checks import distribution, is_possible_spread
from known_unknowns_audit.grim import grim_counts
from known_unknowns_audit.relations import Derived, inconsistent, product, rounding_error

BASIC, KNOW, BEYOND = "BasicVisQA", "KnowVisQA", "BeyondVisQA"
SUBSETS = (BASIC, KNOW, BEYOND)
"""The subsets, as the tables name them."""
FIRST_SCORES, FIRST_RATES = "Table 1, first preprint", "Table 2, first preprint"
_FIGURE = "Figure 2, first preprint"
_MEANS = 0.05
"""In points: the mean of five products may differ this much from the product of two means if runs differ by a point."""


def findings(published: Published) -> Iterator[AuditFinding]:
    """Yield the findings on the numbers of this paper."""
    yield from _rates(published)
    yield from inconsistent(_scores_of_first(published), "Answer Rate and Answer Acc of Table 2 give {}.")
    yield from _unknown_knowns(published)
    yield from _spreads(published)
    yield from _data(published)
    yield from _statements(published)


def _rates(published: Published) -> Iterator[AuditFinding]:
    """Compare Table 2 with Table 1 (Equations 1, 2, 3, 5 and 6 of the final version)."""
    for (_, name), rates in published.rows("Table 2").items():
        scores = published.row("Table 1", name)
        for subset in (BASIC, KNOW):
            rate, accuracy, score = (
                rates[f"{subset} Answer Rate"],
                rates[f"{subset} Answer Acc"],
                scores[f"{subset} score_kk"],
            )
            value = rate.value * accuracy.value / 100
            if abs(value - score.value) > _MEANS:
                yield AuditFinding.of(
                    accuracy,
                    f"Times the Answer Rate of {rate.printed} it is {value:.2f}; Table 1 has {score.printed}.",
                    f"{rate.printed} x {accuracy.printed} / 100 = {value:.2f}, against score_kk = {score.printed}",
                )
        yield from _more_than_refused(scores[f"{KNOW} score_ku"], rates[f"{KNOW} Answer Rate"])
        beyond = _refused(scores[f"{BEYOND} score_ku"], rates[f"{BEYOND} Answer Rate"])
        yield from inconsistent([beyond], "All refusals are right here: Table 2's Answer Rate leaves {}.")


def _more_than_refused(score: PublishedCell, rate: PublishedCell) -> Iterator[AuditFinding]:
    """Flag a score_ku above all refusals, which the Answer Rate leaves; name the count that gives both numbers."""
    refused = _refused(score, rate)
    if refused.value >= score.value - refused.tolerance:
        return
    text = f"More than all refusals: Table 2's Answer Rate of {rate.printed} leaves {refused.value:.2f}."
    n, runs = score.questions or 0, score.runs
    of_one_run, of_all = grim_counts(score.printed, n), grim_counts(f"{refused.value:.{rate.decimals}f}", n * runs)
    if common := set(of_one_run) & set(of_all):
        count = min(common)
        text += f" {count} refusals in all {runs} runs give it over {n}, and the Answer Rate over {n * runs:,}."
    yield refused.finding(text)


def _refused(cell: PublishedCell, rate: PublishedCell) -> Derived:
    """Return the share of refusals that an Answer Rate leaves, as the value of another cell."""
    return Derived(cell, 100 - rate.value, rounding_error(rate), f"100 - {rate.printed}")


def _scores_of_first(published: Published) -> Iterator[Derived]:
    """Recompute score_AR of the first preprint from its Table 2 (its Equations 1, 2, 5 and 6)."""
    by_model = {next(iter(row.values())).model: row for row in published.rows(FIRST_RATES).values()}
    for row in published.rows(FIRST_SCORES).values():
        rates = by_model[row[BASIC].model]
        for subset in (BASIC, KNOW):
            rate, accuracy = rates[f"{subset} Answer Rate"], rates[f"{subset} Answer Acc"]
            right = product(row[subset], rate, accuracy, unit=100)
            refused = 100 - rate.value if subset == KNOW else 0.0
            arithmetic = right.arithmetic + (f" + (100 - {rate.printed})" if subset == KNOW else "")
            covariance = (rate.spread or 0) * (accuracy.spread or 0) / 100  # over the runs, at most
            yield Derived(row[subset], right.value + refused, right.slack + covariance, arithmetic)
        yield _refused(row[BEYOND], rates[f"{BEYOND} Answer Rate"])


def _unknown_knowns(published: Published) -> Iterator[AuditFinding]:
    """Compare Table 4 with Equation 8, which divides by all questions, and with Tables 2 and 1 (Equation 2)."""
    rates, scores = (
        {next(iter(row.values())).model: row for row in published.rows(table).values()}
        for table in ("Table 2", "Table 1")
    )
    for row in published.rows("Table 4").values():
        refusals, rate = row["Refusal Num"], row["Unknown Knowns Rate"]
        n = rate.questions or 0
        answered = rates[refusals.model][f"{KNOW} Answer Rate"]
        arithmetic = f"{n} x (100 - {answered.printed}) / 100"
        left = Derived(refusals, n * (100 - answered.value) / 100, n * rounding_error(answered) / 100, arithmetic)
        yield from inconsistent([left], "Table 2's Answer Rate gives {}.")
        score = scores[refusals.model][f"{KNOW} score_ku"]
        unknown = refusals.value * (100 - rate.value) / n
        slack = _MEANS + rounding_error(refusals) * 100 / n + rounding_error(rate) * refusals.value / n
        arithmetic = f"{refusals.printed} x (100 - {rate.printed}) / {n}"
        derived = Derived(score, unknown, slack, arithmetic)
        # A rate that is the mean of the runs' rates explains a difference, but not a score above all refusals.
        if score.value - score.half_unit > 100 * refusals.value / n:
            yield from inconsistent([derived], "Table 4's refusals and rate give {}.")
        known = rate.value / 100 * n
        if known > refusals.value:
            yield AuditFinding.of(
                rate,
                f"Equation 8 divides by all {n} questions, but {known:.1f} known ones would be more than the "
                f"{refusals.printed} refusals; it is a share of the refusals.",
                f"{rate.printed} / 100 x {n} = {known:.1f} > {refusals.printed}; of the refusals it is "
                f"{rate.printed} / 100 x {refusals.printed} = {rate.value / 100 * refusals.value:.1f}",
            )


def _spreads(published: Published) -> Iterator[AuditFinding]:
    """Compare the numbers after ± of the first preprint with what its text calls them, and Total's with the parts'."""
    fact = published.facts["spread of the first preprint"]
    for table in (FIRST_SCORES, FIRST_RATES):
        cells = [c for c in published.cells if c.table == table and c.spread is not None and c.countable]
        possible = {
            "variance": sum(is_possible_spread(cell, variance=True) for cell in cells),
            "standard deviation (ddof = 0)": sum(is_possible_spread(cell) for cell in cells),
            "standard deviation (ddof = 1)": sum(is_possible_spread(cell, ddof=1) for cell in cells),
        }
        if cells and possible[fact.value] < len(cells):
            best = max(possible, key=lambda name: possible[name])
            shown = ", ".join(f"{name} in {n} of {len(cells)} cells" for name, n in possible.items())
            yield AuditFinding(
                published.benchmark,
                table,
                ALL,
                ALL,
                f"{fact.value} (Section 4.2)",
                f"The numbers after ± are no {fact.value}, as Section 4.2 states, but a {best}.",
                f"whole counts in five runs can have it as {shown}",
            )
    for row in published.rows(FIRST_SCORES).values():
        parts = [row[subset] for subset in SUBSETS]
        whole = row["Total"].questions or 1
        most = sum((part.questions or 0) * ((part.spread or 0) + part.half_unit) for part in parts) / whole
        if (row["Total"].spread or 0) - row["Total"].half_unit > most:
            text = "The standard deviation is larger than those of the subsets allow."
            yield AuditFinding.of(row["Total"], text, f"at most the weighted sum of those of the subsets, {most:.2f}")


def _data(published: Published) -> Iterator[AuditFinding]:
    """Check the shares of sub-tasks and of labels, and the number of sub-tasks."""
    figure = [cell for cell in published.cells if cell.table == _FIGURE]
    for subset in SUBSETS:
        shares = [cell for cell in figure if cell.category == subset]
        yield from distribution(shares, shares[0].questions or 0, text=f"questions of {subset}")
    counts = {row: next(iter(cells.values())) for (_, row), cells in published.rows("Section 3.2").items()}
    answerable = int(counts[f"Questions of {BASIC}"].value + counts[f"Questions of {KNOW}"].value)
    everything = answerable + int(counts[f"Questions of {BEYOND}"].value)
    labels = published.rows("Table 6")
    right = list(labels["Table 6", "correct options"].values())
    yield from distribution(right, answerable, text="questions with a correct option", instead=everything)
    yield from distribution(list(labels["Table 6", "refusal options"].values()), everything)
    (first,) = published.row("Section 3.2, first preprint", f"Types of {BASIC}").values()
    drawn = [cell.row for cell in figure if cell.category == BASIC]
    if first.value != len(drawn):
        text = f"The overview figure has {len(drawn)} types of {BASIC}."
        yield AuditFinding.of(first, text, f"{len(drawn)} shares: {', '.join(drawn)}; printed {first.printed}")


def _statements(published: Published) -> Iterator[AuditFinding]:
    """Compare what Section 4.3 states on the models with Table 1."""
    closed = published.facts["closed models"].value
    text = {cell.row: cell for cell in published.cells if cell.table == "Section 4.3"}
    others = text["Closed-source models besides the best"]
    if others.value != len(closed) - 1:
        sentence = f"Table 1 marks {len(closed)} closed-source models, so that {len(closed) - 1} are left."
        yield AuditFinding.of(others, sentence, f"{len(closed)} - 1 = {len(closed) - 1}: {', '.join(closed)}")
    scores = {row: cells[f"{BEYOND} score_ku"] for (_, row), cells in published.rows("Table 1").items()}
    for group in ("Open-source models", "Closed-source models"):
        of_group = [cell for row, cell in scores.items() if (row in closed) == (group == "Closed-source models")]
        largest = max(of_group, key=lambda cell: cell.value)
        if largest.value > text[group].value + text[group].half_unit:
            sentence = f"Table 1 has {largest.printed} for {largest.row}."
            yield AuditFinding.of(text[group], sentence, f"{largest.printed} > {text[group].printed}")
