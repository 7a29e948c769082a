"""What the report shows of an audit: the issues and findings of one benchmark, on the page audit.html."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from known_unknowns.benchmark.published import CHANGES, AuditFinding, Published
from known_unknowns.report.formatting import DASH, Cell, Table, banded, make_row, make_table
from known_unknowns_audit.issues import Issue, grouped, place, places
from known_unknowns_audit.output import version

_TEMPLATE = Path(__file__).parent / "templates" / "section.html.j2"


def section(numbers: Published, findings: Sequence[AuditFinding], title: str, environment: Environment) -> Markup:
    """Return the section of a benchmark as HTML; empty without findings.

    ``environment`` has the macros and filters of the report.
    """
    found = grouped(numbers, findings)
    if not found:
        return Markup()
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    versions = [version(source) for source in numbers.sources]
    tables = {"issues": issue_table(found, title), "findings": finding_table(found, title)}
    return Markup(template.render(count=len(found), versions=versions, **tables))  # noqa: S704 - the template escapes


def issue_table(found: Sequence[Issue], title: str) -> Table:
    """Return the issues, the most important first."""
    rows = []
    for number, issue in enumerate(found, 1):
        cells = (Cell(text, kind="text") for text in (issue.issue, issue.cause or DASH, places(issue.findings)))
        rows.append((CHANGES[issue.changes], make_row(f"{number}", cells)))
    caption = f"{title}: issues in the published numbers"
    return make_table(caption, "Number", ("issue", "cause", "where"), banded(rows))


def finding_table(found: Sequence[Issue], title: str) -> Table:
    """Return the findings by issue, each with its arithmetic."""
    rows = []
    for number, issue in enumerate(found, 1):
        for finding in issue.findings:
            head = f"{finding.table}, {place(finding)}"
            rows.append(
                (f"{number}. {issue.issue}", make_row(head, (finding.printed, finding.sentence, finding.arithmetic)))
            )
    caption = f"{title}: findings on the published numbers"
    return make_table(caption, "Cell", ("printed", "finding", "arithmetic"), banded(rows))
