"""The findings of an audit as JSON and as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from textwrap import fill

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import ALL, Finding

_WIDTH = 120


def as_json(findings: Mapping[str, Sequence[Finding]]) -> str:
    """Return a JSON list of the findings of several benchmarks.

    Each entry has the keys benchmark, table, row, column, printed, finding, arithmetic and strength, all with texts.
    """
    rows = [asdict(finding) for found in findings.values() for finding in found]
    return json.dumps(rows, indent=2, ensure_ascii=False)


def as_text(findings: Mapping[str, Sequence[Finding]], numbers: Mapping[str, int]) -> str:
    """Return the findings by benchmark and table; ``numbers`` counts the published numbers of each benchmark."""
    return "\n\n".join(_benchmark(name, found, numbers[name]) for name, found in findings.items())


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
