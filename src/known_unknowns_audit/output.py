"""The issues of an audit as JSON and as text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from textwrap import fill

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import CHANGES, ORIGINS, AuditFinding, Published, Source
from known_unknowns_audit.issues import Issue, place, places

_WIDTH = 120


def as_json(issues: Iterable[Issue], numbers: Mapping[str, Published]) -> str:
    """Return a JSON list of the findings of several benchmarks.

    Each entry has the keys benchmark, version, table, row, column, printed, finding, arithmetic, strength, issue,
    changes and cause, all with texts.
    """
    rows = []
    for issue in issues:
        for finding in issue.findings:
            version = version_of(finding, numbers[issue.benchmark])
            row = {"benchmark": finding.benchmark, "version": version} | asdict(finding)
            rows.append(row | {"issue": issue.issue, "changes": CHANGES[issue.changes], "cause": issue.cause})
    return json.dumps(rows, indent=2, ensure_ascii=False)


def version_of(finding: AuditFinding, numbers: Published) -> str:
    """Return the version of the paper whose table a finding is on."""
    versions = (cell.version for cell in numbers.cells if cell.table == finding.table)
    return next(versions, numbers.sources[0].version)


def as_text(issues: Sequence[Issue], numbers: Mapping[str, Published], *, findings: bool) -> str:
    """Return issues, sorted by importance, as text; with their ``findings`` and arithmetic or not."""
    audited = {name: read for name, read in numbers.items() if read.cells}
    cells = [cell for read in audited.values() for cell in read.cells]
    if not cells:
        return "There are no published numbers."
    found = sum(len(issue.findings) for issue in issues)
    lines = [
        _paragraph(
            f"{noun(len(issues), 'issue')} ({noun(found, 'finding')}) in {noun(len(cells), 'published number')}"
        ),
        _paragraph(f"Numbers: {counted(audited.values())}.", 2),
    ]
    for name, read in audited.items():
        of_benchmark = sum(issue.benchmark == name for issue in issues)
        title = registry.get(name).title
        lines.append(f"\n{title}: {noun(of_benchmark, 'issue')} in {noun(len(read.cells), 'number')}")
        lines += [_paragraph(version(source), 2) for source in read.sources]
    changed = ""
    for number, issue in enumerate(issues, 1):
        if issue.changes != changed:
            changed = issue.changes
            count = sum(other.changes == changed for other in issues)
            heading = CHANGES[changed]
            lines.append(f"\n{heading[0].upper()}{heading[1:]}: {noun(count, 'issue')}")
        lines.append("")
        lines += _issue(number, issue, findings=findings)
    if issues and not findings:
        lines.append("\nknown-unknowns audit --findings adds each number with its arithmetic.")
    return "\n".join(lines)


def counted(numbers: Iterable[Published]) -> str:
    """Return how many published numbers there are of each origin."""
    counts = Counter(cell.origin for read in numbers for cell in read.cells)
    return ", ".join(f"{counts[origin]:,} {text}" for origin, text in ORIGINS.items() if counts[origin])


def version(source: Source) -> str:
    """Return the reference of a source with its version, and the version that was not checked."""
    unseen = f"; not checked: {source.not_checked}" if source.not_checked else ""
    return f"{source.reference}: {source.version}{unseen}"


def noun(count: int, word: str) -> str:
    """Return a number and its noun."""
    return f"{count:,} {word if count == 1 else word + 's'}"


def _issue(number: int, issue: Issue, *, findings: bool) -> Iterator[str]:
    yield _paragraph(f"{number}. {registry.get(issue.benchmark).title}: {issue.issue}", hang=4)
    if issue.cause:
        yield _paragraph(f"Cause: {issue.cause}", 4)
    yield _paragraph(f"Where: {places(issue.findings)}", 4)
    for finding in issue.findings if findings else ():
        yield _paragraph(f"{finding.table}, {place(finding)}: {finding.printed}", 4)
        yield _paragraph(finding.sentence, 6)
        yield _paragraph(finding.arithmetic, 6)


def _paragraph(text: str, indent: int = 0, *, hang: int = 2) -> str:
    further = " " * (indent + hang)
    return fill(text, _WIDTH, initial_indent=" " * indent, subsequent_indent=further, break_on_hyphens=False)
