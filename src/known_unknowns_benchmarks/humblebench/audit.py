"""What the published numbers of HumbleBench imply; see docs/audit.md.

The checks of any benchmark come besides (`known_unknowns.comparison.audit`).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from known_unknowns.benchmark.published import ALL, Finding, Published
from known_unknowns.comparison.audit.grim import implied_n
from known_unknowns.comparison.audit.relations import Derived, inconsistent

TYPES = ("Object", "Relation", "Attribute")
_LOG, _SHARES = "overall.log", "HumbleBench-E logs"


def audit(published: Published) -> Iterator[Finding]:
    """Yield the findings on the numbers of this benchmark."""
    yield from _implied_questions(published)
    yield from _exact_replies(published)
    yield from _labels_of_noise(published)
    yield from _chance(published)
    yield from _noise(published)


def _implied_questions(published: Published) -> Iterator[Finding]:
    """Derive the number of questions of each type, which the paper does not print, from the percentages of the log."""
    log = published.rows(_LOG)
    whole = next(iter(log.values()))["Overall_accuracy"].questions or 0
    smallest = {
        name: implied_n([row[f"{name}_accuracy"].printed for row in log.values()], whole) or whole for name in TYPES
    }
    if sum(smallest.values()) == whole:
        numbers = ", ".join(f"{n:,} {name}" for name, n in smallest.items())
        (cell,) = published.row("Table 1", "Total Questions").values()
        yield Finding.of(
            cell,
            f"No table or text has the number of questions of a type; the accuracies of the log imply {numbers}.",
            f"the smallest n of which all {len(log)} percentages of the log are whole counts: {numbers}; "
            f"{' + '.join(f'{n:,}' for n in smallest.values())} = {whole:,}, as printed",
        )


def _exact_replies(published: Published) -> Iterator[Finding]:
    """Compare Figure 4 with its definition: E is the only right option, so that the accuracy is the share of E."""
    shares = {row: next(iter(cells.values())) for (_, row), cells in published.rows(_SHARES).items()}
    figure = {row: next(iter(cells.values())) for (_, row), cells in published.rows("Figure 4").items()}
    for row, cell in figure.items():
        share, n = shares[row], cell.questions or 0
        derived = Derived(
            cell, share.value, share.half_unit, f"share of the replies that the same log reads as E: {share.printed}"
        )
        if not derived.is_consistent:
            by_share = 1 + sum(one.value > share.value for one in shares.values())
            as_plotted = 1 + sum(one.value > cell.value for one in figure.values())
            exact, read = (round(one.value * n / 100) for one in (cell, share))
            yield Finding.of(
                cell,
                f"E is the only right option, and the same run answers E in {share.printed}%: only replies that are "
                "exactly “E” are counted.",
                f"about {read:,} of {n:,} replies are read as E ({share.printed}%), about {exact:,} are exactly “E” "
                f"({cell.printed}%); rank {by_share} of {len(figure)}, plotted as {as_plotted}; "
                f"{share.value:.2f} - {cell.value:.2f} = {share.value - cell.value:.2f} points",
            )


def _labels_of_noise(published: Published) -> Iterator[Finding]:
    """Compare Figure 5, a share of E, with the accuracy that the log of the same run states."""
    plotted = {row: next(iter(cells.values())) for (_, row), cells in published.rows("Figure 5").items()}
    logged = {row: next(iter(cells.values())) for (_, row), cells in published.rows("HumbleBench-GN logs").items()}
    different = [row for row, cell in plotted.items() if cell.printed != logged[row].printed]
    if different:
        yield Finding(
            published.benchmark,
            "Figure 5",
            ALL,
            "Accuracy on HumbleBench-GN",
            " ".join(plotted[row].printed for row in different),
            "The accuracy is the share of E over all questions; the log's accuracy of the same run uses the published "
            "labels.",
            "; ".join(f"{row}: {plotted[row].printed} plotted, {logged[row].printed} logged" for row in different),
        )


def _chance(published: Published) -> Iterator[Finding]:
    """Recompute the accuracy of guessing on HumbleBench-E: one option is removed unless the label is E."""
    (cell,) = published.row("Section 3.2, random guess", "Random guess").values()
    (refusals,) = published.row("overall.log, implied", "questions labelled E").values()
    options, labelled = published.facts["options"].value, int(refusals.value)
    whole = next(iter(published.rows("Table 3").values()))["Overall"].questions or 0
    value = 100 * (labelled / options + (whole - labelled) / (options - 1)) / whole
    arithmetic = (
        f"{whole - labelled:,} of {whole:,} questions ({100 * (whole - labelled) / whole:.2f}%) keep {options - 1} "
        f"options: 100 x ({labelled:,} / {options} + {whole - labelled:,} / {options - 1}) / {whole:,}"
    )
    text = "Most questions have lost an option, so that guessing gives {}."
    yield from inconsistent([Derived(cell, value, 0.0, arithmetic)], text)


def _noise(published: Published) -> Iterator[Finding]:
    """Compare the distribution that the name states with that of Algorithm 1."""
    n = published.facts["grey values of the noise"].value
    kurtosis = -6 / 5 * (n**2 + 1) / (n**2 - 1)
    yield Finding(
        published.benchmark,
        "Algorithm 1",
        ALL,
        "distribution of the noise",
        f"RandomInteger(0, {n - 1})",
        "The noise is uniform, not Gaussian as the name and Section 3.3 state.",
        f"{n} equally likely grey values have the standard deviation sqrt(({n}^2 - 1) / 12) = "
        f"{sqrt((n**2 - 1) / 12):.2f} and the excess kurtosis {kurtosis:.2f}; a Gaussian has 0",
    )
