"""The five kinds of charts: points in a plane, dots by model, stacked shares, a grid of numbers, and curves.

Scripted baselines and published models are grey where models have colours; in dots, bars and grids, the baselines are
below a rule. Legends and axes name models, baselines and series. Marks have their names and numbers as hover text, and
published models are named there only.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from known_unknowns.records import Metric
from known_unknowns.report.drawing import BASELINE, GREY, INK, MUTED, model_colours

MODEL, SCRIPTED, PUBLISHED = "model", "baseline", "published"
"""Kinds of points."""
FONT, SMALL = 12, 10
"""Font sizes of the names of models, and of numbers."""
SIZE = (520, 380)
_CHARACTER, _LINE = 0.6, 1.1
"""Mean width of a character and height of a line, as a share of the font size."""
_MARGIN = 0.03
"""Share of an axis beyond each of its ends."""
_MOST_FACETS = 9
"""The largest number of facets below each other."""
_MOST_WIDE = 12
"""The largest number of facets of curves in two columns. More are in four."""
_SPACING = 20
"""Pixels between facets."""
_DASHES = ([5, 4], [1, 3], [8, 3, 1, 3])
"""Reference lines."""
_PUBLISHED = "published models"
_NEW_LINE = " | "
"""What separates the lines of a facet's heading."""
RULE = " "
"""The place of the rule between models and baselines, among their names."""
_SHADES, _DARK_FROM, _GRID_INK = ("#eef3f8", "#1f5fa8"), 75, "#1c1a12"
"""Colours of cells with 0% and 100%, the percentage from which their text is white, and that of other texts."""
_SHAPES = ("circle", "diamond", "square", "triangle-up", "cross", "triangle-down", "triangle-right", "triangle-left")
_AREAS = {MODEL: 75, SCRIPTED: 60, PUBLISHED: 30}
"""Square pixels of a point."""
_GREYS = {SCRIPTED: BASELINE, PUBLISHED: GREY}
_LEVEL = "level"
_IS_OURS, _IS_PUBLISHED, _IS_LEVEL = (
    f"datum.kind == '{MODEL}' || datum.kind == '{SCRIPTED}'",
    f"datum.kind == '{PUBLISHED}'",
    f"datum.kind == '{_LEVEL}'",
)
"""Which rows of the data a layer has."""


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One coordinate of a point, with its interval. Published coordinates have no interval."""

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, metric: Metric | None) -> Coordinate | None:
        """Return a metric in percent; None if it was not measured or is undefined."""
        if metric is None or metric.value is None:
            return None
        bounds = (None if b is None else 100 * b for b in (metric.low, metric.high))
        return cls(100 * metric.value, *bounds)

    @property
    def ends(self) -> tuple[float, float]:
        """The interval; the value twice without one."""
        return (self.value, self.value) if self.low is None or self.high is None else (self.low, self.high)

    def __str__(self) -> str:
        bounds = "" if self.low is None or self.high is None else f" [{self.low:.1f}, {self.high:.1f}]"
        return f"{self.value:,.1f}{bounds}"


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a model in a plane. ``series`` tells the points of a model apart."""

    model: str
    series: str
    x: Coordinate
    y: Coordinate
    kind: str = MODEL

    @property
    def spot(self) -> tuple[float, float]:
        """Its place; points closer than a pixel are at the same one."""
        return round(self.x.value, 3), round(self.y.value, 3)


@dataclass(frozen=True, slots=True)
class Dot:
    """A dot of a model in a row of dots; ``group`` is the heading over the row."""

    model: str
    row: str
    x: Coordinate
    kind: str = MODEL
    group: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A dashed line between two points, with its name at the first one."""

    name: str
    x: float
    y: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear axis: its title in words, its ends, and the distance of its ticks, which is chosen if it is 0."""

    title: str
    low: float = 0.0
    high: float = 100.0
    tick: float = 20.0

    @classmethod
    def around(cls, title: str, values: Collection[float], *, tick: float = 10.0) -> Axis:
        """Return an axis of percentages: the values, rounded outwards to a tick, at least two ticks apart."""
        low, high = tick * math.floor(min(values) / tick), tick * math.ceil(max(values) / tick)
        while high - low < 2 * tick:
            low, high = max(0.0, low - tick), min(100.0, high + tick)
        return cls(title, low, high, tick if high - low <= 6 * tick else 2 * tick)

    @property
    def ends(self) -> tuple[float, float]:
        margin = _MARGIN * (self.high - self.low)
        return self.low - margin, self.high + margin

    def channel(self, field: str, *, length: int = 0) -> dict[str, Any]:
        """Return the arguments of a channel of Altair, with a title that is not longer than ``length`` in pixels."""
        import altair as alt

        axis = alt.Axis(format=",~f", tickCount=7)
        if self.tick:
            numbers = range(math.ceil(self.low / self.tick), math.floor(self.high / self.tick) + 1)
            axis = alt.Axis(values=[self.tick * number for number in numbers], format=",~f")
        scale = alt.Scale(domain=list(self.ends), nice=False)
        title = _wrapped(self.title, length) if length else self.title
        return {"field": field, "type": "quantitative", "scale": scale, "axis": axis, "title": title}


def joined(points: Iterable[Point]) -> list[tuple[Point, Point]]:
    """Return the pairs of different points of models that have two."""
    of: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        of.setdefault((point.model, point.kind), []).append(point)
    return [(p[0], p[1]) for p in of.values() if len(p) == 2 and p[0].spot != p[1].spot]


def points(
    found: Sequence[Point],
    x: Axis,
    y: Axis,
    models: Sequence[str],
    *,
    series: Sequence[str] = ("",),
    lines: Sequence[Line] = (),
    pairs: Sequence[tuple[Point, Point]] = (),
    size: tuple[int, int] = SIZE,
) -> Any:
    """Return a chart of points with error bars.

    ``models`` are those of the run without baselines; their order gives the colours. ``series`` are in the order of
    their shapes; points of the first one are filled. Baselines have shapes of their own. ``pairs`` of points are joined
    by a line. ``size`` is in pixels.
    """
    import altair as alt

    rows = [_row(point) for point in found]
    ends = [{"x": a.x.value, "y": a.y.value, "x2": b.x.value, "y2": b.y.value} for a, b in pairs]
    across, up, colour = alt.X(**x.channel("x")), alt.Y(**y.channel("y")), _colour(found, models, size[0])
    bars = alt.Chart(alt.Data(values=rows)).mark_rule(strokeWidth=1.4, opacity=0.6, aria=False).encode(color=colour)
    layers = [
        *_lines(lines, across, up),
        _rules(ends, across, up, color=GREY, opacity=0.6),
        bars.encode(x=alt.X(**x.channel("x_low")), x2="x_high:Q", y=up),
        bars.encode(x=across, y=alt.Y(**y.channel("y_low")), y2="y_high:Q"),
    ]
    layers = [layer for layer in layers if layer.data.values]
    scripted = sorted({point.model for point in found if point.kind == SCRIPTED})
    shapes = {
        (PUBLISHED, MODEL): _shape("series", series, _SHAPES, orient="top", symbolStrokeColor=MUTED),
        (SCRIPTED,): _shape("name", scripted, _SHAPES[2:], symbolStrokeColor=BASELINE),
    }
    for kinds, shape in shapes.items():
        marks = []
        for kind in kinds:
            for is_first in (False, True):
                drawn = [row for row in rows if row["kind"] == kind and (row["series"] == series[0]) == is_first]
                mark = alt.Chart(alt.Data(values=drawn)).mark_point(
                    filled=is_first, size=_AREAS[kind], strokeWidth=1.4, opacity=1
                )
                marks.append(mark.encode(x=across, y=up, color=colour, shape=shape, description="hover:N"))
        if any(mark.data.values for mark in marks):
            layers.append(alt.layer(*(mark for mark in marks if mark.data.values)))
    chart = alt.layer(*layers).resolve_scale(shape="independent")
    return chart.properties(width=size[0], height=size[1])


def _row(point: Point) -> dict[str, Any]:
    what = f"{point.model}, {point.series}" if point.series else point.model
    row: dict[str, Any] = {
        "name": _shown_name(point),
        "series": point.series,
        "kind": point.kind,
        "hover": f"{what}: {point.x}; {point.y}",
    }
    for name, axis in (("x", point.x), ("y", point.y)):
        row |= {name: axis.value, f"{name}_low": axis.low, f"{name}_high": axis.high}
    return row


def _colour(found: Sequence[Point], models: Sequence[str], width: int) -> Any:
    """Return the channel of colours, with a legend of the models, and one entry for all published models."""
    import altair as alt

    names = {kind: list(dict.fromkeys(_shown_name(p) for p in found if p.kind == kind)) for kind in _AREAS}
    colours = {name: model_colours(models)[name] for name in names[MODEL]}
    colours |= {name: colour for kind, colour in _GREYS.items() for name in names[kind]}
    shown = [*names[MODEL], *names[PUBLISHED]]
    legend = alt.Legend(
        title=None,
        values=shown,
        columns=_columns(shown, width + 60),
        columnPadding=20,
        symbolLimit=0,
        symbolType="circle",
        symbolOpacity=1,
    )
    return alt.Color(
        "name:N", scale=alt.Scale(domain=list(colours), range=list(colours.values())), legend=legend if shown else None
    )


def _shape(field: str, names: Sequence[str], shapes: Sequence[str], **style: Any) -> Any:
    """Return the channel of shapes, with a legend if a reader needs it."""
    import altair as alt

    scale = alt.Scale(domain=list(names), range=[shapes[place % len(shapes)] for place in range(len(names))])
    columns = _columns(names, SIZE[0])
    legend = alt.Legend(title=None, columns=columns, columnPadding=20, symbolFillColor="transparent", **style)
    is_needed = len(names) > 1 or field == "name"
    return alt.Shape(f"{field}:N", scale=scale, legend=legend if is_needed else None)


def _columns(texts: Collection[str], width: int) -> int:
    """Return the number of columns of a legend: all in one line if they fit."""
    lengths = [FONT * 0.54 * len(text) + 52 for text in texts] or [width]
    return len(lengths) if sum(lengths) <= width else max(1, min(4, int(width // max(lengths))))


def _rules(rows: Sequence[Mapping[str, Any]], x: Any, y: Any, **style: Any) -> Any:
    import altair as alt

    return alt.Chart(alt.Data(values=rows)).mark_rule(aria=False, **style).encode(x=x, y=y, x2="x2:Q", y2="y2:Q")


def _lines(lines: Sequence[Line], x: Any, y: Any) -> list[Any]:
    import altair as alt

    rows = [{"x": line.x, "y": line.y, "x2": line.x2, "y2": line.y2, "name": line.name} for line in lines]
    named = alt.Chart(alt.Data(values=[row for row in rows if row["name"]]))
    text = named.mark_text(align="left", dx=5, dy=-6, color=MUTED, fontSize=SMALL, aria=False)
    return [
        _rules(rows, x, y, strokeDash=[5, 4], color=MUTED, opacity=0.7),
        text.encode(x=x, y=y, text="name:N"),
    ]


def dots(
    found: Sequence[Dot],
    x: Axis,
    models: Sequence[str],
    *,
    lines: Mapping[str, float] | None = None,
    width: int = 460,
    most_columns: int = 3,
) -> Any:
    """Return small multiples of dots with error bars.

    The facets are the rows of the dots, in each a line for each model, and one for all published models; baselines are
    below a rule. If there are fewer models than rows, the facets are the models, in each a line for each row.

    ``models`` are those of the run without baselines; their order gives the colours. ``lines`` are reference lines by
    name. ``width`` is that of all columns, in pixels, and ``most_columns`` their largest number.
    """
    import altair as alt

    by_model = len({dot.model for dot in found}) < len({(dot.group, dot.row) for dot in found})
    facets = list(dict.fromkeys(_panel(dot, by_model=by_model) for dot in found))
    columns = min(most_columns, len(facets))
    width = (width - (columns - 1) * _SPACING) // columns
    headings = {facet: _heading(facet, width) for facet in facets}
    colours = model_colours(models) | {dot.model: _GREYS[dot.kind] for dot in found if dot.kind in _GREYS}
    values: list[dict[str, Any]] = [
        {
            "facet": headings[_panel(dot, by_model=by_model)],
            "line": dot.row if by_model else _shown_name(dot),
            "kind": dot.kind,
            "colour": colours[dot.model],
            "value": dot.x.value,
            "low": dot.x.low,
            "high": dot.x.high,
            "hover": f"{', '.join(filter(None, [dot.model, dot.row]))}: {dot.x}",
        }
        for dot in found
    ]
    names = _lines_of_rows(found) if by_model else _lines_of_models(found)
    of_line = alt.Y(
        "line:N", title=None, scale=alt.Scale(domain=names), axis=_named_ticks(names, {dot.group for dot in found})
    )
    value, low = (alt.X(**x.channel(name, length=width)) for name in ("value", "low"))
    colour = alt.Color("colour:N", scale=None)
    ours, theirs, drawn = (alt.Chart().transform_filter(test) for test in (_IS_OURS, _IS_PUBLISHED, _IS_LEVEL))
    bars, points = ours.mark_rule(strokeWidth=1.6, opacity=0.6, aria=False), ours.mark_point(filled=True, size=45)
    circles = theirs.mark_point(size=20, strokeWidth=1.2)
    layers = [
        bars.encode(x=low, x2="high:Q", y=of_line, color=colour),
        points.encode(x=value, y=of_line, color=colour, opacity=alt.value(1), description="hover:N"),
        circles.encode(x=value, y=of_line, color=colour, description="hover:N"),
    ]
    if lines:
        levels = [{"kind": _LEVEL, "level": name, "value": at} for name, at in lines.items()]
        values += [{**level, "facet": heading} for level in levels for heading in headings.values()]
        dashes = alt.Scale(domain=list(lines), range=list(_DASHES[: len(lines)]))
        legend = alt.Legend(orient="top", title=None, symbolStrokeColor=MUTED, columnPadding=30)
        rules = drawn.mark_rule(color=MUTED, strokeWidth=1.3, aria=False)
        layers.append(rules.encode(x=value, strokeDash=alt.StrokeDash("level:N", scale=dashes, legend=legend)))
    if RULE in names:
        values += [{"facet": heading, "line": RULE} for heading in headings.values()]
        layers.append(_rule_between(of_line, "line"))
    chart = alt.layer(*layers, data=alt.Data(values=values)).properties(width=width, height={"step": 15})
    if facets == [""]:
        return chart
    return chart.facet(**_facets("facet", [*headings.values()], columns), spacing=_SPACING)


def _panel(dot: Dot, *, by_model: bool) -> str:
    """Return the facet of a dot."""
    if by_model:
        return _shown_name(dot)
    return f"{dot.group}: {dot.row}" if dot.group else dot.row


def _shown_name(point: Point | Dot) -> str:
    return _PUBLISHED if point.kind == PUBLISHED else point.model


def _lines_of_rows(found: Sequence[Dot]) -> list[str]:
    """Return the rows, each group below its heading."""
    rows: dict[str, dict[str, None]] = {}
    for dot in found:
        rows.setdefault(dot.group, {})[dot.row] = None
    return [name for group, of_group in rows.items() for name in (*filter(None, [group]), *of_group)]


def _lines_of_models(found: Sequence[Dot]) -> list[str]:
    """Return the models, published models, and baselines below a rule."""
    names = {kind: dict.fromkeys(_shown_name(dot) for dot in found if dot.kind == kind) for kind in _AREAS}
    return _with_rule([*names[MODEL], *names[PUBLISHED], *names[SCRIPTED]], names[SCRIPTED])


def shares(
    rows: Sequence[Mapping[str, Any]],
    models: Sequence[str],
    *,
    part: str,
    colours: Mapping[str, str],
    facet: str,
    order: Sequence[str],
    baselines: Collection[str] = (),
    width: int = 460,
) -> Any:
    """Return a chart of stacked bars, one for each model in each facet. Many facets are in two columns.

    A row has "model", "share" in percent, and the fields ``part`` and ``facet``. ``colours`` has the parts in their
    order in a bar, ``order`` the facets. The bars of ``baselines`` are below a rule.
    """
    import altair as alt

    places, across = list(colours), 2 if len(order) > _MOST_FACETS else 1
    names = _with_rule([model for model in models if any(row["model"] == model for row in rows)], baselines)
    values: list[dict[str, Any]] = [
        {
            **row,
            "place": places.index(row[part]),
            "hover": f"{row['model']}, {row[facet]}: {row[part]}, {row['share']:.1f}",
        }
        for row in rows
    ]
    share = alt.X(
        "share:Q",
        stack="zero",
        title="percent of questions",
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(values=[0, 25, 50, 75, 100], format="d"),
    )
    columns = _columns(places, width)
    legend = alt.Legend(title=None, orient="top", columns=columns, columnPadding=40, rowPadding=4, symbolType="square")
    scale = alt.Scale(domain=places, range=list(colours.values()))
    model = alt.Y("model:N", title=None, scale=alt.Scale(domain=names), axis=_named_ticks(names))
    bars = (
        alt.Chart()
        .transform_filter(alt.datum.model != RULE)
        .mark_bar(height={"band": 0.82})
        .encode(
            x=share,
            y=model,
            color=alt.Color(f"{part}:N", scale=scale, legend=legend),
            order=alt.Order("place:Q"),
            description="hover:N",
        )
    )
    layers = [bars]
    if RULE in names:
        values += [{facet: each, "model": RULE} for each in dict.fromkeys(row[facet] for row in rows)]
        layers.append(_rule_between(model))
    chart = alt.layer(*layers, data=alt.Data(values=values)).properties(width=width // across, height={"step": 17})
    return chart.facet(**_facets(facet, order, across), spacing=16)


def grid(
    rows: Sequence[Mapping[str, Any]],
    models: Sequence[str],
    columns: Sequence[str],
    *,
    groups: Sequence[str] = ("",),
    baselines: Collection[str] = (),
) -> Any:
    """Return a grid of numbers in percent: a row for each model, a column for each name, in a facet for each group.

    A row has "model", "column", "group", "value", and the text "hover". Darker cells have higher numbers. The rows of
    ``baselines`` are below a rule.
    """
    import altair as alt

    names = _with_rule([model for model in models if any(row["model"] == model for row in rows)], baselines)
    values: list[dict[str, Any]] = [{**row, "text": f"{row['value']:.0f}"} for row in rows]
    model = alt.Y("model:N", title=None, scale=alt.Scale(domain=names), axis=_named_ticks(names))
    axis = alt.Axis(orient="top", labelAngle=-40, labelFontSize=SMALL + 1, ticks=False, domain=False)
    column = alt.X("column:N", title=None, sort=list(columns), axis=axis)
    cells = alt.Chart().transform_filter(alt.datum.model != RULE).encode(x=column, y=model)
    shade = alt.Color("value:Q", legend=None, scale=alt.Scale(domain=[0, 100], range=list(_SHADES)))
    ink = alt.condition(alt.datum.value > _DARK_FROM, alt.value("white"), alt.value(_GRID_INK))
    layers = [
        cells.mark_rect().encode(color=shade, description="hover:N"),
        cells.mark_text(fontSize=SMALL, aria=False).encode(text="text:N", color=ink),
    ]
    if RULE in names:
        first_of = {row["group"]: row["column"] for row in reversed(rows)}
        values += [{"group": group, "model": RULE, "column": first_of[group]} for group in groups]
        layers.append(_rule_between(model))
    chart = alt.layer(*layers, data=alt.Data(values=values)).properties(width={"step": 26}, height={"step": 20})
    if list(groups) == [""]:
        return chart
    return chart.facet(**_facets("group", groups, len(groups)), spacing=10).resolve_scale(x="independent")


def _with_rule(models: Sequence[str], baselines: Collection[str]) -> list[str]:
    """Return models, and baselines below a rule if there are both."""
    own = [model for model in models if model not in baselines]
    scripted = [model for model in models if model in baselines]
    return [*own, *([RULE] if own and scripted else []), *scripted]


def _named_ticks(names: Sequence[str], headings: Collection[str] = ()) -> Any:
    """Return an axis of names without the rule, with headings among them in bold."""
    import altair as alt

    is_heading = f"indexof({sorted(headings)}, datum.value) >= 0"
    weight = {"condition": {"test": is_heading, "value": "bold"}, "value": "normal"}
    return alt.Axis(values=[name for name in names if name != RULE], labelFontWeight=weight)


def _rule_between(model: Any, field: str = "model") -> Any:
    """Return the rule between models and baselines, across the chart."""
    import altair as alt

    rule = alt.Chart().transform_filter(alt.datum[field] == RULE).mark_rule(color=MUTED, strokeWidth=1, aria=False)
    return rule.encode(y=model)


def curves(
    x: Axis,
    y: Axis,
    *,
    facets: Sequence[str],
    series: Sequence[str],
    lines: Sequence[Mapping[str, Any]] = (),
    dots: Sequence[Mapping[str, Any]] = (),
    diagonal: bool = False,
    grey: str = "",
) -> Any:
    """Return a chart of curves and dots in facets, with the colours of their series.

    A row of ``lines`` has a facet, a series, x and y. A row of ``dots`` also has a hover text, and low and high, or
    x_low and x_high, for error bars. Rows with an empty series have the colour of text. The order of ``series`` gives
    the colours; ``grey`` is a series for comparison. The heading of a facet has a line for each line of its name, and
    more if it is longer than the facet is wide.
    """
    import altair as alt

    columns = 1 if len(facets) == 1 else 2 if len(facets) <= _MOST_WIDE else 4
    width = (SIZE[0] - (max(2, columns) - 1) * _SPACING) // max(2, columns)
    height = round(0.8 * width)
    across, x_low = (alt.X(**x.channel(field, length=width)) for field in ("x", "x_low"))
    up, low = (alt.Y(**y.channel(field, length=height)) for field in ("y", "low"))
    colours = model_colours([name for name in series if name != grey]) | ({grey: GREY} if grey else {})
    scale = alt.Scale(domain=[*colours, ""], range=[*colours.values(), INK])
    of_lines = any(row["series"] for row in lines)
    legend = alt.Legend(
        title=None,
        orient="top",
        values=list(colours),
        columns=_columns(colours, SIZE[0]),
        columnPadding=20,
        symbolOpacity=1,
        symbolType="stroke" if of_lines else alt.Undefined,
    )
    colour = alt.Color("series:N", scale=scale, legend=legend if len(colours) > 1 else None)
    headings = {name: _heading(name, width) for name in facets}
    ends = {"x": x.low, "y": x.low, "x2": min(x.high, y.high), "y2": min(x.high, y.high)}
    diagonals = [{"facet": name, **ends} for name in facets if diagonal]
    rows = [
        {**row, "facet": headings[str(row["facet"])], "mark": mark}
        for mark, of_mark in (("diagonal", diagonals), ("line", lines), ("dot", dots))
        for row in of_mark
    ]
    equal, line, dot = (alt.Chart().transform_filter(alt.datum.mark == mark) for mark in ("diagonal", "line", "dot"))
    bar = dot.mark_rule(strokeWidth=1.2, opacity=0.45, aria=False)
    point = dot.mark_point(filled=True, size=45, opacity=1)
    if not of_lines:
        shapes = alt.Scale(domain=[*colours, ""], range=[*_SHAPES[: len(colours)], _SHAPES[0]])
        point = point.encode(shape=alt.Shape("series:N", scale=shapes, legend=legend if len(colours) > 1 else None))
    layers = {
        "x2": equal.mark_rule(strokeDash=[5, 4], color=MUTED, opacity=0.7, aria=False).encode(
            x=across, y=up, x2="x2:Q", y2="y2:Q"
        ),
        "low": bar.encode(x=across, y=low, y2="high:Q", color=colour),
        "x_low": bar.encode(x=x_low, x2="x_high:Q", y=up, color=colour),
        "x": line.mark_line(strokeWidth=1.8, aria=False).encode(x=across, y=up, color=colour, order="x:Q"),
        "hover": point.encode(x=across, y=up, color=colour, description="hover:N"),
    }
    drawn = [layer for field, layer in layers.items() if any(row.get(field) is not None for row in rows)]
    chart = alt.layer(*drawn, data=alt.Data(values=rows)).properties(width=width, height=height)
    return chart.facet(**_facets("facet", [*headings.values()], columns), spacing=_SPACING)


def _wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a text, broken at a width in pixels."""
    characters = int(width / (_CHARACTER * FONT))
    return [part for line in text.splitlines() for part in wrap(line, characters)]


def _heading(name: str, width: int) -> str:
    """Return the name of a facet with its lines broken at a width in pixels."""
    return _NEW_LINE.join(_wrapped(name, width))


def _facets(field: str, order: Sequence[str], columns: int = 1) -> dict[str, Any]:
    """Return the arguments of facets in columns, each with its name at the top."""
    import altair as alt

    header = alt.Header(
        orient="top",
        labelAnchor="start",
        labelFontWeight="bold",
        labelPadding=3,
        labelLimit=0,
        labelExpr=f"split(datum.label, '{_NEW_LINE}')",
        labelLineHeight=_LINE * FONT,
    )
    return {"facet": alt.Facet(f"{field}:N", sort=list(order), title=None, header=header), "columns": columns}
