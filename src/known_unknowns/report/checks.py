"""Expected and observed numbers of the data, from `known-unknowns check --json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from known_unknowns import json_files
from known_unknowns.data.check import SEVERITIES
from known_unknowns.errors import DataError
from known_unknowns.report.formatting import DASH, Cell, Head, Row, Table
from known_unknowns.report.replies import printable
from known_unknowns.report.section import section

SHOWN = 5
"""The number of findings of one code in the page. The command's table has as many, its JSON has all."""
_AGREES = {True: "yes", False: "no"}


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """The findings of one severity and ``code``. ``texts`` are the first of them: the place and the sentence."""

    code: str
    count: int
    texts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class SeverityGroup:
    """The findings of one severity."""

    name: str
    count: int
    groups: tuple[FindingGroup, ...]


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """The check of one benchmark: expected and observed numbers, and findings by severity, errors first."""

    title: str
    numbers: Table
    severities: tuple[SeverityGroup, ...]


def read(folder: Path | None, benchmarks: Sequence[str]) -> list[CheckSummary]:
    """Read the checks <benchmark>.json in ``folder``. Benchmarks without a check are left out.

    Raises DataError for a file that is not a check.
    """
    if folder is None:
        return []
    paths = {benchmark: folder / f"{benchmark}.json" for benchmark in benchmarks}
    return [_read(path, benchmark) for benchmark, path in paths.items() if path.is_file()]


def counted(folder: Path | None, benchmark: str) -> dict[str, float]:
    """Return the quantities that the check of a benchmark counts, by name; empty without a check.

    Raises DataError for a file that is not a check.
    """
    path = None if folder is None else folder / f"{benchmark}.json"
    if path is None or not path.is_file():
        return {}
    with _is_check(path):
        return {number["name"].strip(): number["observed"] for number in json_files.read(path)["quantities"]}


def _read(path: Path, benchmark: str) -> CheckSummary:
    with _is_check(path):
        raw = json_files.read(path)
        if raw["benchmark"] != benchmark:
            raise ValueError(f"it is a check of {raw['benchmark']!r}")
        title = section(benchmark).title
        return CheckSummary(title, _numbers_table(title, raw["quantities"]), tuple(_severities(raw["findings"])))


@contextmanager
def _is_check(path: Path) -> Iterator[None]:
    """Raise errors of a file that is not a check as a DataError that names it."""
    try:
        yield
    except (ValueError, KeyError, TypeError, OSError) as error:
        reason = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
        raise DataError(f"not the JSON of a check ({reason}); delete it and run again", file=path) from error


def _numbers_table(title: str, numbers: Sequence[Mapping[str, Any]]) -> Table:
    if all(number["expected"] is None for number in numbers):
        observed = tuple(Row((Head(number["name"]),), _cells(number)[:1]) for number in numbers)
        return Table(f"{title}: observed numbers", ("Number",), (Head("observed"),), observed)
    rows = tuple(Row((Head(number["name"]),), _cells(number)) for number in numbers)
    columns = (Head("observed"), Head("expected"), Head("agrees"), Head("source"))
    return Table(f"{title}: expected and observed numbers", ("Number",), columns, rows)


def _cells(number: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Return the observed and the expected number, whether they agree, and the source."""
    found, agrees = Cell(_number(number["observed"])), number["agrees"]
    if number["expected"] is None:
        return found, *(Cell(DASH, kind="plain") for _ in range(3))
    verdict = Cell(_AGREES[agrees], kind="plain" if agrees else "number")
    return found, Cell(_number(number["expected"]), kind="plain"), verdict, Cell(number["source"], kind="text")


def _number(value: float) -> str:
    return f"{value:,.10g}"


def _severities(findings: Sequence[Mapping[str, str]]) -> list[SeverityGroup]:
    """Group findings by severity, errors first, and by code in the order of the file."""
    by_severity: dict[str, dict[str, list[tuple[str, str]]]] = {name: {} for name in reversed(SEVERITIES)}
    for finding in findings:
        place_and_text = printable(finding["where"]), printable(finding["text"])
        by_severity[finding["severity"]].setdefault(finding["code"], []).append(place_and_text)
    return [
        SeverityGroup(
            name,
            sum(map(len, codes.values())),
            tuple(FindingGroup(code, len(texts), tuple(texts[:SHOWN])) for code, texts in codes.items()),
        )
        for name, codes in by_severity.items()
        if codes
    ]
