"""What the papers promise against what the files hold, as `known-unknowns check --json` found it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from known_unknowns.data.check import SEVERITIES
from known_unknowns.errors import DataError
from known_unknowns.report.formatting import DASH, Cell, Head, Row, Table
from known_unknowns.report.samples import printable
from known_unknowns.report.section import section

SHOWN = 5
"""So many findings of one code are shown; the command's own table has as many, its JSON all."""
_KEPT = {True: "kept", False: "not kept"}


@dataclass(frozen=True, slots=True)
class Kind:
    """The ``count`` findings of one severity and ``code``: ``texts`` are the first, each after where it was found."""

    code: str
    count: int
    texts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Severity:
    name: str
    count: int
    kinds: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """One benchmark's check: the numbers ``held`` beside those promised, and what was found, the worst first."""

    title: str
    held: Table
    severities: tuple[Severity, ...]


def read(folder: Path | None, benchmarks: Sequence[str]) -> list[Checked]:
    """The checks that lie in ``folder`` as <benchmark>.json; a benchmark without one is left out.

    Raises DataError for a file that is no such check.
    """
    if folder is None:
        return []
    paths = {benchmark: folder / f"{benchmark}.json" for benchmark in benchmarks}
    return [_read(path, benchmark) for benchmark, path in paths.items() if path.is_file()]


def _read(path: Path, benchmark: str) -> Checked:
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw["benchmark"] != benchmark:
            raise ValueError(f"it is a check of {raw['benchmark']!r}")
        title = section(benchmark).title
        return Checked(title, _held(title, raw["held"]), tuple(_severities(raw["findings"])))
    except (ValueError, KeyError, TypeError, OSError) as error:
        reason = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
        raise DataError(f"not the JSON of a check ({reason}); delete it and run again", file=path) from error


def _held(title: str, numbers: Sequence[Mapping[str, Any]]) -> Table:
    rows = tuple(Row((Head(number["what"]),), _cells(number)) for number in numbers)
    columns = (Head("found"), Head("promised"), Head("promise"), Head("by"))
    return Table(f"{title}: what was promised, and what the files hold", ("What",), columns, rows)


def _cells(number: Mapping[str, Any]) -> tuple[Cell, ...]:
    """What was found, what was promised, whether that was kept, and who promised it."""
    found, kept = Cell(_number(number["found"])), number["kept"]
    if number["promised"] is None:
        return found, *(Cell(DASH, kind="plain") for _ in range(3))
    verdict = Cell(_KEPT[kept], kind="plain" if kept else "number")
    return found, Cell(_number(number["promised"]), kind="plain"), verdict, Cell(number["source"], kind="text")


def _number(value: float) -> str:
    return f"{value:,.10g}"


def _severities(findings: Sequence[Mapping[str, str]]) -> list[Severity]:
    """The worst first, and within them the codes as they come."""
    by_severity: dict[str, dict[str, list[tuple[str, str]]]] = {name: {} for name in reversed(SEVERITIES)}
    for finding in findings:
        said = printable(finding["where"]), printable(finding["text"])
        by_severity[finding["severity"]].setdefault(finding["code"], []).append(said)
    return [
        Severity(
            name,
            sum(map(len, codes.values())),
            tuple(Kind(code, len(texts), tuple(texts[:SHOWN])) for code, texts in codes.items()),
        )
        for name, codes in by_severity.items()
        if codes
    ]
