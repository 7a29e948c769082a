"""The report's section on MM-UPD: the three accuracies of each setting, and the paper's tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from known_unknowns.comparison import ComparisonRow, load
from known_unknowns.report.page import ExtraContent
from known_unknowns.report.paper_tables import Layout, paper_table
from known_unknowns.report.tables import Run

LAYOUTS = {
    "Table 1": Layout(
        "Table 1, dual accuracy in three settings",
        split_heading=lambda column: tuple(column.split(" ", 1)),
        bands={"LLaVA1.5-13b": "Open models", "GeminiPro": "Closed models"},
    ),
    "Table 3": Layout(
        "Table 3, base setting: dual, standard and UPD accuracy",
        split_heading=lambda column: tuple(column.split(" ", 1)),
    ),
}


def build(run: Run, compared: Sequence[ComparisonRow], *, results: Path, data: Path) -> ExtraContent:
    """Build the content of section.html.j2."""
    cells = load(run.benchmark)
    return ExtraContent(
        links={"papers": "The paper's tables"},
        values={"tables": [paper_table(name, layout, run, cells, compared) for name, layout in LAYOUTS.items()]},
    )
