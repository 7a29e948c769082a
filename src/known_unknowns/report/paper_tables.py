"""The papers' tables in their own layout: published rows as printed, and models of this run with intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.layout import Layout, read_layouts
from known_unknowns.benchmark.published import PERCENT, VIEWS, PublishedCell
from known_unknowns.comparison import ComparisonRow
from known_unknowns.comparison.paper_tables import BASELINE, PUBLISHED, PaperTable, TableRow, paper_tables
from known_unknowns.metrics.run import Run
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report.formatting import Cell, Head, Row, Table, denominator, make_table, metric_cell, percent
from known_unknowns.report.tables import ACCURACY, confidence
from known_unknowns.report.verdict_tables import discrimination

_VIEWS_DECIMALS, _COUNT_DECIMALS = 2, 1


@dataclass(frozen=True, slots=True)
class HtmlTable:
    """One of the papers' tables as the page shows it. ``notes`` are its footnotes by their mark."""

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


def html_tables(run: Run, cells: Sequence[PublishedCell], compared: Sequence[ComparisonRow]) -> list[HtmlTable]:
    """Return the tables of a benchmark's papers that have a measured variant, or all tables if nothing was measured."""
    layouts = read_layouts(registry.get(run.benchmark).folder)
    shown = {cell.table for cell in cells if cell.variant in run.variants or not run.variants}
    return [html_table(table, run) for table in paper_tables(run, layouts, cells, compared) if table.name in shown]


def html_table(table: PaperTable, run: Run) -> HtmlTable:
    """Return one of the papers' tables as cells of the page."""
    layout, footnotes, body = table.layout, Footnotes(), []
    kind = ""
    for row in table.rows:
        if row.kind == BASELINE and kind != BASELINE:
            body.append(Row((Head("baselines"),), ()))
        kind = row.kind
        if row.kind != PUBLISHED:
            body.append(_our_row(run, table, row))
            continue
        if row.name in layout.bands:
            body.append(Row((Head(layout.bands[row.name]),), ()))
        body.append(_published_row(table, row, footnotes))
    first = next(row for row in table.rows if row.kind == PUBLISHED)
    printed = list(first.cells.values())
    version = f" (published: {printed[0].version})" if printed[0].version else ""
    caption, corner = f"{layout.title}{version}, with {confidence(run)} intervals of ours", "Model"
    groups, columns = _headings(table)
    feet = tuple(_foot(run, printed, footnotes))
    cells = make_table(caption, corner, columns, body, groups=groups, foot=feet, moves_n=True)
    return HtmlTable(table.name, cells, {mark: text for text, mark in footnotes.of.items()}, layout.collapsed)


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


def _headings(table: PaperTable) -> tuple[tuple[Head, ...], list[Head]]:
    """Return the headings of groups and columns. A table without groups has only headings of columns."""
    headings = [table.layout.split_heading(column) for column in table.columns]
    if not any(group for group, _ in headings):
        return (), [Head(column) for column in table.columns]
    spans = Counter(group for group, _ in headings)
    return tuple(Head(group, span=span) for group, span in spans.items()), [Head(text) for _, text in headings]


def _published_row(table: PaperTable, row: TableRow, footnotes: Footnotes) -> Row:
    """Return a published row. The footnote of all its cells is at its name, other footnotes are at their cell."""
    printed = row.cells.values()
    shared = min((cell.note for cell in printed), key=len)
    if not all(cell.note.startswith(shared) for cell in printed):
        shared = ""
    head = Head(row.name, mark=footnotes(shared))
    cells = []
    for column in table.columns:
        cell = row.cells.get(column)
        if cell is None:
            cells.append(Cell("", kind="plain"))
        else:
            mark = footnotes(cell.note.removeprefix(shared).strip())
            cells.append(Cell(_printed(cell), title=cell.source, kind="plain", mark=mark))
    return Row((head,), tuple(cells))


def _printed(cell: PublishedCell) -> str:
    return cell.printed if cell.spread is None else f"{cell.printed} \u00b1 {cell.spread:.{cell.decimals}f}"


def _our_row(run: Run, table: PaperTable, row: TableRow) -> Row:
    note = ", ".join(filter(None, ["this run", row.condition]))
    cells = tuple(_ours(run, table.layout, row, column) for column in table.columns)
    return Row((Head(row.name, note=note),), cells, BASELINE if row.kind == BASELINE else "")


def _ours(run: Run, layout: Layout, row: TableRow, column: str) -> Cell:
    """Return our number for a published cell, with the verdict if the model corresponds to its row."""
    cell, metric, verdict = row.cells.get(column), row.metrics.get(column), row.verdicts.get(column)
    if cell is None:
        return Cell("")
    shown = replace(metric_cell(metric) if cell.unit == PERCENT else _count(metric, cell), kind="number stacked")
    notes = [] if cell.spread is None else [_spread(run, layout, cell, metric)]
    name, label = layout.secondary.get(cell.metric, ("", ""))
    if name and metric is not None:
        other = run.get(row.name, cell.variant, metric.parser, name, cell.category)
        if other is not None and other.value != metric.value:
            notes.append(label + percent(other.value))
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
