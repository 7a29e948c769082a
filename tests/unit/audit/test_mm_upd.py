"""What MM-UPD's published numbers imply."""

from __future__ import annotations

from dataclasses import replace

from known_unknowns.benchmark import registry
from known_unknowns.comparison.published import published
from known_unknowns_audit.audit import findings_on


def test_the_audit_finds_nothing_and_would_find_an_impossible_dual_accuracy():
    assert findings_on(published("mm_upd")) == ()
    text = (registry.get("mm_upd").folder / "published.yaml").read_text(encoding="utf-8")
    numbers = published("mm_upd")
    assert "GPT-4o: 45.6 80.2 52.3" in text
    # A dual accuracy above its UPD accuracy of 52.3, and one above Orig.
    changed = {("Table 3", "GPT-4o", "AAD Dual"): 54.6, ("Table 1", "GPT4o", "AAD Inst"): 83.9}
    cells = tuple(replace(c, value=changed.get(c.key, c.value)) for c in numbers.cells)
    found = {finding.finding.split(" ")[0] + finding.column for finding in findings_on(replace(numbers, cells=cells))}
    assert {"ExceedsAAD Dual", "ExceedsAAD Inst"} <= found
