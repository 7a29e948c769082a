"""The report's tables of published numbers beside ours. `known_unknowns.comparison.verdicts` gives the verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import PERCENT
from known_unknowns.comparison import DEFINITIONS, UNJUDGED, VERDICT, VERDICTS, ComparisonRow
from known_unknowns.comparison.compare import OFFICIAL
from known_unknowns.comparison.summary import leading_rows, summarise
from known_unknowns.records import Definition
from known_unknowns.report.formatting import DASH, Cell, Head, Table, make_row, make_table, percent
from known_unknowns.report.shell import benchmark_file
from known_unknowns.report.tables import parser_name

if TYPE_CHECKING:
    from known_unknowns.config import Params

STYLES: Mapping[str, str] = {
    "identical": "good",
    "reproduced": "good",
    "compatible": "near",
    "differs": "bad",
    "parser": "bad",
    "inconclusive": "open",
    "not comparable": "open",
    "not run": "open",
}
"""The class in style.css of each verdict's badge. The text of the verdict is always shown, not only its colour."""

_BENCHMARK = Head(
    "Benchmark",
    definition=Definition("A set of published questions with their prompt, parser and metrics.", "docs/concepts.md"),
)


@dataclass(frozen=True, slots=True)
class VerdictGroup:
    """The numbers with one verdict under the official parser: a table if they are judged, else ``reasons``.

    ``reasons`` are the numbers of an unjudged verdict by the reason, most frequent first.
    """

    verdict: str
    style: str
    definition: str
    count: int
    reasons: Mapping[str, int]
    table: Table | None

    @property
    def is_judged(self) -> bool:
        return self.verdict not in UNJUDGED

    @property
    def anchor(self) -> str:
        return _anchor(self.verdict)


def _anchor(verdict: str) -> str:
    return f"verdict-{verdict.replace(' ', '-')}"


def link_to_verdict(benchmark: str, verdict: str) -> str:
    """Return the address of the published numbers of a benchmark with a verdict."""
    return f"{benchmark_file(benchmark)}#{benchmark}-{_anchor(verdict)}"


def comparison(rows: Sequence[ComparisonRow], parsers: Sequence[str]) -> list[VerdictGroup]:
    """Return published cells and ours, grouped by the verdict under the official parser (or the first parser)."""
    lines = [list(line) for _, line in groupby(rows, key=lambda r: (r.table, r.row, r.column, r.model))]
    by_verdict: dict[str, list[tuple[ComparisonRow, list[ComparisonRow]]]] = {}
    for first, line in zip(leading_rows(rows), lines, strict=True):
        by_verdict.setdefault(first.verdict, []).append((first, line))
    groups = []
    for verdict in VERDICTS:
        if members := by_verdict.get(verdict):
            is_judged = verdict not in UNJUDGED
            reasons = {} if is_judged else dict(Counter(first.reason for first, _ in members).most_common())
            table = _verdict_table(verdict, members, parsers) if is_judged else None
            groups.append(VerdictGroup(verdict, STYLES[verdict], DEFINITIONS[verdict], len(members), reasons, table))
    return groups


def summary(rows: Sequence[ComparisonRow], params: Params) -> dict[str, Any]:
    """Return the page's summary: numbers, judged numbers, a table of the verdicts by benchmark, and the next steps."""
    verdicts = {name: Counter(row.verdict for row in leading_rows(rows) if row.benchmark == name)
                for name in params.benchmarks}  # fmt: skip
    shown = [verdict for verdict in VERDICTS if any(verdict in found for found in verdicts.values())]
    body = []
    for name, counts in verdicts.items():
        if counts:
            cells = [_count(counts[verdict], link_to_verdict(name, verdict)) for verdict in shown]
            body.append(make_row(registry.get(name).title, cells))
    columns = [Head(verdict, definition=Definition(f"{DEFINITIONS[verdict]}.", VERDICT.section)) for verdict in shown]
    table = make_table("Published numbers by verdict", _BENCHMARK, columns, body)
    legend = [(verdict, STYLES[verdict], text) for verdict, text in DEFINITIONS.items()]
    return {"summary": summarise(rows, params), "table": table, "legend": legend}


def _count(number: int, link: str) -> Cell:
    """Return the cell of a number of published numbers, with the address of those that it counts."""
    return Cell(f"{number:,}", link=link if number else "")


def _verdict_table(
    verdict: str, lines: Sequence[tuple[ComparisonRow, Sequence[ComparisonRow]]], parsers: Sequence[str]
) -> Table:
    has_notes = any(first.note for first, _ in lines)
    columns: list[str | Head] = [
        "reason",
        "published",
        *map(parser_name, parsers),
        Head("ours minus published", note=parser_name(OFFICIAL)),
        *("margin", "other rows matched", "our metric, variant, type"),
        *(["note"] if has_notes else []),
    ]
    body = []
    for first, line in lines:
        by_parser = {row.parser: row for row in line}
        model = first.row if first.model is None else f"{first.row} (our {first.model})"
        cells: list[Cell | str] = [
            first.reason,
            Cell(_printed(first), title=first.source),
            *(_ours(by_parser.get(parser)) for parser in parsers),
            *_difference(first),
            Cell(f"{first.metric}, {first.variant}, {first.category}", kind="plain"),
            *([first.note] if has_notes else []),
        ]
        body.append(make_row((first.table, model, first.column), cells))
    return make_table(f"Published numbers: {verdict}", ("Source", "Model", "Column"), columns, body)


def _difference(row: ComparisonRow) -> list[Cell]:
    """Return the difference, the margin and the discrimination of a number with a verdict."""
    if row.value is None or row.margin is None:
        return [Cell(DASH)] * 3
    parts = {"rounding": row.margin_rounding, "flips": row.margin_flips, "spread over runs": row.margin_spread}
    title = ", ".join(f"{name} {value:.3g}" for name, value in parts.items() if value)
    return [
        Cell(percent((row.value - row.published) / 100, signed=True), kind="plain"),
        Cell(f"± {row.margin:.2f}", kind="plain", title=f"{title}; flips of {row.flips_source}"),
        Cell(discrimination(row), kind="plain"),
    ]


def discrimination(row: ComparisonRow) -> str:
    """Return how many other rows of the column the same result would have matched; empty without a judgement."""
    return "" if row.rivals is None else f"{row.matches} of {row.rivals}"


def _printed(row: ComparisonRow) -> str:
    """Format a published number as printed, with its unit if it is not percent."""
    spread = "" if row.published_spread is None else f" ± {row.published_spread:.{row.decimals}f}"
    return f"{row.published:.{row.decimals}f}{spread}{'' if row.unit == PERCENT else f' {row.unit}'}"


def _ours(row: ComparisonRow | None) -> Cell:
    if row is None or row.value is None:
        return Cell(DASH, title="" if row is None else row.reason)
    bounds = "" if row.low is None or row.high is None else f"[{row.low:.1f}, {row.high:.1f}]"
    return Cell(f"{row.value:.1f}", bounds, row.n, title=row.reason, kind="number stacked")
