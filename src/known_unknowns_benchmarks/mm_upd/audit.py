"""What the published numbers of MM-UPD imply; see docs/audit.md.

The checks of any benchmark come besides (`known_unknowns.comparison.audit`): percentages that no count of 820, 919 or
356 questions gives, and numbers that differ between tables. A difference counts only if rounding cannot explain it.
"""

from __future__ import annotations

from collections.abc import Iterator

from known_unknowns.benchmark.published import Finding, Published, PublishedCell
from known_unknowns_benchmarks.mm_upd.subsets import SUBSETS


def audit(published: Published) -> Iterator[Finding]:
    """Yield the findings on the numbers of this benchmark."""
    for row in published.rows("Table 3").values():
        for subset in SUBSETS:
            yield from _dual(*(row[f"{subset} {name}"] for name in ("Dual", "Standard", "UPD")))
    for row in published.rows("Table 1").values():
        for subset in SUBSETS:
            for setting in ("Base", "Opt", "Inst"):
                yield from _bound(row[f"{subset} {setting}"], row[f"{subset} Orig"])


def _dual(dual: PublishedCell, standard: PublishedCell, upd: PublishedCell) -> Iterator[Finding]:
    """Compare a dual accuracy with its parts: it is a share of pairs that are right twice."""
    slack = dual.half_unit + standard.half_unit + upd.half_unit
    most, least = min(standard.value, upd.value), standard.value + upd.value - 100
    if dual.value > most + slack:
        text = f"Exceeds one of its parts, {standard.printed} (standard) and {upd.printed} (UPD)."
        yield Finding.of(dual, text, f"{dual.printed} > {most:.1f}")
    if dual.value < least - slack:
        text = f"Lower than its parts allow, {standard.printed} (standard) and {upd.printed} (UPD)."
        yield Finding.of(dual, text, f"{standard.printed} + {upd.printed} - 100 = {least:.1f} > {dual.printed}")


def _bound(dual: PublishedCell, original: PublishedCell) -> Iterator[Finding]:
    """Compare a dual accuracy with the original standard accuracy, which Section 4.2 calls its upper bound."""
    if dual.value > original.value + dual.half_unit + original.half_unit:
        text = f"Exceeds the Original Standard of {original.printed}, which Section 4.2 calls an upper bound."
        yield Finding.of(dual, text, f"{dual.printed} > {original.printed}")
