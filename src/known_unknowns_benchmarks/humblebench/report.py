"""The report's section on HumbleBench: the paper's tables and figures as tables, beside this run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from known_unknowns.comparison import ComparisonRow, load
from known_unknowns.report.page import ExtraContent
from known_unknowns.report.paper_tables import Layout, paper_table
from known_unknowns.report.tables import Run
from known_unknowns_benchmarks.humblebench.released_report import released_cells, released_part
from known_unknowns_benchmarks.layouts import read_layouts


def build(run: Run, compared: Sequence[ComparisonRow], *, results: Path, data: Path) -> ExtraContent:
    """Build the content of papers.html.j2."""
    released = released_part(run, results)
    of_logs = released_cells(run, results) if released is not None else []
    cells = [*load(run.benchmark), *of_logs]
    layouts = read_layouts(Path(__file__).parent) | {cell.table: Layout(cell.table, collapsed=True) for cell in of_logs}
    tables = [paper_table(name, layout, run, cells, compared) for name, layout in layouts.items()]
    links = {"papers": "The paper's tables"}
    if released is not None:
        links["released"] = "Released replies"
    return ExtraContent(links=links, values={"tables": tables, "released": released})
