"""Write the table of findings in bench/audit/README.md. ``make audit-table`` calls it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import ALL, Finding
from known_unknowns.comparison.audit import audit_published, published

FILE = Path(__file__).parents[1] / "bench" / "audit" / "README.md"
START, END = "<!-- audit-table: written by make audit-table -->", "<!-- end of audit-table -->"
LISTED = 3
"""Up to so many similar findings of a table are listed."""
_SEVERAL_NUMBERS = re.compile(r"(?<=\d)(?: [-+]?\d[\d.]*)+\Z")
_NUMBER = re.compile(r"\d[\d.,]*")


def updated(text: str) -> str:
    """Return the text of bench/audit/README.md with the findings of all benchmarks."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    table = as_markdown({name: audit_published(published(name)) for name in registry.names()})
    return f"{before}{START}\n\n{table}\n\n{END}{after}"


def as_markdown(findings: Mapping[str, Sequence[Finding]]) -> str:
    """Return the table of findings.

    More than three findings of one table that differ only in their numbers are one row, which names the first cell.
    """
    lines = ["| benchmark | place | printed | finding |", "|---|---|---|---|"]
    for name, found in findings.items():
        groups: dict[tuple[str, str], list[Finding]] = {}
        for finding in found:
            groups.setdefault((finding.table, _NUMBER.sub("", finding.finding)), []).append(finding)
        for finding in found:
            group = groups[finding.table, _NUMBER.sub("", finding.finding)]
            if len(group) > LISTED and finding is not group[0]:
                continue
            cell = ", ".join(text for text in (finding.row, finding.column) if text != ALL)
            cells = f"{len(group)} cells, first {cell}" if len(group) > LISTED else cell
            place_in_paper = ", ".join(filter(None, (finding.table, cells)))
            printed = _SEVERAL_NUMBERS.sub(" \u2026", finding.printed)
            row = (registry.get(name).title, place_in_paper, printed, finding.sentence)
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    FILE.write_text(updated(FILE.read_text(encoding="utf-8")), encoding="utf-8")
