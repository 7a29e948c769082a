"""The style of all figures: colours, axes, and SVG from Altair and vl-convert, without a browser or network access.

The same numbers give the same bytes. In the page, style.css replaces the colours `INK`, `MUTED` and `GRID` by those of
the light or dark theme. The files beside the page have a white background.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from colorsys import hls_to_rgb
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from math import ceil
from textwrap import wrap
from typing import Any

from known_unknowns.report.formatting import Table

INK, MUTED, GRID = "#2b3138", "#5c6671", "#e2e5e9"
GREY, BASELINE = "#98a1ab", "#6f675d"
"""Colours of published models, and of scripted baselines."""
VALIDATE = False
"""Whether charts are checked against Vega-Lite's schema, which takes longer than drawing them. The tests do it."""

_MODELS = ("#2a78c8", "#d9722e", "#22936b", "#bf4f88", "#8461cf", "#a98500", "#1399ad", "#d24848")
_LETTER = 0.6
"""The widest mean width of a title's letters, of the size of its font."""
_SIZE = re.compile(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"')
_PADDING = {"left": 26, "right": 34, "top": 5, "bottom": 5}  # px: the installed font may be wider than the measured one
_EMPTY = re.compile(r'<g class="[^"]*" role="graphics-symbol"[^>]*/>')
"""A layer without marks, which Vega gives the role of an image and no name."""
_DESCRIBED = re.compile(r'<(\w+) aria-label="([^"]*)" role="graphics-symbol" aria-roledescription="[^"]*"([^>]*?)(/?)>')
_FONT = "Arial, Helvetica, Liberation Sans, Roboto, sans-serif"  # of the same widths as the font that is measured


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure as a file (``svg``) and as a part of the page (``inline``), with its text alternative (``alt``).

    ``absent`` says why it is not drawn. The page then has this text, and the file an image of it.
    """

    name: str
    title: str
    svg: str
    inline: str
    alt: str
    note: str = ""
    table: Table | None = None
    caveat: str = ""
    absent: str = ""


def model_colours(models: Sequence[str]) -> dict[str, str]:
    """Return the colours of models. A model has the same colour in all figures of a run."""
    return {model: _MODELS[i] if i < len(_MODELS) else _further_colour(i) for i, model in enumerate(models)}


def _further_colour(number: int) -> str:
    """Return a colour for a model beyond the palette: hues a golden angle apart, in three lightnesses."""
    hue, lightness = number * 0.618034 % 1, (0.36, 0.5, 0.62)[number % 3]
    return "#" + "".join(f"{round(255 * part):02x}" for part in hls_to_rgb(hue, lightness, 0.5))


def figure(
    name: str, title: str, chart: Any, alt_text: str, *, note: str = "", table: Table | None = None, caveat: str = ""
) -> Figure:
    """Draw a chart, for the page; the file has its title besides.

    ``caveat`` is what a reader of the figure alone must know; it is the subtitle in the file, and in the caption.
    """
    specification = chart.to_dict(validate=VALIDATE) | {"config": _config(), "background": "transparent"}
    drawn = _render(specification)
    return Figure(name, title, _titled(drawn, title, caveat), _with_own_ids(drawn, name), alt_text, note, table, caveat)


def placeholder(name: str, title: str, why: str) -> Figure:
    """Return a figure with the reason why it is not drawn. The workflow declares the file for every configuration."""
    import altair as alt

    lines = wrap(why, 36)
    chart = alt.Chart(alt.Data(values=[{}])).mark_text(text=lines, fontSize=14, color=MUTED)
    return replace(figure(name, title, chart.properties(width=270, height=60 + 20 * len(lines)), why), absent=why)


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
            labelLimit=0,
        )
        .configure_legend(
            orient="bottom",
            labelColor=INK,
            titleColor=INK,
            labelFontSize=12,
            titleFontSize=12,
            labelLimit=0,
            titleLimit=0,
        )
        .configure_header(labelColor=INK, labelFontSize=13)
    )
    config = styled.to_dict()["config"]
    config["legend"]["layout"] = {"bottom": {"direction": "vertical", "anchor": "start", "margin": 6}}  # not in Altair
    return config


def _render(specification: Mapping[str, Any]) -> str:
    """Return a chart as SVG, in which the descriptions of marks are hover text."""
    import altair as alt
    import vl_convert

    version = ".".join(alt.SCHEMA_VERSION.split(".")[:2])
    svg = vl_convert.vegalite_to_svg(dict(specification), vl_version=version)
    return _DESCRIBED.sub(_with_title, _EMPTY.sub("", svg))


def _titled(svg: str, title: str, caveat: str) -> str:
    """Return a drawing as a file: on white, below its title and the caveat."""
    size = _SIZE.search(svg)
    assert size is not None, "the drawing has no finite size"
    width, height = (ceil(float(side)) for side in size.groups())
    lines, top = [], _PADDING["top"]
    for text, pixels, style in ((title, 15, f'font-weight="bold" fill="{INK}"'), (caveat, 11, f'fill="{MUTED}"')):
        for line in wrap(text, int((width - 2 * _PADDING["left"]) / (pixels * _LETTER))):
            top += pixels + 3
            lines.append(f'<text x="{_PADDING["left"]}" y="{top}" font-size="{pixels}" {style}>{escape(line)}</text>')
        top += 5
    moved = svg.replace("<svg ", f'<svg y="{top}" ', 1)
    sized = f'width="{width}" height="{top + height}" viewBox="0 0 {width} {top + height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {sized} font-family="{_FONT}">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(lines)}'
        f"{moved}</svg>"
    )


def _with_title(mark: re.Match[str]) -> str:
    tag, title, others, closed = mark.groups()
    return f"<{tag}{others}><title>{title}</title>{f'</{tag}>' if closed else ''}"


def _with_own_ids(svg: str, prefix: str) -> str:
    """Make the ids of an SVG unique in the page: each SVG numbers its clip paths from 0."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
