"""The kinds of charts: points in a plane, dots in rows, a grid of numbers, stacked shares, and curves.

A chart of points or dots names every model: by its name at its point if all names fit, else by a number that the key
below the chart explains. With many models in several series, the series alone are told apart (`is_crowded`). Scripted
baselines and published models are grey where models have colours; in bars and grids, the baselines are below a rule.
Marks have their numbers as hover text.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from textwrap import wrap
from typing import Any

from known_unknowns.records import Metric
from known_unknowns.report.drawing import BASELINE, GREY, INK, MUTED, model_colours
from known_unknowns.report.label_places import CHARACTER, LINE, Box, Label, places

MODEL, SCRIPTED, PUBLISHED = "model", "baseline", "published"
"""Kinds of points."""
FONT, SMALL, _SMALLEST = 12, 10, 9
"""Font sizes of the names of models, of numbers and baselines, and of numbers in rows."""
SIZE = (560, 400)
_MARGIN = 0.03
"""Share of an axis beyond each of its ends."""
_DASHES = ([1, 0], [5, 2], [1, 2], [6, 2, 1, 2])
"""Reference lines of baselines."""
_MOST_FACETS = 9
"""The largest number of facets below each other."""
_LANE = 10
"""Pixels between two models in a row of dots."""
_CURVES = (250, 200)
"""Pixels of a facet of curves."""
_NEW_LINE = " | "
"""What separates the lines of a facet's heading."""
RULE = " "
"""The place of the rule between models and baselines, among their names."""
_SHADES, _DARK_FROM, _GRID_INK = ("#eef3f8", "#1f5fa8"), 75, "#1c1a12"
"""Colours of cells with 0% and 100%, the percentage from which their text is white, and that of other texts."""
_MOST_NAMED = 12
"""The largest number of models that are named in a chart with several points of each."""
_SHAPES = ("circle", "diamond", "square", "triangle-up", "cross", "triangle-down", "triangle-right", "triangle-left")


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

    def share(self, value: float) -> float:
        """Return where a value is on the axis, from 0 to 1."""
        low, high = self.ends
        return (value - low) / (high - low)

    def at(self, share: float) -> float:
        """Return the value at a place between 0 and 1."""
        low, high = self.ends
        return low + share * (high - low)

    def channel(self, field: str) -> dict[str, Any]:
        """Return the arguments of a channel of Altair."""
        import altair as alt

        axis = alt.Axis(format=",~f", tickCount=7)
        if self.tick:
            numbers = range(math.ceil(self.low / self.tick), math.floor(self.high / self.tick) + 1)
            axis = alt.Axis(values=[self.tick * number for number in numbers], format=",~f")
        scale = alt.Scale(domain=list(self.ends), nice=False)
        return {"field": field, "type": "quantitative", "scale": scale, "axis": axis, "title": self.title}


def numbered(models: Iterable[str]) -> dict[str, str]:
    """Return the number of each model in the key."""
    return {model: str(number) for number, model in enumerate(dict.fromkeys(models), 1)}


def joined(points: Iterable[Point]) -> list[tuple[Point, Point]]:
    """Return the pairs of different points of models that have two."""
    of: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        of.setdefault((point.model, point.kind), []).append(point)
    return [(p[0], p[1]) for p in of.values() if len(p) == 2 and _spot(p[0]) != _spot(p[1])]


def is_crowded(found: Sequence[Point], series: Sequence[str]) -> bool:
    """Return whether a chart has too many models to name them at each of their points."""
    return len(series) > 1 and len({point.model for point in found}) > _MOST_NAMED


def points_of_series(
    found: Sequence[Point], x: Axis, y: Axis, series: Sequence[str], *, size: tuple[int, int] = SIZE
) -> Any:
    """Return a chart of points whose colours and shapes are those of their series. Hover texts name the models."""
    import altair as alt

    across, up = alt.X(**x.channel("x")), alt.Y(**y.channel("y"))
    colours = model_colours(series)
    scale = alt.Scale(domain=list(series), range=[colours[name] for name in series])
    columns = _columns(series, size[0])
    legend = alt.Legend(columns=columns, columnPadding=30, orient="top", title=None, symbolOpacity=1)
    shapes = alt.Scale(domain=list(series), range=list(_SHAPES[: len(series)]))
    marks = alt.Chart(alt.Data(values=[_row(point, point.model) for point in found])).mark_point(
        filled=True, size=42, opacity=0.7
    )
    chart = marks.encode(
        x=across,
        y=up,
        color=alt.Color("series:N", scale=scale, legend=legend),
        shape=alt.Shape("series:N", scale=shapes, legend=legend),
        description="hover:N",
    )
    return chart.properties(width=size[0], height=size[1])


def points(
    found: Sequence[Point],
    x: Axis,
    y: Axis,
    models: Sequence[str],
    *,
    series: Sequence[str] = ("",),
    lines: Sequence[Line] = (),
    pairs: Sequence[tuple[Point, Point]] = (),
    curves: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    size: tuple[int, int] = SIZE,
) -> Any:
    """Return a chart of points with error bars, whose names are placed, and numbered, in this order.

    ``models`` are those of the run without baselines; their order gives the colours. ``series`` are in the order of
    their shapes; points of the first one are filled. ``pairs`` of points are joined by a line. ``curves`` are by model.
    ``size`` is in pixels.
    """
    import altair as alt

    labels, is_key = _labels(found, x, y, lines, size)
    key = {
        model: f"{number} {model}" if is_key else model for model, number in numbered(p.model for p in found).items()
    }
    rows = [_row(point, key[point.model]) for point in found]
    across, up = alt.X(**x.channel("x")), alt.Y(**y.channel("y"))
    colour = _colour(found, models, key, size[0], is_shown=is_key)
    shape = _shape(series)
    layers = _lines(lines, across, up)
    ends = [{"x": a.x.value, "y": a.y.value, "x2": b.x.value, "y2": b.y.value} for a, b in pairs]
    layers.append(_rules(ends, across, up, color=GREY, opacity=0.6))
    if curves:
        steps = [{"key": key[model], "x": at, "y": to} for model, curve in curves.items() for at, to in curve]
        curve = alt.Chart(alt.Data(values=steps)).mark_line(strokeWidth=1.8, aria=False)
        layers.append(curve.encode(x=across, y=up, color=colour))
    bars = alt.Chart(alt.Data(values=rows)).mark_rule(strokeWidth=1.4, opacity=0.6, aria=False)
    layers += [
        bars.encode(x=alt.X(**x.channel("x_low")), x2="x_high:Q", y=up, color=colour),
        bars.encode(x=across, y=alt.Y(**y.channel("y_low")), y2="y_high:Q", color=colour),
    ]
    for kind, sizes in ((PUBLISHED, (38, 38)), (SCRIPTED, (60, 90)), (MODEL, (75, 150))):
        for is_first, area in zip((True, False), sizes, strict=True):
            drawn = [r for r in rows if r["kind"] == kind and (r["series"] == series[0]) == is_first]
            mark = alt.Chart(alt.Data(values=drawn)).mark_point(
                filled=is_first and kind != PUBLISHED,
                size=area,
                strokeWidth=1.4,
                opacity=0.75 if kind == PUBLISHED else 1,
            )
            layers.append(mark.encode(x=across, y=up, color=colour, shape=shape, description="hover:N"))
    layers += _label_layers(labels, across, up)
    return alt.layer(*(layer for layer in layers if layer.data.values)).properties(width=size[0], height=size[1])


def _spot(point: Point) -> tuple[float, float]:
    return round(point.x.value, 3), round(point.y.value, 3)


def _row(point: Point, key: str) -> dict[str, Any]:
    what = f"{point.model}, {point.series}" if point.series else point.model
    row: dict[str, Any] = {
        "key": key,
        "series": point.series,
        "kind": point.kind,
        "hover": f"{what}: {point.x}; {point.y}",
    }
    for name, axis in (("x", point.x), ("y", point.y)):
        row |= {name: axis.value, f"{name}_low": axis.low, f"{name}_high": axis.high}
    return row


def _colour(
    found: Sequence[Point | Dot], models: Sequence[str], key: Mapping[str, str], width: int, *, is_shown: bool
) -> Any:
    """Return the channel of colours with the key of the models as its legend."""
    import altair as alt

    kinds = {point.model: point.kind for point in found}
    own = model_colours(models)
    colours = {model: {SCRIPTED: BASELINE, PUBLISHED: GREY}.get(kind) or own[model] for model, kind in kinds.items()}
    legend = alt.Legend(
        columns=_columns(key.values(), width + 60),
        columnPadding=30,
        symbolLimit=0,
        symbolType="circle",
        symbolOpacity=1,
    )
    scale = alt.Scale(domain=list(key.values()), range=[colours[model] for model in key])
    greys = {SCRIPTED: "baselines are dark grey", PUBLISHED: "published ones are light grey"}
    title = "; ".join(["Models", *(text for kind, text in greys.items() if kind in kinds.values())])
    return alt.Color("key:N", scale=scale, title=title, legend=legend if is_shown else None)


def _columns(texts: Collection[str], width: int) -> int:
    """Return the number of columns of a legend: all in one line if they fit."""
    lengths = [FONT * 0.54 * len(text) + 52 for text in texts] or [width]
    return len(lengths) if sum(lengths) <= width else max(1, min(4, int(width // max(lengths))))


def _shape(series: Sequence[str]) -> Any:
    import altair as alt

    scale = alt.Scale(domain=list(series), range=list(_SHAPES[: len(series)]))
    legend = alt.Legend(
        columns=4,
        columnPadding=30,
        orient="top",
        title=None,
        symbolFillColor="transparent",
        symbolStrokeColor=MUTED,
        symbolOpacity=1,
    )
    return alt.Shape("series:N", scale=scale, legend=legend if len(series) > 1 else None)


def _labels(
    found: Sequence[Point], x: Axis, y: Axis, lines: Sequence[Line], size: tuple[int, int]
) -> tuple[list[dict[str, Any]], bool]:
    """Return the labels of all points, and whether they are numbers of the key."""
    width, height = size
    taken = [_box(line, x, y, size) for line in lines if line.name]
    numbers = numbered(point.model for point in found)
    spots: dict[tuple[float, float], list[Point]] = {}
    for point in found:
        spots.setdefault(_spot(point), []).append(point)

    def labelled(at: Sequence[Point], *, is_key: bool) -> Label:
        text = ", ".join(dict.fromkeys(numbers[point.model] if is_key else point.model for point in at))
        font = FONT if at[0].kind == MODEL and not is_key else SMALL
        left, right = (width * x.share(end) for end in at[0].x.ends)
        bottom, top = (height * (1 - y.share(end)) for end in at[0].y.ends)
        across, up = width * x.share(at[0].x.value), height * (1 - y.share(at[0].y.value))
        return Label(text, across, up, font, ((left, up, right, up), (across, top, across, bottom)))

    for is_key in (False, True):
        marked = [labelled(at, is_key=is_key) for at in spots.values()]
        placed = places(marked, width, height, taken=taken)
        if all(place.near for place in placed):
            break
    rows = [
        {
            "text": label.text,
            "x": x.at(place.x / width),
            "y": y.at(1 - place.y / height),
            "x2": at[0].x.value,
            "y2": at[0].y.value,
            "align": place.align,
            "near": place.near,
            "size": label.font_size,
            "colour": INK if at[0].kind == MODEL else MUTED,
        }
        for label, place, at in zip(marked, placed, spots.values(), strict=True)
    ]
    return rows, is_key


def _label_layers(labels: Sequence[Mapping[str, Any]], x: Any, y: Any) -> list[Any]:
    import altair as alt

    def style(label: Mapping[str, Any]) -> tuple[Any, int, str]:
        return label["align"], label["size"], label["colour"]

    layers = [_rules([label for label in labels if not label["near"]], x, y, color=GREY, opacity=0.7, strokeWidth=0.7)]
    for (align, size, colour), rows in groupby(sorted(labels, key=style), key=style):
        text = alt.Chart(alt.Data(values=list(rows))).mark_text(
            align=align, baseline="middle", fontSize=size, color=colour, aria=False
        )
        layers.append(text.encode(x=x, y=y, text="text:N"))
    return layers


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


def _box(line: Line, x: Axis, y: Axis, size: tuple[int, int]) -> Box:
    """Return where the name of a line is, in pixels."""
    left, middle = size[0] * x.share(line.x) + 5, size[1] * (1 - y.share(line.y)) - 6
    half = LINE * SMALL / 2
    return left, middle - half, left + CHARACTER * SMALL * len(line.name), middle + half


def dots(
    found: Sequence[Dot],
    x: Axis,
    models: Sequence[str],
    rows: Sequence[str],
    *,
    lines: Mapping[str, float] | None = None,
    width: int = 520,
) -> Any:
    """Return a chart of dots with error bars in rows, in facets by their group. Models of the run come first.

    A row has a line for each model of the run, and below them one for published models, whose numbers have leader
    lines. Scripted baselines are vertical lines across the row. ``lines`` are reference lines by name.
    """
    import altair as alt

    numbers = numbered(dot.model for dot in found if dot.kind != SCRIPTED)
    key = {model: f"{number} {model}" for model, number in numbers.items()}
    own = list(dict.fromkeys(dot.model for dot in found if dot.kind == MODEL))
    spread = _spread(found, x, width)
    lanes = max(2, len(own), *(len(own) + 4 + lane for _, lane in spread.values()))
    drawn = [
        {
            "row": dot.row,
            "group": dot.group,
            "kind": dot.kind,
            "model": dot.model,
            "key": key.get(dot.model),
            "number": numbers.get(dot.model),
            "lane": own.index(dot.model) if dot.kind == MODEL else len(own),
            "value": dot.x.value,
            "low": dot.x.low,
            "high": dot.x.high,
            "end": dot.x.value if dot.x.high is None else dot.x.high,
            "at": spread[place][0] if place in spread else None,
            "label_lane": len(own) + 3 + spread[place][1] if place in spread else None,
            "hover": f"{dot.model}, {dot.row}: {dot.x}",
        }
        for place, dot in enumerate(found)
    ]
    value = alt.X(**x.channel("value"))
    y: dict[str, Any] = {"sort": list(rows), "title": None, "axis": alt.Axis(grid=True, tickBand="extent", ticks=False)}
    base = alt.Chart().encode(y=alt.Y("row:N", **y), yOffset=_lane("lane", lanes))
    own_dots, published = (base.transform_filter(alt.datum.kind == kind) for kind in (MODEL, PUBLISHED))
    colour = _colour([dot for dot in found if dot.kind != SCRIPTED], models, key, width, is_shown=True)
    layers = [
        own_dots.mark_rule(strokeWidth=1.6, opacity=0.6, aria=False).encode(
            x=alt.X(**x.channel("low")), x2="high:Q", color=colour
        ),
        own_dots.mark_point(filled=True, size=34, opacity=1).encode(x=value, color=colour, description="hover:N"),
        own_dots.mark_text(align="left", dx=5, fontSize=_SMALLEST, color=MUTED, aria=False).encode(
            x=alt.X(**x.channel("end")), text="number:N"
        ),
    ]
    if spread:
        rules = alt.Chart().transform_filter(alt.datum.kind == PUBLISHED)
        layers += [
            published.mark_point(size=18, strokeWidth=1.2).encode(x=value, color=colour, description="hover:N"),
            published.mark_text(fontSize=_SMALLEST, color=MUTED, aria=False).encode(
                x=alt.X(**x.channel("at")), yOffset=_lane("label_lane", lanes), text="number:N"
            ),
            rules.mark_rule(color=GREY, strokeWidth=0.6, opacity=0.7, aria=False).encode(
                x=value,
                x2="at:Q",
                y=alt.Y("row:N", bandPosition=(len(own) + 0.8) / lanes, **y),
                y2=alt.Y2("row:N", bandPosition=(len(own) + 3) / lanes),
            ),
        ]
    for name, at in (lines or {}).items():
        line = alt.Chart(alt.Data(values=[{"value": at}])).encode(x=value)
        layers.append(line.mark_rule(strokeDash=[5, 4], color=MUTED, opacity=0.8, aria=False))
        layers.append(line.mark_text(text=name, color=MUTED, fontSize=SMALL, aria=False).encode(y=alt.value(-7)))
    layers += _baseline_lines(drawn, value, y)
    height = {"step": _LANE, "for": "offset"}
    chart = alt.layer(*layers, data=alt.Data(values=drawn)).properties(width=width, height=height)
    groups = list(dict.fromkeys(dot.group for dot in found))
    if groups == [""]:
        return chart
    return chart.facet(**_facets("group", groups), spacing=14).resolve_scale(y="independent")


def _baseline_lines(drawn: Sequence[Mapping[str, Any]], x: Any, y: Mapping[str, Any]) -> list[Any]:
    """Return a layer of vertical lines across the rows, whose dashes tell the baselines apart."""
    import altair as alt

    names = list(dict.fromkeys(row["model"] for row in drawn if row["kind"] == SCRIPTED))
    if not names:
        return []
    scale = alt.Scale(domain=names, range=[_DASHES[number % len(_DASHES)] for number in range(len(names))])
    legend = alt.Legend(columns=4, columnPadding=30, orient="top", symbolStrokeColor=BASELINE)
    rules = alt.Chart().transform_filter(alt.datum.kind == SCRIPTED).mark_rule(color=BASELINE, strokeWidth=1.3)
    return [
        rules.encode(
            x=x,
            y=alt.Y("row:N", bandPosition=0, **y),
            y2=alt.Y2("row:N", bandPosition=1),
            strokeDash=alt.StrokeDash("model:N", title="Baselines", scale=scale, legend=legend),
            description="hover:N",
        )
    ]


def _lane(field: str, lanes: int) -> Any:
    import altair as alt

    return alt.YOffset(f"{field}:O", scale=alt.Scale(domain=list(range(lanes))))


def _spread(found: Sequence[Dot], x: Axis, width: int) -> dict[int, tuple[float, int]]:
    """Return where the number of each published dot is: at its value or beside the number before it, in few lines."""
    of_row: dict[tuple[str, str], list[int]] = {}
    for place, dot in enumerate(found):
        if dot.kind == PUBLISHED:
            of_row.setdefault((dot.group, dot.row), []).append(place)
    digits = len(str(len({dot.model for dot in found})))
    needed = digits * _SMALLEST * CHARACTER + 2
    spread: dict[int, tuple[float, int]] = {}
    for places_here in of_row.values():
        ordered = sorted(places_here, key=lambda place: found[place].x.value)
        lanes = math.ceil(len(ordered) * needed / width)
        for lane in range(lanes):
            of_lane = ordered[lane::lanes]
            pixels = (max(width * x.share(found[place].x.value), needed / 2) for place in of_lane)
            free = accumulate(pixels, lambda before, pixel: max(pixel, before + needed))
            for left, (place, pixel) in enumerate(zip(reversed(of_lane), reversed([*free]), strict=True)):
                last = width - needed / 2 - left * needed
                spread[place] = x.at(min(pixel, last) / width), lane
    return spread


def shares(
    rows: Sequence[Mapping[str, Any]],
    models: Sequence[str],
    *,
    part: str,
    colours: Mapping[str, str],
    facet: str,
    order: Sequence[str],
    baselines: Collection[str] = (),
    width: int = 520,
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
    model = alt.Y("model:N", title=None, scale=alt.Scale(domain=names), axis=_ticks_of_models(names))
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
    model = alt.Y("model:N", title=None, scale=alt.Scale(domain=names), axis=_ticks_of_models(names))
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
    chart = alt.layer(*layers, data=alt.Data(values=values)).properties(width={"step": 34}, height={"step": 20})
    if list(groups) == [""]:
        return chart
    return chart.facet(**_facets("group", groups, len(groups)), spacing=10).resolve_scale(x="independent")


def _with_rule(models: Sequence[str], baselines: Collection[str]) -> list[str]:
    """Return models, and baselines below a rule if there are both."""
    own = [model for model in models if model not in baselines]
    scripted = [model for model in models if model in baselines]
    return [*own, *([RULE] if own and scripted else []), *scripted]


def _ticks_of_models(names: Sequence[str]) -> Any:
    import altair as alt

    return alt.Axis(values=[name for name in names if name != RULE])


def _rule_between(model: Any) -> Any:
    """Return the rule between models and baselines, across the chart."""
    import altair as alt

    rule = alt.Chart().transform_filter(alt.datum.model == RULE).mark_rule(color=MUTED, strokeWidth=1, aria=False)
    return rule.encode(y=model)


def curves(
    found: Sequence[Mapping[str, Any]],
    x: Axis,
    y: Axis,
    *,
    facets: Sequence[str],
    series: Sequence[str],
    diagonal: bool = False,
    dots: bool = False,
    ends: Sequence[Mapping[str, Any]] = (),
    grey: str = "",
) -> Any:
    """Return a chart of curves, one for each series in each facet. Several facets are in two columns.

    The heading of a facet has a line for each line of its name, and more if it is longer than the facet is wide.

    Points of ``found`` have a facet, a series, x, y and a hover text, and low and high for an error bar. Those of
    ``ends``, drawn as dots, have no series. The order of ``series`` gives their colours; ``grey`` is a series for
    comparison.
    """
    import altair as alt

    across, up = alt.X(**x.channel("x")), alt.Y(**y.channel("y"))
    colours = model_colours([name for name in series if name != grey]) | ({grey: GREY} if grey else {})
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    columns = _columns(colours, 2 * _CURVES[0])
    legend = alt.Legend(title=None, columns=columns, columnPadding=30, symbolType="stroke", symbolOpacity=1)
    colour = alt.Color("series:N", scale=scale, legend=legend)
    low, high = x.low, min(x.high, y.high)
    lines = [{"facet": name, "x": low, "y": low, "x2": high, "y2": high, "line": 1} for name in facets if diagonal]
    headings = {name: _heading(name, _CURVES[0]) for name in facets}
    rows = [*({**row, "line": 0} for row in found), *lines, *({**row, "line": 2} for row in ends)]
    rows = [{**row, "facet": headings[row["facet"]]} for row in rows]
    base, dashed, points = (alt.Chart().transform_filter(alt.datum.line == kind) for kind in range(3))
    layers = [
        dashed.mark_rule(strokeDash=[5, 4], color=MUTED, opacity=0.7, aria=False).encode(
            x=across, y=up, x2="x2:Q", y2="y2:Q"
        ),
        base.mark_rule(strokeWidth=1.2, opacity=0.45, aria=False).encode(
            x=across, y=alt.Y(**y.channel("low")), y2="high:Q", color=colour
        ),
        base.mark_line(strokeWidth=1.8, aria=False).encode(x=across, y=up, color=colour, order="x:Q"),
        base.mark_point(filled=True, size=30 if dots else 0, opacity=1).encode(
            x=across, y=up, color=colour, description="hover:N"
        ),
        points.mark_point(filled=True, size=60, color=INK, opacity=1).encode(x=across, y=up, description="hover:N"),
    ]
    has_bars = any("low" in row for row in found)
    layers = [layer for layer, shown in zip(layers, (diagonal, has_bars, True, dots, ends), strict=True) if shown]
    chart = alt.layer(*layers, data=alt.Data(values=rows)).properties(width=_CURVES[0], height=_CURVES[1])
    return chart.facet(**_facets("facet", [*headings.values()], min(2, len(facets))), spacing=20)


def _heading(name: str, width: int) -> str:
    """Return the name of a facet with its lines broken at a width in pixels."""
    characters = int(width / (CHARACTER * FONT))
    lines = [wrap(line, characters) or [""] for line in name.splitlines()]
    return _NEW_LINE.join(part for of_line in lines for part in of_line)


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
        labelLineHeight=LINE * FONT,
    )
    return {"facet": alt.Facet(f"{field}:N", sort=list(order), title=None, header=header), "columns": columns}
