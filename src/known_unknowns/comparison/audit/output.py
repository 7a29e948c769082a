"""The findings of an audit as JSON and as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from textwrap import fill

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import ALL, Finding

_WIDTH = 120
_LISTED = 3
"""Up to so many similar findings of a table are listed in the documentation."""
_SEVERAL_NUMBERS = re.compile(r"(?<=\d)(?: [-+]?\d[\d.]*)+\Z")
_NUMBER = re.compile(r"\d[\d.,]*")


def as_json(findings: Mapping[str, Sequence[Finding]]) -> str:
    """Return a JSON list of the findings of several benchmarks.

    Each entry has the keys benchmark, table, row, column, printed, finding, arithmetic and strength, all with texts.
    """
    rows = [asdict(finding) for found in findings.values() for finding in found]
    return json.dumps(rows, indent=2, ensure_ascii=False)


def as_text(findings: Mapping[str, Sequence[Finding]], numbers: Mapping[str, int]) -> str:
    """Return the findings by benchmark and table; ``numbers`` counts the published numbers of each benchmark."""
    return "\n\n".join(_benchmark(name, found, numbers[name]) for name, found in findings.items())


def as_markdown(findings: Mapping[str, Sequence[Finding]]) -> str:
    """Return the table of bench/audit/README.md.

    More than three findings of one table that differ only in their numbers are one row, which names the first cell.
    """
    lines = ["| benchmark | place | printed | finding |", "|---|---|---|---|"]
    for name, found in findings.items():
        groups: dict[tuple[str, str], list[Finding]] = {}
        for finding in found:
            groups.setdefault((finding.table, _NUMBER.sub("", finding.finding)), []).append(finding)
        for finding in found:
            group = groups[finding.table, _NUMBER.sub("", finding.finding)]
            if len(group) > _LISTED and finding is not group[0]:
                continue
            cell = ", ".join(text for text in (finding.row, finding.column) if text != ALL)
            cells = f"{len(group)} cells, first {cell}" if len(group) > _LISTED else cell
            place_in_paper = ", ".join(filter(None, (finding.table, cells)))
            printed = _SEVERAL_NUMBERS.sub(" \u2026", finding.printed)
            row = (registry.get(name).title, place_in_paper, printed, finding.sentence)
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def _benchmark(name: str, findings: Sequence[Finding], numbers: int) -> str:
    noun = "finding" if len(findings) == 1 else "findings"
    lines = [f"{registry.get(name).title}: {len(findings)} {noun} in {numbers:,} published numbers"]
    for table, found in groupby(findings, key=lambda finding: finding.table):
        lines.append(f"\n{table}")
        for finding in found:
            lines += [_paragraph(f"{place(finding)}: {finding.printed}", 2)]
            lines += [_paragraph(finding.sentence, 4), _paragraph(finding.arithmetic, 4)]
    return "\n".join(lines)


def place(finding: Finding) -> str:
    """Return the row and the column of a finding."""
    row = "all rows" if finding.row == ALL else finding.row
    return f"{row}, {'all columns' if finding.column == ALL else finding.column}"


def _paragraph(text: str, indent: int) -> str:
    return fill(text, _WIDTH, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2), break_on_hyphens=False)
