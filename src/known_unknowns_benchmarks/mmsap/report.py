"""The report's section on MM-SAP: the papers' tables, and figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from known_unknowns.comparison import ComparisonRow, load
from known_unknowns.report.page import ExtraContent
from known_unknowns.report.paper_tables import paper_table
from known_unknowns.report.tables import Run
from known_unknowns_benchmarks.layouts import read_layouts
from known_unknowns_benchmarks.mmsap import figures


def build(run: Run, compared: Sequence[ComparisonRow], *, results: Path, data: Path) -> ExtraContent:
    """Build the content of section.html.j2."""
    cells, layouts = load(run.benchmark), read_layouts(Path(__file__).parent, spread=spread_as_published)
    return ExtraContent(
        figures=[figures.risk_coverage(run, results=results, data=data)],
        links={"papers": "The papers' tables", "awareness": "Self-awareness"},
        values={"tables": [paper_table(name, layout, run, cells, compared) for name, layout in layouts.items()]},
    )


def spread_as_published(spread: float, runs: int) -> float:
    """Convert our standard deviation over runs (ddof = 1) to that of the first preprint (ddof = 0).

    Returns
    -------
    float
        Standard deviation with ddof = 0.

    Notes
    -----
    The text of the preprint says "mean and variance". GRIMMER (`known_unknowns_audit.grim`) decides: for each of its 56
    answer rates and scores, some counts have a standard deviation with ddof = 0 that rounds to the printed one.

    References
    ----------
    arXiv:2401.07529v1, Tables 1 and 2.
    """
    return spread * math.sqrt((runs - 1) / runs)
