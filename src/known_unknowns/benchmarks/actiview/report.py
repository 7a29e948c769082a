"""What the report shows of ActiView alone: the paper's tables, what the toolkit's quirks cost, figures and cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from known_unknowns.benchmarks.actiview import case_figures, figures
from known_unknowns.benchmarks.actiview.audit import CHANCE, HUMAN
from known_unknowns.benchmarks.actiview.format import TYPES
from known_unknowns.benchmarks.actiview.metrics import AVERAGED
from known_unknowns.benchmarks.actiview.outcomes import DIFFERENCE, Outcomes, blank
from known_unknowns.benchmarks.actiview.views import SPLITS
from known_unknowns.comparison import OFFICIAL, Compared, Numbers, PublishedCell, compare_cells, load
from known_unknowns.comparison.compare import ROBUST
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report.formatting import Cell, Head, Row, Table, metric_cell, percent, say_n_once
from known_unknowns.report.page import ExtraContent
from known_unknowns.report.paper_tables import Layout, Marks, PaperTable, paper_table
from known_unknowns.report.tables import ACCURACY, Run, confidence

Cellular = TypeVar("Cellular", PublishedCell, Compared)
MODEL_AVERAGE, AVERAGE_OF_TWO = "model_average", "average_of_two"
QUIRKY = ("zooming", "shifting_r", "shifting_e", "shifting_m", "shifting_h", "mixed")
"""The pipelines whose steps are read in two ways, so that they are run in both."""
_ROBUSTLY = "_robust"
_COSTS = slice(3, 6)
"""Where the costs stand in a row of the table of quirks."""
_NOTHING = percent(0.0, signed=True)

_BANDS = {
    "Gemini-1.5-pro": "proprietary models",
    "Qwen2-VL": "open-source models for multiple images as input",
    "MiniCPM-Llama3-V-2.5": "open-source models for single image as input",
}
_TABLE_13_BANDS = {"GPT-4o": "multi-image models", "InternVL-Vicuna-13B": "single-image models"}
_PIPELINES = {
    **{name: ("zooming", name) for name in ("Full image", "Zooming")},
    **{f"Shifting-{level}": ("shifting", f"Shifting-{level}") for level in "REMH"},
    "Single View": ("shifting", "Single View"),
}
_CLASSES = {
    column: (kind, label)
    for kind, names in TYPES.items()
    for column, label in (*((name, name) for name in names), (f"{kind} AVG", "AVG"))
}
_SELECTION = {
    f"{pipeline} {name}": (pipeline, name)
    for pipeline in ("Zooming", "Shifting-R")
    for name in ("ACC_QA", "R_select", "#view")
}


def _of_split(variant: str, split: int) -> str:
    """The variant's name in params.yaml: only splits into other than four are named."""
    return variant if split == 4 else f"{variant}_{split}"


def _grouped(groups: Mapping[str, tuple[str, str]], title: str, **others: Any) -> Layout:
    return Layout(title, parts=lambda column: groups.get(column, ("", column)), **others)


LAYOUTS: dict[str, Layout] = {
    "Table 2": _grouped(_PIPELINES, "Table 2, zooming and shifting", bands=_BANDS),
    "Table 3": Layout("Table 3, the mixed pipeline"),
    "Table 13": _grouped(
        _SELECTION,
        "Table 13, the selection of views",
        bands=_TABLE_13_BANDS,
        beside={"view_recall_as_published": ("view_recall", "by Equation 1: ")},
    ),
    "Table 14": Layout(
        "Table 14, splits into more views",
        ways={(_of_split("zooming", split), None): f"{split} views" for split in SPLITS},
    ),
    "Table 5": Layout("Table 5, without a picture"),
    **{
        f"Table {number}": _grouped(_CLASSES, f"Table {number}, the sub-classes in {name}", bands=_BANDS, folded=True)
        for number, name in enumerate(("zooming", "Shifting-R", "Shifting-E", "Shifting-M", "Shifting-H"), start=8)
    },
    "Table 7": _grouped(_PIPELINES, "Table 7, the models that Table 2 leaves out", folded=True),
}


def build(run: Run, compared: Sequence[Compared], *, results: Path, data: Path) -> ExtraContent:
    """Build the content of section.html.j2."""
    cells = load(run.benchmark)
    outcomes = Outcomes(run, results=results, data=data)
    drawn = [
        figures.pipelines(run, cells),
        figures.needed(run, outcomes),
        figures.cost_in_pictures(run, outcomes),
        figures.cost_in_tokens(run, outcomes),
    ]
    return ExtraContent(
        figures=drawn,
        links={"papers": "The paper's tables", "quirks": "Parser effects", "looking": "Use of views", "cases": "Cases"},
        values={
            "tables": paper_tables(run, outcomes, cells, compared),
            "quirks": quirks(run, outcomes),
            "strips": case_figures.worked_cases(run, outcomes, data=data),
        },
    )


def paper_tables(
    run: Run, outcomes: Outcomes, cells: Sequence[PublishedCell], compared: Sequence[Compared]
) -> list[PaperTable]:
    """The tables of which anything was run (all of them, where nothing was measured at all)."""
    run = replace(run, numbers=Numbers([*run.numbers, *averages(run, outcomes)]))
    compared = [*compared, *_compared_averages(run, cells, compared)]
    ran = {cell.table for cell in cells if cell.variant in run.variants} if run.variants else set(LAYOUTS)
    cells, compared = [_by_split(cell) for cell in cells], [_by_split(row) for row in compared]
    return [
        paper_table(name, layout, run, cells, compared, foot=lambda row, marks: _foot(run, row, marks))
        for name, layout in LAYOUTS.items()
        if name in ran
    ]


def averages(run: Run, outcomes: Outcomes) -> Iterator[Metric]:
    """The columns AVG of Tables 2 and 14, with intervals over the pictures; they stand under zooming's variant."""
    wanted = {("zooming", MODEL_AVERAGE): AVERAGED}
    for split in SPLITS:
        variants = tuple(_of_split(name, split) for name in ("zooming", "shifting_r"))
        wanted[variants[0], AVERAGE_OF_TWO] = variants
    for model in run.models:
        for scorer in run.scorers:
            for (variant, name), variants in wanted.items():
                found = outcomes.average(blank(run, model, variant, scorer, name), variants)
                if found is not None:
                    yield found


def _compared_averages(run: Run, cells: Iterable[PublishedCell], compared: Iterable[Compared]) -> Iterator[Compared]:
    """The verdicts on averages, which are no metric of one variant and so are not judged with the others."""
    published = {(cell.table, cell.row): cell.model for cell in cells}
    standing = {row.model: published[row.table, row.row] for row in compared if row.model is not None}
    of_averages = [cell for cell in cells if cell.metric in (MODEL_AVERAGE, AVERAGE_OF_TWO)]
    found = compare_cells(of_averages, run.numbers, standing=standing, scorers=run.scorers)
    return (row for row in found if row.model is not None)


def _by_split(cell: Cellular) -> Cellular:
    """Table 14 has a row for each split of a model; the published cells have them side by side."""
    split, _, column = cell.column.partition(" splits, ")
    return replace(cell, row=f"{cell.row}, {split} views", column=column) if column else cell


def _foot(run: Run, row: Sequence[PublishedCell], marks: Marks) -> Iterator[Row]:
    """Chance and people, under what they can be compared with: accuracies."""
    right = [cell.metric in (ACCURACY, MODEL_AVERAGE, AVERAGE_OF_TWO) for cell in row]
    guessed = [_chance(run, cell) if of else None for cell, of in zip(row, right, strict=True)]
    if any(metric is not None for metric in guessed):
        yield Row((Head("chance"),), tuple(Cell("" if m is None else percent(m.value)) for m in guessed))
    overall = [of and cell.category == OVERALL for cell, of in zip(row, right, strict=True)]
    if any(overall):
        printed = marks("Section 5. The options of the published questions give 34.24.")
        people = marks("Table 4: six people who may look things up, on 60 of the published questions.")
        for name, value, mark in (("chance, as printed", CHANCE, printed), ("people", HUMAN, people)):
            yield Row((Head(name, mark=mark),), tuple(Cell(f"{value:.2f}" if of else "") for of in overall))


def _chance(run: Run, cell: PublishedCell) -> Metric | None:
    found = (run.chance(model, cell.variant, cell.category) for model in run.models)
    return next((metric for metric in found if metric is not None), None)


@dataclass(frozen=True, slots=True)
class Quirks:
    """``table`` holds the models that some reply costs or gains an answer; ``unaffected`` are the others."""

    table: Table | None
    unaffected: tuple[str, ...]


def quirks(run: Run, outcomes: Outcomes) -> Quirks:
    """What the toolkit's way of reading costs, per model and pipeline: first that of the answers, then that of the
    steps, which decide what is asked next. Neither holds a model that was run in one reading only."""
    rows: list[Row] = []
    unaffected = []
    for model in run.models:
        found = [(v, cells) for v in QUIRKY if (cells := _quirk_cells(run, outcomes, model, v)) is not None]
        if found and all(cell.text == _NOTHING for _, cells in found for cell in cells[_COSTS]):
            unaffected.append(model)
            continue
        for place, (variant, cells) in enumerate(found):
            heads = [Head(model, span=len(found))] if place == 0 else []
            rows.append(Row((*heads, Head(run.section.name(variant))), cells))
    return Quirks(_quirks_table(run, rows) if rows else None, tuple(unaffected))


def _quirks_table(run: Run, rows: Sequence[Row]) -> Table:
    columns = [
        *(Head("as released"), Head("answers read robustly"), Head("steps too")),
        *(Head("of reading answers"), Head("of reading steps"), Head("of both")),
        *(Head("as released"), Head("robustly")),
    ]
    groups = (Head("right", span=3), Head("what the quirks cost", span=3), Head("invalid choices", span=2))
    columns, rows = say_n_once(columns, rows)
    caption = f"{run.section.title}: what the toolkit's quirks cost, in percentage points, with {confidence(run)} "
    return Table(f"{caption}intervals", ("Model", "Pipeline"), columns, rows, groups)


def _quirk_cells(run: Run, outcomes: Outcomes, model: str, variant: str) -> tuple[Cell, ...] | None:
    robustly = variant + _ROBUSTLY
    ways = [(variant, OFFICIAL), (variant, ROBUST), (robustly, ROBUST)]
    right = [outcomes.right(model, *way) for way in ways]
    if any(series is None for series in right):
        return None
    lost = [
        outcomes.difference(blank(run, model, variant, ROBUST, DIFFERENCE), right[before], right[after])
        for before, after in ((0, 1), (1, 2), (0, 2))
    ]
    measured = [run.get(model, *way, ACCURACY) for way in ways]
    invalid = [run.get(model, variant, scorer, "invalid_selections") for scorer in (OFFICIAL, ROBUST)]
    return tuple(replace(metric_cell(metric), kind="number stacked") for metric in (*measured, *lost, *invalid))
