"""The section of one benchmark, with the names of its figures, and their captions.

This module imports no plotting or numeric library, so that the workflow can read the list of figures.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.section import Section

_CAPTIONS = Path(__file__).parent / "captions"


def section(benchmark: str) -> Section:
    """Return the section of a benchmark, with the names of both generic figures. ConfigError for an unknown one."""
    declared = registry.get(benchmark).section()
    return replace(
        declared,
        answers_figure=declared.answers_figure or f"{benchmark}_answers",
        overview_figure=declared.overview_figure or f"{benchmark}_overview",
    )


def caption(benchmark: str, figure: str) -> Path:
    """Return the file of a figure's caption: the benchmark's own, or a generic one."""
    own = registry.get(benchmark).folder / "captions" / f"{figure}.rst"
    if own.is_file():
        return own
    shown = section(benchmark)
    generic = {shown.answers_figure: "answers", shown.overview_figure: "overview"}.get(figure, "figure")
    return _CAPTIONS / f"{generic}.rst"
