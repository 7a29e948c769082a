"""The report's section on MM-SAP: the papers' tables, consistency across shuffles, and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from known_unknowns.benchmarks.mmsap import figures
from known_unknowns.benchmarks.mmsap.audit import spread_as_published
from known_unknowns.comparison import ComparisonRow, load
from known_unknowns.report.formatting import Head, Row, Table, metric_cell, move_n_to_heading
from known_unknowns.report.page import ExtraContent
from known_unknowns.report.paper_tables import Conditions, Layout, paper_table, table_scorer
from known_unknowns.report.tables import Run, confidence

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
_CONSISTENCY = {
    "same_answer": "same answer every time",
    "content_agreement": "pairs of runs that agree",
    "content_kept": "kept the content",
    "position_kept": "kept the position",
    "position_alone": "explained by position alone",
}

_CONDITIONS: dict[Conditions, str] = {
    ("shuffled_refusal_prompt", None): "refusal prompt",
    ("shuffled_options", "likelihood"): "perplexity",
}


def build(run: Run, compared: Sequence[ComparisonRow], *, results: Path, data: Path) -> ExtraContent:
    """Build the content of section.html.j2."""
    cells = load(run.benchmark)
    drawn = [
        figures.scores(run, cells),
        figures.subtasks(run),
        figures.quadrant(run),
        figures.risk_coverage(run, results=results, data=data),
    ]
    return ExtraContent(
        figures=drawn,
        links={"papers": "The papers' tables", "awareness": "Self-awareness", "consistency": "Consistency"},
        values={
            "tables": [paper_table(name, layout(name), run, cells, compared) for name in TITLES],
            "consistency": consistency(run),
        },
    )


def layout(name: str) -> Layout:
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


def consistency(run: Run) -> Table | None:
    """Return the consistency of answers across shuffles per model and variant, or None without several seeds."""
    rows = list(_consistency_rows(run))
    if not rows:
        return None
    columns, rows = move_n_to_heading([Head(label) for label in _CONSISTENCY.values()], rows)
    caption = f"{run.section.title}: the same questions with shuffled options, with {confidence(run)} "
    groups = (Head("of all questions", span=2), Head("of answers whose option moved", span=3))
    return Table(f"{caption}intervals", ("Model", "Variant"), columns, rows, groups)


def _consistency_rows(run: Run) -> Iterator[Row]:
    for model in run.models:
        measured = {
            variant: [run.get(model, variant, table_scorer(run), name) for name in _CONSISTENCY]
            for variant in run.variants
        }
        measured = {variant: metrics for variant, metrics in measured.items() if any(metrics)}
        for place, (variant, metrics) in enumerate(measured.items()):
            heads = [Head(model, span=len(measured))] if place == 0 else []
            heads.append(Head(run.section.name(variant), note=f"{len(run.seeds[variant])} runs"))
            yield Row(tuple(heads), tuple(replace(metric_cell(m), kind="number stacked") for m in metrics))
