"""Write the table of issues in bench/audit/README.md. ``make audit-table`` calls it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import CHANGES, Published
from known_unknowns.comparison.published import published
from known_unknowns_audit.audit import findings_on
from known_unknowns_audit.issues import Issue, by_importance, grouped, places
from known_unknowns_audit.output import counted, noun, version

FILE = Path(__file__).parents[1] / "bench" / "audit" / "README.md"
START, END = "<!-- audit-table: written by make audit-table -->", "<!-- end of audit-table -->"


def updated(text: str) -> str:
    """Return the text of bench/audit/README.md with the issues of all benchmarks."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    numbers = {name: published(name) for name in registry.names()}
    issues = [issue for read in numbers.values() for issue in grouped(read, findings_on(read))]
    return f"{before}{START}\n\n{as_markdown(by_importance(issues), numbers)}\n\n{END}{after}"


def as_markdown(issues: list[Issue], numbers: Mapping[str, Published]) -> str:
    """Return the number of issues, the papers' versions, and a table of the issues for each kind of change."""
    audited = {name: read for name, read in numbers.items() if read.cells}
    findings = sum(len(issue.findings) for issue in issues)
    total = sum(len(read.cells) for read in audited.values())
    lines = [
        f"**{noun(len(issues), 'issue')}** ({noun(findings, 'finding')}) in {total:,} numbers: "
        f"{counted(audited.values())}.",
        "",
    ]
    for name, read in audited.items():
        lines += [f"- {registry.get(name).title}: {version(source)}" for source in read.sources]
    number = 0
    for changes, heading in CHANGES.items():
        of_kind = [issue for issue in issues if issue.changes == changes]
        lines += ["", f"## {heading[0].upper()}{heading[1:]}: {noun(len(of_kind), 'issue')}", ""]
        lines += ["| | benchmark | issue | where (findings) |", "|---|---|---|---|"]
        for issue in of_kind:
            number += 1
            cause = f" *{issue.cause}*" if issue.cause else ""
            title = registry.get(issue.benchmark).title
            lines.append(f"| {number} | {title} | {issue.issue}{cause} | {places(issue.findings)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    FILE.write_text(updated(FILE.read_text(encoding="utf-8")), encoding="utf-8")
