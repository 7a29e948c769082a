"""The report's section on HumbleBench: the paper's tables and figures as tables, beside this run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from known_unknowns.comparison import ComparisonRow, load
from known_unknowns.report.page import ExtraContent
from known_unknowns.report.paper_tables import Layout, paper_table
from known_unknowns.report.tables import Run
from known_unknowns_benchmarks.humblebench.released_report import released_cells, released_part

LAYOUTS = {
    "Table 3": Layout(
        "Table 3, accuracy on HumbleBench",
        bands={"Cambrian": "General-purpose models", "Mulberry": "Specialized reasoning models"},
    ),
    "Figure 4": Layout("Figure 4, accuracy on HumbleBench-E", collapsed=True),
    "Figure 5": Layout("Figure 5, accuracy on HumbleBench-GN", collapsed=True),
    "HumbleBench-E logs": Layout("Logs of HumbleBench-E, share of E", collapsed=True),
    "HumbleBench logs": Layout("Logs of HumbleBench, exactly E among the questions labelled E", collapsed=True),
    "HumbleBench-GN logs": Layout("Logs of HumbleBench-GN, accuracy against the published labels", collapsed=True),
}


def build(run: Run, compared: Sequence[ComparisonRow], *, results: Path, data: Path) -> ExtraContent:
    """Build the content of papers.html.j2."""
    released = released_part(run, results)
    of_logs = released_cells(run, results) if released is not None else []
    cells = [*load(run.benchmark), *of_logs]
    layouts = LAYOUTS | {cell.table: Layout(cell.table, collapsed=True) for cell in of_logs}
    tables = [paper_table(name, layout, run, cells, compared) for name, layout in layouts.items()]
    links = {"papers": "The paper's tables"}
    if released is not None:
        links["released"] = "Released predictions"
    return ExtraContent(links=links, values={"tables": tables, "released": released})
