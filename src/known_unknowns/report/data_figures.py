"""Draw the figures and tables whose data a benchmark gives: one recipe for each kind of figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pandas import isna

from known_unknowns.benchmark.section_data import FigureData, PointsData, SharesData, TableData, Value
from known_unknowns.metrics.run import Run
from known_unknowns.records import Metric
from known_unknowns.report import charts
from known_unknowns.report.charts import Axis, Coordinate
from known_unknowns.report.drawing import Figure, figure, placeholder
from known_unknowns.report.figures import parsed
from known_unknowns.report.formatting import Cell, Head, Table, make_row, make_table, mark_baselines, metric_cell
from known_unknowns.report.tables import confidence

if TYPE_CHECKING:
    import pandas as pd

_MOST_BESIDE = 4
"""The largest number of columns whose intervals are beside their numbers, not below them."""


def draw(data: FigureData, run: Run) -> Figure:
    """Draw a figure, or say why it is absent."""
    if data.absent:
        return placeholder(data.name, data.title, f"not drawn: {data.absent}")
    if isinstance(data, SharesData):
        chart = _shares(data, run)
    elif isinstance(data, PointsData):
        chart = _points(data)
    else:
        raise TypeError(f"no recipe draws {type(data).__name__}")
    note = " ".join(filter(None, [data.note, parsed(run, data.parser) if data.parser else ""]))
    table = None if data.table is None else table_of(data.table, run)
    return figure(data.name, data.title, chart, data.alt, note=note, table=table, caveat=run.caveat)


def table_of(data: TableData, run: Run) -> Table:
    """Return a table, with n in the heading of each column whose cells share it."""
    is_stacked = len(data.columns) > _MOST_BESIDE
    rows = [make_row(heads, [_cell(value, is_stacked=is_stacked) for value in cells]) for heads, cells in data.rows]
    values = [value for _, cells in data.rows for value in cells]
    has_intervals = any(isinstance(value, Metric) and value.low is not None for value in values)
    caption = f"{data.caption}, with {confidence(run)} intervals" if has_intervals else data.caption
    groups = [Head(text, span=span) for text, span in data.groups]
    columns = map(Head, data.columns)
    table = make_table(caption, data.corner, columns, rows, groups=groups, moves_n=True)
    return mark_baselines(table, run.baselines)


def _cell(value: Value, *, is_stacked: bool) -> Cell:
    if isinstance(value, str):
        return Cell(value, kind="plain")
    if isinstance(value, int):
        return Cell(f"{value:,}", kind="plain")
    cell = metric_cell(value)
    return replace(cell, kind="number stacked") if is_stacked else cell


def _shares(data: SharesData, run: Run) -> Any:
    assert data.frame is not None  # it is not absent
    frame = data.frame.assign(share=100 * data.frame["share"])
    return charts.shares(
        frame.to_dict("records"),
        run.models,
        part="part",
        colours=data.parts,
        facet="facet",
        order=list(frame["facet"].unique()),
        baselines=run.baselines,
    )


def _points(data: PointsData) -> Any:
    assert data.frame is not None  # it is not absent
    axes = [_axis(title, data.frame[name]) for name, title in zip(("x", "y"), data.axes, strict=True)]
    lines = (
        []
        if data.curves is None
        else data.curves.assign(series="").rename(columns={"model": "facet"}).to_dict("records")
    )
    return charts.curves(
        *axes,
        facets=list(data.frame["model"].unique()),
        series=data.series,
        lines=lines,
        dots=[_dot(row) for row in data.frame.to_dict("records")],
    )


def _dot(row: Mapping[Any, Any]) -> dict[str, Any]:
    x, y = _coordinate(row, "x"), _coordinate(row, "y")
    return {
        "facet": row["model"],
        "series": row["series"],
        "x": x.value,
        "x_low": x.low,
        "x_high": x.high,
        "y": y.value,
        "low": y.low,
        "high": y.high,
        "hover": f"{row['model']}, {row['series']}: {x}; {y}",
    }


def _coordinate(row: Mapping[Any, Any], axis: str) -> Coordinate:
    low, high = row[f"{axis}_low"], row[f"{axis}_high"]
    return Coordinate(row[axis]) if isna(low) else Coordinate(row[axis], low, high)


def _axis(title: str, values: pd.Series) -> Axis:
    return Axis(title) if "%" in title else Axis(title, 0, max(float(values.max()), 0) or 1, tick=0)
