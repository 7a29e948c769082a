"""What the published numbers of HumbleBench imply; see docs/comparison.md#audit.

The checks of any benchmark come besides (`known_unknowns_audit`).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from known_unknowns.benchmark.published import ALL, PERCENT, AuditFinding, Published
from known_unknowns_audit.relations import Derived, inconsistent

_SHARES = "HumbleBench-E logs"


def findings(published: Published) -> Iterator[AuditFinding]:
    """Yield the findings on the numbers of this paper."""
    yield from _exact_replies(published)
    yield from _balance(published)
    yield from _chance(published)
    yield from _noise(published)


def _balance(published: Published) -> Iterator[AuditFinding]:
    """Compare the most frequent right option with random guessing, the baseline of Sections 3.1 and 3.2."""
    shares = [cell for cell in published.cells if cell.table == "Figure 2" and cell.unit == PERCENT]
    (guess,) = published.row("Section 3.2, random guess", "Random guess").values()
    most = max(shares, key=lambda cell: cell.value)
    if most.value - guess.value > most.half_unit + guess.half_unit:
        yield AuditFinding.of(
            most,
            f"Section 2 calls the options A to D relatively balanced; always answering {most.row} is right in "
            f"{most.printed}% of the questions, random guessing in {guess.printed}%.",
            f"{most.printed} - {guess.printed} = {most.value - guess.value:.2f} points; the shares are "
            + ", ".join(f"{cell.row} {cell.printed}" for cell in shares),
        )


def _exact_replies(published: Published) -> Iterator[AuditFinding]:
    """Compare Figure 4 with its definition: E is the only right option, so that the accuracy is the share of E."""
    shares = {row: next(iter(cells.values())) for (_, row), cells in published.rows(_SHARES).items()}
    figure = {row: next(iter(cells.values())) for (_, row), cells in published.rows("Figure 4").items()}
    for row, cell in figure.items():
        share, n = shares[row], cell.questions or 0
        derived = Derived(
            cell, share.value, share.half_unit, f"share of the replies that the same log parses as E: {share.printed}"
        )
        if not derived.is_consistent:
            by_share = 1 + sum(one.value > share.value for one in shares.values())
            as_plotted = 1 + sum(one.value > cell.value for one in figure.values())
            exact, parsed = (round(one.value * n / 100) for one in (cell, share))
            yield AuditFinding.of(
                cell,
                f"Only replies that are exactly “E” are counted. The letter parser of Table 3 gives {share.printed}%.",
                f"about {parsed:,} of {n:,} replies are parsed as E ({share.printed}%), about {exact:,} are exactly "
                f"“E” ({cell.printed}%); rank {by_share} of {len(figure)}, plotted as {as_plotted}; "
                f"{share.value:.2f} - {cell.value:.2f} = {share.value - cell.value:.2f} points",
            )


def _chance(published: Published) -> Iterator[AuditFinding]:
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


def _noise(published: Published) -> Iterator[AuditFinding]:
    """Compare the distribution that the name states with that of Algorithm 1."""
    n = published.facts["grey values of the noise"].value
    kurtosis = -6 / 5 * (n**2 + 1) / (n**2 - 1)
    yield AuditFinding(
        published.benchmark,
        "Algorithm 1",
        ALL,
        "distribution of the noise",
        f"RandomInteger(0, {n - 1})",
        "The noise is uniform (Appendix A.2), not Gaussian as its name and Section 3.3 state.",
        f"{n} equally likely grey values have the standard deviation sqrt(({n}^2 - 1) / 12) = "
        f"{sqrt((n**2 - 1) / 12):.2f} and the excess kurtosis {kurtosis:.2f}; a Gaussian has 0",
    )
