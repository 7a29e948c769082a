"""What the published numbers of MM-UPD imply; see docs/comparison.md#audit.

The checks of any benchmark come besides (`known_unknowns_audit`): percentages that no count of 820, 919 or
356 questions gives, and numbers that differ between tables. A difference counts only if rounding cannot explain it.
"""

from __future__ import annotations

from collections.abc import Iterator

from known_unknowns.benchmark.published import AuditFinding, Published, PublishedCell


def findings(published: Published) -> Iterator[AuditFinding]:
    """Yield the findings on the numbers of this paper."""
    for row in published.rows("Table 3").values():
        subsets = [column.removesuffix(" Dual") for column in row if column.endswith(" Dual")]
        for subset in subsets:
            yield from _dual(*(row[f"{subset} {name}"] for name in ("Dual", "Standard", "UPD")))


def _dual(dual: PublishedCell, standard: PublishedCell, upd: PublishedCell) -> Iterator[AuditFinding]:
    """Compare a dual accuracy with its parts: as many pairs at least are right twice."""
    least = standard.value + upd.value - 100
    if dual.value < least - dual.half_unit - standard.half_unit - upd.half_unit:
        text = f"Lower than its parts allow, {standard.printed} (standard) and {upd.printed} (UPD)."
        yield AuditFinding.of(dual, text, f"{standard.printed} + {upd.printed} - 100 = {least:.1f} > {dual.printed}")
