"""The report's section on ActiView: the paper's tables, the effect of the parsers, and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.comparison import OFFICIAL, ROBUST, ComparisonRow, load
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report.formatting import Cell, Head, Row, Table, metric_cell, move_n_to_heading, percent
from known_unknowns.report.page import ExtraContent
from known_unknowns.report.paper_tables import Footnotes, PaperTable, paper_table
from known_unknowns.report.tables import ACCURACY, Run, confidence
from known_unknowns_benchmarks.actiview import figures
from known_unknowns_benchmarks.actiview.outcomes import DIFFERENCE, Outcomes, empty_metric
from known_unknowns_benchmarks.layouts import read_layouts

CellOrRow = TypeVar("CellOrRow", PublishedCell, ComparisonRow)
HUMAN = 84.67
"""Percent: mean accuracy of six people who may look things up, on 60 of the questions (Table 4)."""
CHANCE = 33.95
"""Percent, as printed (Section 5); the published options give 34.24."""
TWO_PARSER_PIPELINES = ("zooming", "shifting_r", "shifting_e", "shifting_m", "shifting_h", "mixed")
"""The pipelines that are run with both parsers of intermediate steps."""
_ROBUST_SUFFIX = "_robust"
_DIFFERENCES = slice(3, 6)
"""The columns of differences in the table of parser effects."""
_ZERO = percent(0.0, signed=True)

LAYOUTS = read_layouts(Path(__file__).parent)


def build(run: Run, compared: Sequence[ComparisonRow], *, results: Path, data: Path) -> ExtraContent:
    """Build the content of section.html.j2."""
    cells = load(run.benchmark)
    outcomes = Outcomes(run, results=results, data=data)
    return ExtraContent(
        figures=[figures.needed(run, outcomes), figures.cost_in_images(run, outcomes)],
        links={
            "papers": "The paper's tables",
            "parser-effect": "Effect of the parser",
            "views": "Use of views",
        },
        values={
            "tables": paper_tables(run, cells, compared),
            "effects": parser_effects(run, outcomes),
        },
    )


def paper_tables(run: Run, cells: Sequence[PublishedCell], compared: Sequence[ComparisonRow]) -> list[PaperTable]:
    """Return the tables with a measured variant, or all tables if nothing was measured."""
    ran = {cell.table for cell in cells if cell.variant in run.variants} if run.variants else set(LAYOUTS)
    cells, compared = [_split_row(cell) for cell in cells], [_split_row(row) for row in compared]
    return [
        paper_table(name, layout, run, cells, compared, foot=lambda row, footnotes: _foot(run, row, footnotes))
        for name, layout in LAYOUTS.items()
        if name in ran
    ]


def _split_row(cell: CellOrRow) -> CellOrRow:
    """Give each split of Table 14 its own row. The published cells have the splits of a model in one row."""
    split, _, column = cell.column.partition(" splits, ")
    return replace(cell, row=f"{cell.row}, {split} views", column=column) if column else cell


def _foot(run: Run, row: Sequence[PublishedCell], footnotes: Footnotes) -> Iterator[Row]:
    """Yield the rows of chance and of human accuracy, below the columns of accuracies."""
    right = [cell.metric == ACCURACY for cell in row]
    guessed = [_chance(run, cell) if of else None for cell, of in zip(row, right, strict=True)]
    if any(metric is not None for metric in guessed):
        yield Row((Head("chance"),), tuple(Cell("" if m is None else percent(m.value)) for m in guessed))
    overall = [of and cell.category == OVERALL for cell, of in zip(row, right, strict=True)]
    if any(overall):
        printed = footnotes("Section 5. The options of the published questions give 34.24.")
        people = footnotes("Table 4: six people who may look things up, on 60 of the published questions.")
        for name, value, mark in (("chance, as printed", CHANCE, printed), ("people", HUMAN, people)):
            yield Row((Head(name, mark=mark),), tuple(Cell(f"{value:.2f}" if of else "") for of in overall))


def _chance(run: Run, cell: PublishedCell) -> Metric | None:
    found = (run.chance(model, cell.variant, cell.category) for model in run.models)
    return next((metric for metric in found if metric is not None), None)


@dataclass(frozen=True, slots=True)
class ParserEffects:
    """``table`` has the models whose accuracy depends on the parser; ``unaffected`` are the others."""

    table: Table | None
    unaffected: tuple[str, ...]


def parser_effects(run: Run, outcomes: Outcomes) -> ParserEffects:
    """Return the effect of the official parser per model and pipeline: on answers, then on intermediate steps.

    The parser of intermediate steps decides what the model is asked next. Models that were run with one of the two
    parsers only are left out.
    """
    rows: list[Row] = []
    unaffected = []
    for model in run.models:
        found = [
            (v, cells) for v in TWO_PARSER_PIPELINES if (cells := _effect_cells(run, outcomes, model, v)) is not None
        ]
        if found and all(cell.text == _ZERO for _, cells in found for cell in cells[_DIFFERENCES]):
            unaffected.append(model)
            continue
        rows += [Row((Head(model), Head(run.section.name(variant))), cells) for variant, cells in found]
    return ParserEffects(_effects_table(run, rows) if rows else None, tuple(unaffected))


def _effects_table(run: Run, rows: Sequence[Row]) -> Table:
    columns = [
        *(Head("official"), Head("robust for answers"), Head("robust for all")),
        *(Head("answers"), Head("steps"), Head("both")),
        *(Head("official"), Head("robust")),
    ]
    groups = (
        Head("right, by parser", span=3),
        Head("gain from the robust parser", span=3),
        Head("invalid choices", span=2),
    )
    columns, rows = move_n_to_heading(columns, rows)
    caption = (
        f"{run.section.title}: effect of the official parser, in percentage points, with {confidence(run)} intervals"
    )
    return Table(caption, ("Model", "Pipeline"), columns, rows, groups)


def _effect_cells(run: Run, outcomes: Outcomes, model: str, variant: str) -> tuple[Cell, ...] | None:
    robust_variant = variant + _ROBUST_SUFFIX
    conditions = [(variant, OFFICIAL), (variant, ROBUST), (robust_variant, ROBUST)]
    right = [outcomes.right(model, *condition) for condition in conditions]
    if any(series is None for series in right):
        return None
    lost = [
        outcomes.difference(empty_metric(run, model, variant, ROBUST, DIFFERENCE), right[before], right[after])
        for before, after in ((0, 1), (1, 2), (0, 2))
    ]
    measured = [run.get(model, *condition, ACCURACY) for condition in conditions]
    invalid = [run.get(model, variant, parser, "invalid_selections") for parser in (OFFICIAL, ROBUST)]
    return tuple(replace(metric_cell(metric), kind="number stacked") for metric in (*measured, *lost, *invalid))
