"""The report's section on MM-SAP: the papers' tables, and figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from known_unknowns.comparison import ComparisonRow, load
from known_unknowns.report.page import ExtraContent
from known_unknowns.report.paper_tables import Conditions, Layout, paper_table
from known_unknowns.report.tables import Run
from known_unknowns_benchmarks.mmsap import figures
from known_unknowns_benchmarks.mmsap.audit import spread_as_published

TITLES = {
    "Table 1": "Table 1, the three scores",
    "Table 2": "Table 2, answer rate and answer accuracy",
    "Table 3": "Table 3, with and without the refusal prompt",
    "Table 4": "Table 4, refusals in KnowVisQA",
    "Table 7": "Table 7, direct matching and perplexity",
    "Table 1, first preprint": "Table 1 of the first preprint, score_AR",
    "Table 2, first preprint": "Table 2 of the first preprint, answer rate and answer accuracy",
}
_SUBSETS = ("BasicVisQA", "KnowVisQA", "BeyondVisQA", "Total")

_CONDITIONS: dict[Conditions, str] = {
    ("shuffled_refusal_prompt", None): "refusal prompt",
    ("shuffled_options", "likelihood"): "perplexity",
}


def build(run: Run, compared: Sequence[ComparisonRow], *, results: Path, data: Path) -> ExtraContent:
    """Build the content of section.html.j2."""
    cells = load(run.benchmark)
    return ExtraContent(
        figures=[figures.risk_coverage(run, results=results, data=data)],
        links={"papers": "The papers' tables", "awareness": "Self-awareness"},
        values={
            "tables": [paper_table(name, layout(name), run, cells, compared) for name in TITLES],
        },
    )


def layout(name: str) -> Layout:
    """Return the layout of a published table."""
    return Layout(
        TITLES[name],
        split_heading=_parts,
        conditions=_CONDITIONS,
        collapsed="first" in name,
        spread=spread_as_published,
    )


def _parts(column: str) -> tuple[str, str]:
    group, _, rest = column.partition(" ")
    return (group, rest) if group in _SUBSETS and rest else ("", column)
