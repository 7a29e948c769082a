"""The style of all figures: colours, axes, and SVG from Altair and vl-convert, without a browser or network access.

The same numbers give the same bytes. In the page, style.css replaces the colours `INK`, `MUTED` and `GRID` by those of
the light or dark theme. The files beside the page have a white background.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from colorsys import hls_to_rgb
from dataclasses import dataclass
from functools import cache
from textwrap import wrap
from typing import Any

from known_unknowns.records import Metric
from known_unknowns.report.formatting import Table

INK, MUTED, GRID = "#2b3138", "#5c6671", "#e2e5e9"
GREY = "#98a1ab"
_BASELINES = ("#6f675d", "#8b8278", "#a59c92", "#bdb5ac")
"""Warm greys of scripted baselines, unlike the grey of published models."""
PUBLISHED = "published"
VALIDATE = False
"""Whether charts are checked against Vega-Lite's schema, which takes longer than drawing them. The tests do it."""

DOT_PLOT_SIZE: dict[str, Any] = {"width": 470, "height": {"step": 8, "for": "offset"}}
"""Properties of a dot plot: 8 px between two models in a row."""

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


def model_colours(
    models: Sequence[str], *, baselines: Collection[str] = (), published: bool = False
) -> tuple[list[str], list[str]]:
    """Return the names of a colour legend and their colours: the models of this run, then published models in grey.

    The scripted ``baselines`` among the models are grey too. A model has the same colour in all figures of a run.
    """
    own = [model for model in models if model not in baselines]
    scripted = [model for model in models if model in baselines]
    found = {model: _MODELS[i] if i < len(_MODELS) else _further_colour(i) for i, model in enumerate(own)}
    found |= {model: _BASELINES[i % len(_BASELINES)] for i, model in enumerate(scripted)}
    colours = [found[model] for model in models]
    return ([*models, PUBLISHED], [*colours, GREY]) if published else ([*models], colours)


def _further_colour(number: int) -> str:
    """Return a colour for a model beyond the palette: hues a golden angle apart, in three lightnesses."""
    hue, lightness = number * 0.618034 % 1, (0.36, 0.5, 0.62)[number % 3]
    return "#" + "".join(f"{round(255 * part):02x}" for part in hls_to_rgb(hue, lightness, 0.5))


def percent_axis(field: str, title: str, *, highest: float = 100) -> dict[str, Any]:
    """Return the arguments of a channel from 0 to ``highest`` percent, with a tick at every 20."""
    import altair as alt

    scale = alt.Scale(domain=[-0.03 * highest, 1.03 * highest], nice=False)
    ticks = alt.Axis(values=[tick for tick in (0, 20, 40, 60, 80, 100) if tick <= highest], format="d")
    return {"field": field, "type": "quantitative", "scale": scale, "axis": ticks, "title": title}


def stacked_shares(
    rows: Sequence[Mapping[str, Any]],
    models: Sequence[str],
    *,
    part: str,
    colours: Mapping[str, str],
    facet: str,
    order: Sequence[str],
    legend: Any,
    baselines: Collection[str] = (),
    width: int = 520,
) -> Any:
    """Return a chart of stacked bars, one for each model in each facet.

    Parameters
    ----------
    rows : sequence of mapping
        The parts of the bars: "model", "share" in percent, "place" in the bar, and the fields ``part`` and ``facet``.
    models : sequence of str
        The models in their order.
    part : str
        The field with the name of a part.
    colours : mapping of str to str
        The parts with their colours.
    facet : str
        The field with the name of a facet.
    order : sequence of str
        The facets in their order.
    legend : alt.Legend
        The legend of the parts.
    baselines : collection of str
        The scripted respondents among the models, drawn pale.
    width : int
        The width in pixels.
    """
    import altair as alt

    ticks = alt.Axis(values=[0, 25, 50, 75, 100], format="d")
    share = alt.X("share:Q", stack="zero", scale=alt.Scale(domain=[0, 100]), axis=ticks)
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return (
        alt.Chart(alt.Data(values=[{**row, "pale": row["model"] in baselines} for row in rows]))
        .mark_bar(height={"band": 0.82})
        .encode(
            x=share.title("percent of questions"),
            y=alt.Y("model:N", sort=list(models), title=None),
            color=alt.Color(f"{part}:N", scale=scale, legend=legend),
            order=alt.Order("place:Q"),
            opacity=alt.Opacity("pale:N", scale=alt.Scale(domain=[False, True], range=[1, 0.45]), legend=None),
        )
        .properties(width=width, height={"step": 17})
        .facet(row=facet_rows(facet, order), spacing=16)
    )


def facet_rows(field: str, order: Sequence[str]) -> Any:
    """Return the channel of facets below each other, each with its name at the top."""
    import altair as alt

    header = alt.Header(orient="top", labelAnchor="start", labelFontWeight="bold", labelPadding=3)
    return alt.Row(f"{field}:N", sort=list(order), title=None, header=header)


def parts_legend() -> Any:
    """Return the legend of parts with long names."""
    import altair as alt

    return alt.Legend(title=None, columns=2, columnPadding=60, rowPadding=4, symbolType="square", labelLimit=320)


def dot_channels(
    row: str, order: Sequence[str], models: Sequence[str], *, baselines: Collection[str] = (), published: bool = False
) -> dict[str, Any]:
    """Return the channels of a dot plot: a row for each value of the field ``row``, in it a dot for each model."""
    import altair as alt

    names, colours = model_colours(models, baselines=baselines, published=published)
    axis = alt.Axis(grid=True, tickBand="extent", ticks=False)
    legend = alt.Legend(columns=4, columnPadding=28)
    return {
        "y": alt.Y(f"{row}:N", sort=list(order), title=None, axis=axis),
        "yOffset": alt.YOffset("model:N", sort=names),
        "color": alt.Color("model:N", scale=alt.Scale(domain=names, range=colours), title="Model", legend=legend),
    }


def interval_dots(base: Any, title: str) -> list[Any]:
    """Return the layers of a dot plot of ``base``: intervals from "low" to "high", and dots at "value", in percent."""
    import altair as alt

    bars = base.mark_rule(strokeWidth=1.6, opacity=0.6, aria=False)
    dots = base.mark_point(filled=True, size=34, opacity=1)
    return [
        bars.encode(x=alt.X(**percent_axis("low", title)), x2="high:Q"),
        dots.encode(x=alt.X(**percent_axis("value", title))),
    ]


def figure(name: str, title: str, chart: Any, alt_text: str, *, note: str = "", table: Table | None = None) -> Figure:
    """Draw a chart twice: with its title for the file, and without for the page."""
    specification = chart.to_dict(validate=VALIDATE) | {"config": _config()}
    alone = _render(specification | {"title": title, "background": "white"})
    inline = _with_own_ids(_render(specification | {"background": "transparent"}), name)
    return Figure(name, title, alone, inline, alt_text, note, table)


def placeholder(name: str, title: str, why: str) -> Figure:
    """Return a figure with the reason why it is not drawn. The workflow declares the file for every configuration.

    The lines of the reason fit the width of a phone.
    """
    import altair as alt

    lines = wrap(why, 36)
    chart = alt.Chart(alt.Data(values=[{}])).mark_text(text=lines, fontSize=14, color=MUTED)
    return figure(name, title, chart.properties(width=270, height=60 + 20 * len(lines)), why)


@cache
def _config() -> dict[str, Any]:
    """Return the style as Vega-Lite's configuration. Altair's own methods copy the chart with its data each time."""
    import altair as alt

    styled = (
        alt.Chart(alt.Data(values=[]))
        .mark_point()
        .configure(font=_FONT, padding=_PADDING)
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
    return styled.to_dict()["config"]


def _render(specification: Mapping[str, Any]) -> str:
    import altair as alt
    import vl_convert

    version = ".".join(alt.SCHEMA_VERSION.split(".")[:2])
    return vl_convert.vegalite_to_svg(dict(specification), vl_version=version)


def _with_own_ids(svg: str, prefix: str) -> str:
    """Make the ids of an SVG unique in the page: each SVG numbers its clip paths from 0."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
