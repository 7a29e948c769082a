"""The page of the audit and of the data checks, from `known-unknowns check --json` and the published numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from known_unknowns import json_files
from known_unknowns.benchmark.published import CHANGES, DATA, PERCENT
from known_unknowns.comparison.audit import audit, published
from known_unknowns.comparison.audit.issues import Issue, grouped, place, places
from known_unknowns.comparison.audit.output import version
from known_unknowns.data.check import SEVERITIES
from known_unknowns.errors import DataError
from known_unknowns.report.formatting import DASH, Cell, Row, Table, make_row, make_table, printable

SHOWN = 5
"""The number of findings of one code in the page. The command's table has as many, its JSON has all."""


def read(folder: Path | None, benchmark: str, title: str) -> dict[str, Any] | None:
    """Read the check ``<benchmark>.json``; None without it. Raises DataError for a file that is not a check.

    Returns
    -------
    dict
        ``counted`` has the observed quantities by name, ``numbers`` is their table, and ``severities`` are the findings
        by severity, errors first, and by code in the order of the file.
    """
    path = None if folder is None else folder / f"{benchmark}.json"
    if path is None or not path.is_file():
        return None
    try:
        raw = json_files.read(path)
        if raw["benchmark"] != benchmark:
            raise ValueError(f"it is a check of {raw['benchmark']!r}")
        return {
            "counted": {number["name"].strip(): number["observed"] for number in raw["quantities"]},
            "numbers": _numbers(title, raw["quantities"]),
            "severities": _severities(raw["findings"]),
        }
    except (ValueError, KeyError, TypeError, OSError) as error:
        reason = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
        raise DataError(f"not the JSON of a check ({reason}); delete it and run again", file=path) from error


def _numbers(title: str, numbers: Sequence[Mapping[str, Any]]) -> Table:
    columns, kind = ["observed", "expected", "agrees", "source"], "expected and observed"
    if all(number["expected"] is None for number in numbers):
        columns, kind = columns[:1], "observed"
    rows = (make_row(number["name"], _cells(number)[: len(columns)]) for number in numbers)
    return make_table(f"{title}: {kind} numbers", "Number", columns, rows)


def _cells(number: Mapping[str, Any]) -> list[Cell]:
    observed = Cell(f"{number['observed']:,.10g}")
    if number["expected"] is None:
        return [observed, *[Cell(DASH, kind="plain")] * 3]
    agrees = Cell("yes", kind="plain") if number["agrees"] else Cell("no")
    return [observed, Cell(f"{number['expected']:,.10g}", kind="plain"), agrees, Cell(number["source"], kind="text")]


def _severities(findings: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, list[tuple[str, str]]]] = {name: {} for name in reversed(SEVERITIES)}
    for finding in findings:
        text = printable(finding["where"]), printable(finding["text"])
        found[finding["severity"]].setdefault(finding["code"], []).append(text)
    return [
        {
            "name": name,
            "count": sum(map(len, codes.values())),
            "groups": [{"code": code, "count": len(all_), "texts": all_[:SHOWN]} for code, all_ in codes.items()],
        }
        for name, codes in found.items()
        if codes
    ]


def issues(found: Sequence[Issue], title: str) -> Table | None:
    """Return the issues of the audit, the most important first; None without issues."""
    rows = []
    for number, issue in enumerate(found, 1):
        cells = (Cell(text, kind="text") for text in (issue.issue, issue.cause or DASH, places(issue.findings)))
        rows.append((CHANGES[issue.changes], make_row(f"{number}", cells)))
    caption = f"{title}: issues in the published numbers"
    return make_table(caption, "Number", ("issue", "cause", "where"), _banded(rows)) if rows else None


def findings(found: Sequence[Issue], title: str) -> Table | None:
    """Return the findings of the audit by issue, each with its arithmetic; None without findings."""
    rows = []
    for number, issue in enumerate(found, 1):
        for finding in issue.findings:
            head = f"{finding.table}, {place(finding)}"
            rows.append(
                (f"{number}. {issue.issue}", make_row(head, (finding.printed, finding.sentence, finding.arithmetic)))
            )
    caption = f"{title}: findings on the published numbers"
    return make_table(caption, "Cell", ("printed", "finding", "arithmetic"), _banded(rows)) if rows else None


def data_numbers(benchmark: str, title: str, counted: Mapping[str, float]) -> Table | None:
    """Return the published numbers about the data, beside those that the check counted; None without such numbers."""
    rows = []
    for cell in published(benchmark).cells:
        if cell.kind == DATA:
            shown = f"{cell.printed}%" if cell.unit == PERCENT else cell.printed
            ours = counted.get(cell.metric)
            cells = Cell(shown, kind="plain"), Cell(DASH if ours is None else f"{ours:,.10g}")
            rows.append((cell.table, make_row(f"{cell.row}, {cell.column}", cells)))
    caption = f"{title}: published numbers about the data"
    return make_table(caption, "Number", ("published", "counted by the check"), _banded(rows)) if rows else None


def _banded(rows: Iterable[tuple[str, Row]]) -> list[Row]:
    """Return rows under a heading for each adjacent group."""
    groups = groupby(rows, key=lambda pair: pair[0])
    return [row for name, members in groups for row in (make_row(name, ()), *(row for _, row in members))]


def audit_tables(benchmark: str, title: str, counted: Mapping[str, float]) -> dict[str, Any]:
    """Return the tables of the audit of a benchmark, and the versions of the papers that it is about.

    ``counted`` is empty without a check of the published data.
    """
    numbers = published(benchmark)
    found = grouped(numbers, audit(benchmark))
    return {
        "count": len(found),
        "issues": issues(found, title),
        "findings": findings(found, title),
        "data": data_numbers(benchmark, title, counted),
        "versions": [version(source) for source in numbers.sources],
    }
