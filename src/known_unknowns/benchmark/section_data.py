"""What the report shows of one benchmark and cannot read from the metrics: data of figures and tables, without drawing.

A figure is a data frame and the kind of figure; the report has one recipe for each kind
(`known_unknowns.report.data_figures`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from known_unknowns.records import Metric

if TYPE_CHECKING:
    import pandas as pd

Value = Metric | str | int | None
"""A cell: a metric with its interval, a text, a count, or None if nothing was measured."""


@dataclass(frozen=True)
class TableData:
    """A table.

    Attributes
    ----------
    caption : str
        What the numbers are, in percent unless it says otherwise. The report adds the level of the intervals.
    corner : tuple of str
        Headings of the row headings.
    columns : sequence of str
        Headings of the columns.
    rows : sequence of (tuple of str, sequence of Value)
        The headings and the cells of each row.
    groups : sequence of (str, int)
        Headings above those of the columns, with their number of columns; none if empty.
    """

    caption: str
    corner: tuple[str, ...]
    columns: Sequence[str]
    rows: Sequence[tuple[tuple[str, ...], Sequence[Value]]]
    groups: Sequence[tuple[str, int]] = ()


@dataclass(frozen=True)
class FigureData:
    """A figure.

    Attributes
    ----------
    name, title : str
        File name without its suffix, as section.yaml lists it, and title.
    absent : str
        Why it is not drawn; empty if it is.
    alt, note : str
        The text alternative, and the text below the figure.
    parser : str
        The parser of the answers, which the text below the figure names; none if empty.
    table : TableData, optional
        The numbers in the figure.
    """

    name: str
    title: str
    absent: str = ""
    alt: str = ""
    note: str = ""
    parser: str = ""
    table: TableData | None = None


@dataclass(frozen=True)
class SharesData(FigureData):
    """Stacked bars of shares that add up to 1.

    Attributes
    ----------
    frame : DataFrame
        Columns "model", "facet", "part" and "share" (from 0 to 1).
    parts : mapping of str to str
        The parts in their order in a bar, with their colours.
    """

    frame: pd.DataFrame | None = None
    parts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PointsData(FigureData):
    """Points in a plane, with error bars, and curves.

    Attributes
    ----------
    frame : DataFrame
        Columns "model", "series", "x", "x_low", "x_high", "y", "y_low" and "y_high". Bounds are missing where there is
        no interval.
    axes : (str, str)
        Titles. Axes with "%" in their title are from 0 to 100, others from 0 to the largest value.
    series : tuple of str
        The series in the order of their shapes.
    curves : DataFrame, optional
        Columns "model", "x" and "y".
    """

    frame: pd.DataFrame | None = None
    axes: tuple[str, str] = ("", "")
    series: tuple[str, ...] = ()
    curves: pd.DataFrame | None = None


@dataclass(frozen=True)
class SectionData:
    """The data of a benchmark's section: its figures, and tables and other values by their name in the template."""

    figures: Sequence[FigureData] = ()
    tables: Mapping[str, TableData] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
