"""The data checks of the page audit.html, from `known-unknowns check --json` and the published numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from known_unknowns import json_files
from known_unknowns.benchmark.checks import SEVERITIES
from known_unknowns.benchmark.published import DATA, PERCENT
from known_unknowns.comparison.published import published
from known_unknowns.errors import DataError
from known_unknowns.report.formatting import DASH, Cell, Table, banded, make_row, make_table, printable

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
    return make_table(caption, "Number", ("published", "counted by the check"), banded(rows)) if rows else None
