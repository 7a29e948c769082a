"""The report's section on MM-SAP: the papers' tables, and figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from known_unknowns.comparison import ComparisonRow, load
from known_unknowns.report.page import ExtraContent
from known_unknowns.report.paper_tables import paper_table
from known_unknowns.report.tables import Run
from known_unknowns_benchmarks.layouts import read_layouts
from known_unknowns_benchmarks.mmsap import figures
from known_unknowns_benchmarks.mmsap.audit import spread_as_published


def build(run: Run, compared: Sequence[ComparisonRow], *, results: Path, data: Path) -> ExtraContent:
    """Build the content of section.html.j2."""
    cells, layouts = load(run.benchmark), read_layouts(Path(__file__).parent, spread=spread_as_published)
    return ExtraContent(
        figures=[figures.risk_coverage(run, results=results, data=data)],
        links={"papers": "The papers' tables", "awareness": "Self-awareness"},
        values={"tables": [paper_table(name, layout, run, cells, compared) for name, layout in layouts.items()]},
    )
