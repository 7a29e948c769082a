"""The issues of an audit: findings that have the same cause.

published.yaml declares them, because the cause of a finding is a judgement of the person who reads the paper. A finding
that no issue names is an issue of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from known_unknowns.benchmark.published import ALL, CHANGES, NUMBER, AuditFinding, DeclaredIssue, Published

ANY = "any"
_ORDER = [*CHANGES]


@dataclass(frozen=True, slots=True)
class Issue:
    """Findings with the same cause.

    ``issue`` and ``cause`` are sentences; ``cause`` is empty if it is not known. ``changes`` is one of `CHANGES`.
    """

    benchmark: str
    issue: str
    changes: str
    cause: str
    findings: tuple[AuditFinding, ...]


def grouped(numbers: Published, findings: Iterable[AuditFinding]) -> list[Issue]:
    """Return the findings by issue, the most important issues first, then in the order of published.yaml.

    A finding belongs to the first declared issue that names its place.
    """
    of_issue: dict[DeclaredIssue, list[AuditFinding]] = {issue: [] for issue in numbers.issues}
    for finding in findings:
        declared = next((issue for issue in numbers.issues if _names(issue, finding)), None)
        if declared is None:
            declared = DeclaredIssue(f"{finding.table}, {place(finding)}: {finding.finding}", NUMBER, ())
        of_issue.setdefault(declared, []).append(finding)
    issues = [
        Issue(numbers.benchmark, declared.issue, declared.changes, declared.cause, tuple(found))
        for declared, found in of_issue.items()
        if found
    ]
    return by_importance(issues)


def by_importance(issues: Iterable[Issue]) -> list[Issue]:
    """Return issues, those that change a conclusion first. Equal ones keep their order."""
    return sorted(issues, key=lambda issue: _ORDER.index(issue.changes))


def _names(issue: DeclaredIssue, finding: AuditFinding) -> bool:
    place = (finding.table, finding.row, finding.column)
    return any(
        all(named in (ANY, actual) for named, actual in zip(names, place, strict=True)) for names in issue.findings
    )


def place(finding: AuditFinding) -> str:
    """Return the row and the column of a finding."""
    row = "all rows" if finding.row == ALL else finding.row
    return f"{row}, {'all columns' if finding.column == ALL else finding.column}"


def places(findings: Sequence[AuditFinding]) -> str:
    """Return the tables of findings, each with its number of findings if there are several."""
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.table] = counts.get(finding.table, 0) + 1
    return ", ".join(table if count == 1 else f"{table} ({count})" for table, count in counts.items())
