"""What the report shows of MM-SAP alone: the papers' tables in their own layout, consistency, and figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from known_unknowns.published import Compared, PublishedCell, load
from known_unknowns.published.cells import PERCENT
from known_unknowns.published.mmsap import spread_as_published
from known_unknowns.records import Metric
from known_unknowns.report import mmsap_figures
from known_unknowns.report.cells import Cell, Head, Row, Table, metric_cell, say_n_once
from known_unknowns.report.tabulate import Run, confidence

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

Way = tuple[str, str | None]
"""In which variant, and by which scorer alone, if by one, the rows of a table were made."""
_WAYS: dict[Way, str] = {
    ("shuffled_refusal_prompt", None): "refusal prompt",
    ("shuffled_options", "likelihood"): "perplexity",
}


@dataclass(frozen=True, slots=True)
class PaperTable:
    """``notes`` are the table's footnotes, by their mark."""

    name: str
    table: Table
    notes: Mapping[str, str]
    first: bool


def build(run: Run, compared: Sequence[Compared], *, results: Path, data: Path) -> dict[str, Any]:
    """All of it, by the names that mmsap.html.j2 uses; ``figures`` are those to be written beside the page."""
    cells = load(run.benchmark)
    figures = [
        mmsap_figures.scores(run, cells),
        mmsap_figures.subtasks(run),
        mmsap_figures.quadrant(run),
        mmsap_figures.risk_coverage(run, results=results, data=data),
    ]
    return {
        "links": {"papers": "The papers' tables", "awareness": "Self-awareness", "consistency": "Consistency"},
        "tables": [paper_table(name, run, cells, compared) for name in TITLES],
        "consistency": consistency(run),
        "figures": figures,
    }


def paper_table(name: str, run: Run, cells: Iterable[PublishedCell], compared: Iterable[Compared]) -> PaperTable:
    """One of the papers' tables: their rows and columns, each model of ours under the row that it stands for, and
    first those that stand for none."""
    rows = _rows(name, cells)
    judged = {(c.row, c.column, c.model, c.scorer): c for c in compared if c.table == name and c.model is not None}
    standing = {model for _, _, model, _ in judged}
    ways = {_way(row[0]): row for row in rows.values()}
    marks = _Marks()
    body = [
        Row((_our_head(model, way),), tuple(_ours(run, model, cell, None) for cell in row))
        for model in run.models
        if model not in standing
        for way, row in ways.items()
    ]
    for row_name, row in rows.items():
        body.append(_published_row(row_name, row, marks))
        for model in run.models:
            if (verdicts := [judged.get((row_name, c.column, model, _scorer(run, c))) for c in row]) and any(verdicts):
                shown = (_ours(run, model, cell, verdict) for cell, verdict in zip(row, verdicts, strict=True))
                body.append(Row((_our_head(model, _way(row[0])),), tuple(shown)))
    groups, columns = _headings(next(iter(rows.values())))
    columns, body = say_n_once(columns, body)
    caption = f"{TITLES[name]}, with {confidence(run)} intervals of ours"
    table = Table(caption, ("Model",), columns, body, groups)
    return PaperTable(name, table, {mark: text for text, mark in marks.of.items()}, "first" in name)


def _rows(name: str, cells: Iterable[PublishedCell]) -> dict[str, list[PublishedCell]]:
    """The rows of a table, those of one model beside each other."""
    by_model: dict[str, dict[str, list[PublishedCell]]] = {}
    for cell in cells:
        if cell.table == name:
            by_model.setdefault(cell.model, {}).setdefault(cell.row, []).append(cell)
    return {row: found for rows in by_model.values() for row, found in rows.items()}


class _Marks:
    """Footnotes, numbered in the order in which they are met."""

    def __init__(self) -> None:
        self.of: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        return self.of.setdefault(text, str(len(self.of) + 1)) if text else ""


def _way(cell: PublishedCell) -> Way:
    return cell.variant, cell.scorer


def _our_head(model: str, way: Way) -> Head:
    return Head(model, note=", ".join(filter(None, ["this run", _WAYS.get(way, "")])))


def _headings(row: Sequence[PublishedCell]) -> tuple[tuple[Head, ...], list[Head]]:
    """Columns of one subset under its name, where they have more than that name."""
    parts = [_parts(cell.column) for cell in row]
    if not any(group for group, _ in parts):
        return (), [Head(cell.column) for cell in row]
    spans: dict[str, int] = {}
    for group, _ in parts:
        spans[group] = spans.get(group, 0) + 1
    return tuple(Head(group, span=span) for group, span in spans.items()), [Head(text) for _, text in parts]


def _parts(column: str) -> tuple[str, str]:
    group, _, rest = column.partition(" ")
    return (group, rest) if group in _SUBSETS and rest else ("", column)


def _published_row(name: str, row: Sequence[PublishedCell], marks: _Marks) -> Row:
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
    return cell.scorer or mmsap_figures.scorer(run)


def _ours(run: Run, model: str, cell: PublishedCell, verdict: Compared | None) -> Cell:
    """Our number for a published cell, with the verdict where the model stands for its row."""
    metric = run.get(model, cell.variant, _scorer(run, cell), cell.metric, cell.category)
    shown = replace(metric_cell(metric) if cell.unit == PERCENT else _count(metric), kind="number stacked")
    notes = [] if cell.spread is None else [_spread(run, cell, metric)]
    if verdict is not None:
        notes.append(verdict.verdict)
        shown = replace(shown, title=f"{verdict.reason}; {shown.title}")
    return replace(shown, note=", ".join(filter(None, notes)))


def _count(metric: Metric | None) -> Cell:
    """A number of questions, which is no percentage."""
    if metric is None or metric.value is None:
        return metric_cell(metric)
    bounds = "" if metric.low is None or metric.high is None else f"[{metric.low:.1f}, {metric.high:.1f}]"
    return Cell(f"{metric.value:.1f}", bounds, metric.n, title=metric.method)


def _spread(run: Run, cell: PublishedCell, metric: Metric | None) -> str:
    """As the first preprint counts it after its \u00b1."""
    if metric is None or metric.spread is None:
        return ""
    runs = len(run.seeds[cell.variant])
    return f"\u00b1 {100 * spread_as_published(metric.spread, runs):.1f} over {runs} runs"


def consistency(run: Run) -> Table | None:
    """Whether answers stay when options move, per model and variant; None where no variant had several seeds."""
    rows = list(_consistency_rows(run))
    if not rows:
        return None
    columns, rows = say_n_once([Head(label) for label in _CONSISTENCY.values()], rows)
    caption = f"{run.section.title}: the same questions with their options in another order, with {confidence(run)} "
    groups = (Head("of all questions", span=2), Head("of answers whose option moved", span=3))
    return Table(f"{caption}intervals", ("Model", "Variant"), columns, rows, groups)


def _consistency_rows(run: Run) -> Iterator[Row]:
    for model in run.models:
        measured = {
            variant: [run.get(model, variant, mmsap_figures.scorer(run), name) for name in _CONSISTENCY]
            for variant in run.variants
        }
        measured = {variant: metrics for variant, metrics in measured.items() if any(metrics)}
        for place, (variant, metrics) in enumerate(measured.items()):
            heads = [Head(model, span=len(measured))] if place == 0 else []
            heads.append(Head(run.section.name(variant), note=f"{len(run.seeds[variant])} runs"))
            yield Row(tuple(heads), tuple(replace(metric_cell(m), kind="number stacked") for m in metrics))
