"""The papers' tables in their own layout: published rows as printed, and models of this run with intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.layout import Layout, read_layouts
from known_unknowns.benchmark.published import PERCENT, VIEWS, PublishedCell
from known_unknowns.comparison import ComparisonRow
from known_unknowns.metrics.run import Run, is_baseline
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report.formatting import Cell, Head, Row, Table, denominator, make_table, metric_cell, percent
from known_unknowns.report.tables import ACCURACY, confidence
from known_unknowns.report.verdict_tables import discrimination

_VIEWS_DECIMALS, _COUNT_DECIMALS = 2, 1
CellOrRow = TypeVar("CellOrRow", PublishedCell, ComparisonRow)


@dataclass(frozen=True, slots=True)
class PaperTable:
    """One of the papers' tables. ``notes`` are its footnotes by their mark."""

    name: str
    table: Table
    notes: Mapping[str, str]
    collapsed: bool


class Footnotes:
    """Footnotes, numbered in the order of their first use."""

    def __init__(self) -> None:
        self.of: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        return self.of.setdefault(text, str(len(self.of) + 1)) if text else ""


def paper_tables(
    run: Run, cells: Sequence[PublishedCell], logs: Sequence[PublishedCell], compared: Sequence[ComparisonRow]
) -> list[PaperTable]:
    """Return the tables of a benchmark's papers that have a measured variant, or all tables if nothing was measured.

    ``logs`` are numbers that were released with replies; a table of them without a layout is folded.
    """
    layouts = dict(read_layouts(registry.get(run.benchmark).folder))
    for cell in logs:
        layouts.setdefault(cell.table, Layout(cell.table, collapsed=True))
    published = [*cells, *logs]
    shown = {cell.table for cell in published if cell.variant in run.variants} if run.variants else set(layouts)
    return [paper_table(name, layout, run, published, compared) for name, layout in layouts.items() if name in shown]


def paper_table(
    name: str, layout: Layout, run: Run, cells: Iterable[PublishedCell], compared: Iterable[ComparisonRow]
) -> PaperTable:
    """Build one of the papers' tables, by its name in published.yaml.

    The models of this run are below the published row that they correspond to. Models without a published row come
    first. Rows without any measured metric are left out. ``compared`` has the verdicts on the published ``cells`` of
    the benchmark.
    """
    cells = [_in_own_row(cell, layout) for cell in cells if cell.table == name]
    compared = [_in_own_row(row, layout) for row in compared if row.table == name]
    by_model: dict[str, dict[str, list[PublishedCell]]] = {}
    for cell in cells:
        by_model.setdefault(cell.model, {}).setdefault(cell.row, []).append(cell)
    rows = {row: found for of_model in by_model.values() for row, found in of_model.items()}
    verdict_of = {(c.row, c.column, c.model, c.parser): c for c in compared if c.model is not None}
    footnotes = Footnotes()
    body = list(_unmatched_rows(rows, layout, run, {model for _, _, model, _ in verdict_of}))
    for row_name, row in rows.items():
        if row_name in layout.bands:
            body.append(Row((Head(layout.bands[row_name]),), ()))
        body.append(_published_row(row_name, row, footnotes))
        for model in run.models:
            verdicts = [verdict_of.get((row_name, c.column, model, _parser(run, c))) for c in row]
            if any(verdicts):
                body.append(_our_row(run, layout, model, row, verdicts))
    first = next(iter(rows.values()))
    groups, columns = _headings(first, layout)
    version = f" (published: {first[0].version})" if first[0].version else ""
    caption, corner = f"{layout.title}{version}, with {confidence(run)} intervals of ours", "Model"
    feet = tuple(_foot(run, first, footnotes))
    table = make_table(caption, corner, columns, body, groups=groups, foot=feet, moves_n=True)
    return PaperTable(name, table, {mark: text for text, mark in footnotes.of.items()}, layout.collapsed)


def _in_own_row(cell: CellOrRow, layout: Layout) -> CellOrRow:
    """Give a cell whose column names its row this row."""
    if layout.rows_in_columns is None:
        return cell
    separator, suffix = layout.rows_in_columns
    part, _, column = cell.column.partition(separator)
    return replace(cell, row=f"{cell.row}, {part}{suffix}", column=column) if column else cell


def _foot(run: Run, row: Sequence[PublishedCell], footnotes: Footnotes) -> Iterator[Row]:
    """Yield chance and the declared levels, below the columns of accuracies."""
    if not run.section.levels:
        return
    right = [cell.metric == ACCURACY for cell in row]
    guessed = [_chance(run, cell) if of else None for cell, of in zip(row, right, strict=True)]
    if any(metric is not None for metric in guessed):
        yield Row((Head("chance"),), tuple(Cell("" if m is None else percent(m.value)) for m in guessed))
    overall = [of and cell.category == OVERALL for cell, of in zip(row, right, strict=True)]
    if any(overall):
        for level in run.section.levels:
            head = Head(level.name, mark=footnotes(level.note))
            yield Row((head,), tuple(Cell(f"{level.value:.2f}" if of else "") for of in overall))


def _chance(run: Run, cell: PublishedCell) -> Metric | None:
    found = (run.chance(model, cell.variant, cell.category) for model in run.models)
    return next((metric for metric in found if metric is not None), None)


def _unmatched_rows(
    rows: Mapping[str, Sequence[PublishedCell]], layout: Layout, run: Run, matched: set[str | None]
) -> Iterator[Row]:
    """Yield the rows of models without a published row, one per condition of the table's rows."""
    conditions = {_conditions(row[0]): row for row in rows.values()}
    for model in run.models:
        for row in conditions.values():
            if model not in matched and any(_metric(run, model, cell) is not None for cell in row):
                kind = "baseline" if is_baseline(run.params, model) else ""
                yield replace(_our_row(run, layout, model, row, [None] * len(row)), kind=kind)


def _our_row(
    run: Run, layout: Layout, model: str, row: Sequence[PublishedCell], verdicts: Sequence[ComparisonRow | None]
) -> Row:
    note = ", ".join(filter(None, ["this run", layout.condition(*_conditions(row[0]))]))
    cells = (_ours(run, layout, model, cell, verdict) for cell, verdict in zip(row, verdicts, strict=True))
    return Row((Head(model, note=note),), tuple(cells))


def _conditions(cell: PublishedCell) -> tuple[str, str | None]:
    return cell.variant, cell.parser


def _headings(row: Sequence[PublishedCell], layout: Layout) -> tuple[tuple[Head, ...], list[Head]]:
    """Return the headings of groups and columns. A table without groups has only headings of columns."""
    headings = [layout.split_heading(cell.column) for cell in row]
    if not any(group for group, _ in headings):
        return (), [Head(cell.column) for cell in row]
    spans = Counter(group for group, _ in headings)
    return tuple(Head(group, span=span) for group, span in spans.items()), [Head(text) for _, text in headings]


def _published_row(name: str, row: Sequence[PublishedCell], footnotes: Footnotes) -> Row:
    """Return a published row. The footnote of all its cells is at its name, other footnotes are at their cell."""
    shared = min((cell.note for cell in row), key=len)
    if not all(cell.note.startswith(shared) for cell in row):
        shared = ""
    head = Head(name, mark=footnotes(shared))
    marks = [footnotes(cell.note.removeprefix(shared).strip()) for cell in row]
    cells = (
        Cell(_printed(cell), title=cell.source, kind="plain", mark=mark) for cell, mark in zip(row, marks, strict=True)
    )
    return Row((head,), tuple(cells))


def _printed(cell: PublishedCell) -> str:
    return cell.printed if cell.spread is None else f"{cell.printed} \u00b1 {cell.spread:.{cell.decimals}f}"


def _parser(run: Run, cell: PublishedCell) -> str:
    return cell.parser or run.table_parser


def _metric(run: Run, model: str, cell: PublishedCell, name: str = "") -> Metric | None:
    return run.get(model, cell.variant, _parser(run, cell), name or cell.metric, cell.category)


def _ours(run: Run, layout: Layout, model: str, cell: PublishedCell, verdict: ComparisonRow | None) -> Cell:
    """Return our number for a published cell, with the verdict if the model corresponds to its row."""
    metric = _metric(run, model, cell)
    shown = replace(metric_cell(metric) if cell.unit == PERCENT else _count(metric, cell), kind="number stacked")
    notes = [] if cell.spread is None else [_spread(run, layout, cell, metric)]
    other, label = layout.secondary.get(cell.metric, ("", ""))
    found = _metric(run, model, cell, other) if other else None
    if found is not None and metric is not None and found.value != metric.value:
        notes.append(label + percent(found.value))
    if verdict is not None:
        notes.append(verdict.verdict)
        others = discrimination(verdict)
        reason = f"{verdict.reason}; other rows matched: {others}" if others else verdict.reason
        shown = replace(shown, title=f"{reason}; {shown.title}")
    return replace(shown, note=", ".join(filter(None, notes)))


def _count(metric: Metric | None, cell: PublishedCell) -> Cell:
    """Format a number of questions or views, which is not a percentage."""
    if metric is None or metric.value is None:
        return metric_cell(metric)
    decimals = _VIEWS_DECIMALS if cell.unit == VIEWS else _COUNT_DECIMALS
    bounds = ""
    if metric.low is not None and metric.high is not None:
        bounds = f"[{metric.low:.{decimals}f}, {metric.high:.{decimals}f}]"
    return Cell(f"{metric.value:.{decimals}f}", bounds, metric.n, title=metric.method, denominator=denominator(metric))


def _spread(run: Run, layout: Layout, cell: PublishedCell, metric: Metric | None) -> str:
    """Format our standard deviation over runs as the table prints its own."""
    if metric is None or metric.spread is None:
        return ""
    runs = len(run.seeds[cell.variant])
    spread = metric.spread if layout.ddof == 1 else metric.spread * math.sqrt((runs - 1) / runs)
    return f"\u00b1 {100 * spread:.1f} over {runs} runs"
