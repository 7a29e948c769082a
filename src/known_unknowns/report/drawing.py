"""The style of all figures: colours, axes, and SVG from Altair and vl-convert, without a browser or network access.

The same numbers give the same bytes. In the page, style.css replaces the colours `INK`, `MUTED` and `GRID` by those of
the light or dark theme. The files beside the page have a white background.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

from known_unknowns.records import Metric
from known_unknowns.report.formatting import Table

INK, MUTED, GRID = "#2b3138", "#5c6671", "#e2e5e9"
GREY = "#98a1ab"
PUBLISHED = "published"

_MODELS = ("#2a78c8", "#d9722e", "#22936b", "#bf4f88", "#8461cf", "#a98500", "#1399ad", "#d24848")
_PADDING = {"left": 26, "right": 34, "top": 5, "bottom": 5}  # px: the installed font may be wider than the measured one
_FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure as a file (``svg``) and as a part of the page (``inline``), with its text alternative (``alt``)."""

    name: str
    title: str
    svg: str
    inline: str
    alt: str
    note: str = ""
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One coordinate of a point in percent, with its interval. Published coordinates have no interval."""

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, metric: Metric | None) -> Coordinate | None:
        if metric is None or metric.value is None:
            return None
        bounds = (None if b is None else 100 * b for b in (metric.low, metric.high))
        return cls(100 * metric.value, *bounds)


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a model. ``series`` tells the points of a model apart."""

    model: str
    series: str
    x: Coordinate
    y: Coordinate

    def row(self) -> dict[str, Any]:
        row: dict[str, Any] = {"model": self.model, "series": self.series}
        for name, axis in (("x", self.x), ("y", self.y)):
            row |= {name: axis.value, f"{name}_low": axis.low, f"{name}_high": axis.high}
        return row


def model_colours(models: Sequence[str], *, published: bool = False) -> tuple[list[str], list[str]]:
    """Return the names of a colour legend and their colours: the models of this run, then published models in grey."""
    colours = [_MODELS[i % len(_MODELS)] for i in range(len(models))]
    return ([*models, PUBLISHED], [*colours, GREY]) if published else ([*models], colours)


def percent_axis(field: str, title: str, *, highest: float = 100) -> dict[str, Any]:
    """Return the arguments of a channel from 0 to ``highest`` percent, with a tick at every 20."""
    import altair as alt

    scale = alt.Scale(domain=[-0.03 * highest, 1.03 * highest], nice=False)
    ticks = alt.Axis(values=[tick for tick in (0, 20, 40, 60, 80, 100) if tick <= highest], format="d")
    return {"field": field, "type": "quantitative", "scale": scale, "axis": ticks, "title": title}


def figure(name: str, title: str, chart: Any, alt_text: str, *, note: str = "", table: Table | None = None) -> Figure:
    chart = _styled(chart)
    alone = _render(chart.properties(title=title, background="white"))
    inline = _with_own_ids(_render(chart.properties(background="transparent")), name)
    return Figure(name, title, alone, inline, alt_text, note, table)


def placeholder(name: str, title: str, why: str) -> Figure:
    """Return a figure with the reason why it is not drawn. The workflow declares the file for every configuration."""
    import altair as alt

    chart = alt.Chart(alt.Data(values=[{}])).mark_text(text=why, fontSize=14, color=MUTED)
    return figure(name, title, chart.properties(width=520, height=80), why)


def _styled(chart: Any) -> Any:
    return (
        chart.configure(font=_FONT, padding=_PADDING)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=MUTED,
            titleColor=INK,
            gridColor=GRID,
            domainColor=GRID,
            tickColor=GRID,
            labelFontSize=12,
            titleFontSize=13,
            titleFontWeight="normal",
            labelLimit=220,
        )
        .configure_legend(
            orient="bottom", labelColor=INK, titleColor=INK, labelFontSize=12, titleFontSize=12, labelLimit=220
        )
        .configure_title(color=INK, fontSize=15, anchor="start")
        .configure_header(labelColor=INK, labelFontSize=13)
    )


def _render(chart: Any) -> str:
    buffer = StringIO()
    chart.save(buffer, format="svg")
    return buffer.getvalue()


def _with_own_ids(svg: str, prefix: str) -> str:
    """Make the ids of an SVG unique in the page: each SVG numbers its clip paths from 0."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
