"""The report's section on MM-UPD: the three accuracies of each setting, and the paper's tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from known_unknowns.comparison import ComparisonRow, load
from known_unknowns.report.page import ExtraContent
from known_unknowns.report.paper_tables import paper_table
from known_unknowns.report.tables import Run
from known_unknowns_benchmarks.layouts import read_layouts


def build(run: Run, compared: Sequence[ComparisonRow], *, results: Path, data: Path) -> ExtraContent:
    """Build the content of section.html.j2."""
    cells, layouts = load(run.benchmark), read_layouts(Path(__file__).parent)
    return ExtraContent(
        links={"papers": "The paper's tables"},
        values={"tables": [paper_table(name, layout, run, cells, compared) for name, layout in layouts.items()]},
    )
