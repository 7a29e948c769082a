"""The tables of a benchmark's papers with the models of a run: their rows and numbers, in no format.

The report writes them as HTML (`known_unknowns.report.paper_tables`), the command ``tables`` as LaTeX, Markdown or CSV
(`known_unknowns.comparison.exported_tables`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from known_unknowns.benchmark.layout import Layout
from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.comparison.compare import ComparisonRow
from known_unknowns.metrics.run import Run
from known_unknowns.records import Metric

PUBLISHED, MODEL, BASELINE = "published", "model", "baseline"
_Row = Mapping[str, PublishedCell]
"""The published numbers of a row by column."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a paper, or of a model of this run, with its numbers by column.

    ``condition`` is how the model was asked and its replies parsed, if the rows of the table differ in this. ``cells``
    of a model say what was measured. If it has verdicts, they are the cells of the row that the model stands for.
    """

    name: str
    kind: str
    condition: str = ""
    cells: _Row = field(default_factory=dict)
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    verdicts: Mapping[str, ComparisonRow] = field(default_factory=dict)

    @property
    def is_measured(self) -> bool:
        """Whether a number of this run is defined."""
        return any(metric.value is not None for metric in self.metrics.values())


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table. Its rows are the models without a published row, the published rows with their models, the baselines."""

    name: str
    layout: Layout
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]


def paper_tables(
    run: Run, layouts: Mapping[str, Layout], cells: Iterable[PublishedCell], compared: Iterable[ComparisonRow]
) -> Iterator[PaperTable]:
    """Yield the tables of a benchmark's papers, in the order of their layouts. One without a layout is folded."""
    verdicts = {(row.table, row.row, row.column, row.model, row.parser): row for row in compared}
    by_table: dict[str, list[PublishedCell]] = {}
    for cell in cells:
        by_table.setdefault(cell.table, []).append(cell)
    for name in dict.fromkeys([*layouts, *by_table]):
        if name in by_table:
            layout = layouts.get(name, Layout(name, collapsed=True))
            published = _published_rows(by_table[name], layout)
            columns = dict.fromkeys(column for row in published.values() for column in row)
            rows = _rows(run, layout, published, verdicts)
            yield PaperTable(name, layout, tuple(columns), tuple(rows))


def _rows(
    run: Run,
    layout: Layout,
    published: Mapping[str, _Row],
    verdicts: Mapping[tuple[str, str, str, str | None, str], ComparisonRow],
) -> Iterator[TableRow]:
    """Yield the rows of a table. Those of this run have at least one number that is defined."""
    kinds = _kinds_of_rows(published.values())
    stands_for: dict[str, list[_Row]] = {model: [] for model in run.models}
    below: dict[str, list[TableRow]] = {name: [] for name in published}
    for name, cells in published.items():
        for model in run.models:
            keys = {column: (*cell.key, model, cell.parser or run.table_parser) for column, cell in cells.items()}
            judged = {column: verdicts[key] for column, key in keys.items() if key in verdicts}
            if judged:
                stands_for[model].append(cells)
                row = _of_run(run, model, cells, _condition(cells, layout, kinds))
                below[name].append(replace(row, verdicts=judged))
    models, baselines = [], []
    for model in run.models:
        for kind in kinds:
            if any(_are_asked_alike(kind, cells) for cells in stands_for[model]):
                continue
            row = _of_run(run, model, kind, _condition(kind, layout, kinds))
            if model in run.baselines:
                baselines.append(replace(row, kind=BASELINE))
            else:
                models.append(row)
    yield from (row for row in models if row.is_measured)
    for name, cells in published.items():
        yield TableRow(name, PUBLISHED, cells=cells)
        yield from (row for row in below[name] if row.is_measured)
    yield from (row for row in baselines if row.is_measured)


def _of_run(run: Run, model: str, cells: _Row, condition: str) -> TableRow:
    metrics = {}
    for column, cell in cells.items():
        metric = run.get(model, cell.variant, cell.parser or run.table_parser, cell.metric, cell.category)
        if metric is not None:
            metrics[column] = metric
    return TableRow(model, MODEL, condition, cells, metrics)


def _published_rows(cells: Iterable[PublishedCell], layout: Layout) -> dict[str, dict[str, PublishedCell]]:
    """Return the published rows, those of one model after each other."""
    by_model: dict[str, dict[str, dict[str, PublishedCell]]] = {}
    for cell in cells:
        row, column = layout.place(cell.row, cell.column)
        by_model.setdefault(cell.model, {}).setdefault(row, {})[column] = cell
    return {name: row for rows in by_model.values() for name, row in rows.items()}


def _condition(cells: _Row, layout: Layout, kinds: list[_Row]) -> str:
    """Return how a row was asked and parsed: as the layout says, or by its variants and parsers."""
    if layout.conditions:
        first = next(iter(cells.values()))
        return layout.condition(first.variant, first.parser)
    return ", ".join(dict.fromkeys(map(_asked, cells.values()))) if len(kinds) > 1 else ""


def _kinds_of_rows(rows: Iterable[_Row]) -> list[_Row]:
    """Return the ways in which the rows of a table were asked and parsed: a cell for each column.

    Rows that have the same variant and parser in each column that both have are of one kind.
    """
    kinds: list[_Row] = []
    for row in rows:
        same = next((kind for kind in kinds if _are_asked_alike(kind, row)), None)
        if same is None:
            kinds.append(row)
        else:
            kinds[kinds.index(same)] = {**row, **same}
    return kinds


def _are_asked_alike(one: _Row, other: _Row) -> bool:
    """Return whether two rows have the same variant and parser in the columns that both have."""
    shared = one.keys() & other.keys()
    return all(_asked(one[column]) == _asked(other[column]) for column in shared)


def _asked(cell: PublishedCell) -> str:
    return " ".join(filter(None, [cell.variant, cell.parser]))
