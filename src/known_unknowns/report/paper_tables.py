"""The papers' tables in their own layout: published rows as printed, models of ours beside them with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from known_unknowns.comparison import OFFICIAL, Compared, PublishedCell
from known_unknowns.comparison.cells import PERCENT, VIEWS
from known_unknowns.records import Metric
from known_unknowns.report.formatting import Cell, Head, Row, Table, denominator, metric_cell, percent, say_n_once
from known_unknowns.report.tables import Run, confidence

Way = tuple[str, str | None]
"""In which variant, and by which scorer alone, if by one, the rows of a table were made."""
_VIEWS_DECIMALS, _COUNT_DECIMALS = 2, 1


@dataclass(frozen=True, slots=True)
class Layout:
    """How one table looks. ``parts`` splits a column's heading into that of its group ("" for none) and its own.

    ``ways`` says of a row of ours how it was made, where a table has several; ``bands`` are headings above published
    rows, by the name of the first row; ``beside`` maps a metric to another that is noted beside it, and its label;
    ``folded`` is whether the page folds the table away. ``spread`` converts our standard deviation over a number of
    runs (ddof = 1) to the one that the table prints.
    """

    title: str
    parts: Callable[[str], tuple[str, str]] = lambda column: ("", column)
    ways: Mapping[Way, str] = field(default_factory=dict)
    bands: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    folded: bool = False
    spread: Callable[[float, int], float] = lambda spread, runs: spread


@dataclass(frozen=True, slots=True)
class PaperTable:
    """``notes`` are the table's footnotes, by their mark."""

    name: str
    table: Table
    notes: Mapping[str, str]
    folded: bool


def scorer(run: Run) -> str:
    """The reading of the papers' tables, unless a table has its own: the released one."""
    return OFFICIAL if OFFICIAL in run.scorers else run.scorers[0]


Foot = Callable[[Sequence[PublishedCell], "Marks"], Iterable[Row]]
"""Makes the last rows of a table, given the cells of one row."""


class Marks:
    """Footnotes, numbered in the order in which they are met."""

    def __init__(self) -> None:
        self.of: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        return self.of.setdefault(text, str(len(self.of) + 1)) if text else ""


def paper_table(
    name: str,
    layout: Layout,
    run: Run,
    cells: Iterable[PublishedCell],
    compared: Iterable[Compared],
    *,
    foot: Foot = lambda row, marks: (),
) -> PaperTable:
    """One of the papers' tables: their rows and columns, each model of ours under the row that it stands for, and
    first those that stand for none. A row of ours of which nothing was measured is left out."""
    rows = _rows(name, cells)
    judged = {(c.row, c.column, c.model, c.scorer): c for c in compared if c.table == name and c.model is not None}
    marks = Marks()
    body = list(_of_none(rows, layout, run, {model for _, _, model, _ in judged}))
    for row_name, row in rows.items():
        if row_name in layout.bands:
            body.append(Row((Head(layout.bands[row_name]),), ()))
        body.append(_published_row(row_name, row, marks))
        for model in run.models:
            verdicts = [judged.get((row_name, c.column, model, _scorer(run, c))) for c in row]
            if any(verdicts):
                shown = (_ours(run, layout, model, cell, v) for cell, v in zip(row, verdicts, strict=True))
                body.append(Row((_our_head(layout, model, _way(row[0])),), tuple(shown)))
    first = next(iter(rows.values()))
    groups, columns = _headings(first, layout)
    columns, body = say_n_once(columns, body)
    caption = f"{layout.title}, with {confidence(run)} intervals of ours"
    table = Table(caption, ("Model",), columns, body, groups, tuple(foot(first, marks)))
    return PaperTable(name, table, {mark: text for text, mark in marks.of.items()}, layout.folded)


def _of_none(
    rows: Mapping[str, Sequence[PublishedCell]], layout: Layout, run: Run, standing: set[str | None]
) -> Iterator[Row]:
    """The rows of our models that stand for no published one, one for each way in which the table's rows were made."""
    ways = {_way(row[0]): row for row in rows.values()}
    for model in run.models:
        for way, row in ways.items():
            if model not in standing and any(_metric(run, model, cell) is not None for cell in row):
                yield Row((_our_head(layout, model, way),), tuple(_ours(run, layout, model, c, None) for c in row))


def _rows(name: str, cells: Iterable[PublishedCell]) -> dict[str, list[PublishedCell]]:
    """The rows of a table, those of one model beside each other."""
    by_model: dict[str, dict[str, list[PublishedCell]]] = {}
    for cell in cells:
        if cell.table == name:
            by_model.setdefault(cell.model, {}).setdefault(cell.row, []).append(cell)
    return {row: found for rows in by_model.values() for row, found in rows.items()}


def _way(cell: PublishedCell) -> Way:
    return cell.variant, cell.scorer


def _our_head(layout: Layout, model: str, way: Way) -> Head:
    return Head(model, note=", ".join(filter(None, ["this run", layout.ways.get(way, "")])))


def _headings(row: Sequence[PublishedCell], layout: Layout) -> tuple[tuple[Head, ...], list[Head]]:
    """Columns of one group under its name, where they have more than that name."""
    parts = [layout.parts(cell.column) for cell in row]
    if not any(group for group, _ in parts):
        return (), [Head(cell.column) for cell in row]
    spans: dict[str, int] = {}
    for group, _ in parts:
        spans[group] = spans.get(group, 0) + 1
    return tuple(Head(group, span=span) for group, span in spans.items()), [Head(text) for _, text in parts]


def _published_row(name: str, row: Sequence[PublishedCell], marks: Marks) -> Row:
    """What is noted of every cell stands at the row's name, what is noted of one at the cell."""
    shared = min((cell.note for cell in row), key=len)
    if not all(cell.note.startswith(shared) for cell in row):
        shared = ""
    of_row = marks(shared)
    return Row(
        (Head(name, mark=of_row),),
        tuple(
            Cell(_printed(cell), title=cell.source, kind="plain", mark=marks(cell.note.removeprefix(shared).strip()))
            for cell in row
        ),
    )


def _printed(cell: PublishedCell) -> str:
    return cell.printed if cell.spread is None else f"{cell.printed} \u00b1 {cell.spread:.{cell.decimals}f}"


def _scorer(run: Run, cell: PublishedCell) -> str:
    return cell.scorer or scorer(run)


def _metric(run: Run, model: str, cell: PublishedCell, name: str = "") -> Metric | None:
    return run.get(model, cell.variant, _scorer(run, cell), name or cell.metric, cell.category)


def _ours(run: Run, layout: Layout, model: str, cell: PublishedCell, verdict: Compared | None) -> Cell:
    """Our number for a published cell, with the verdict where the model stands for its row."""
    metric = _metric(run, model, cell)
    shown = replace(metric_cell(metric) if cell.unit == PERCENT else _count(metric, cell), kind="number stacked")
    notes = [] if cell.spread is None else [_spread(run, layout, cell, metric)]
    if cell.metric in layout.beside:
        other, label = layout.beside[cell.metric]
        found = _metric(run, model, cell, other)
        notes += (
            [] if found is None or metric is None or found.value == metric.value else [label + percent(found.value)]
        )
    if verdict is not None:
        notes.append(verdict.verdict)
        shown = replace(shown, title=f"{verdict.reason}; {shown.title}")
    return replace(shown, note=", ".join(filter(None, notes)))


def _count(metric: Metric | None, cell: PublishedCell) -> Cell:
    """A number of questions or views, which is no percentage."""
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
    return f"\u00b1 {100 * layout.spread(metric.spread, runs):.1f} over {runs} runs"
