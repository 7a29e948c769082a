"""The figure of the first screen: accuracy against refusals without a right option, one point per model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from known_unknowns.records import Metric
from known_unknowns.report.drawing import (
    GREY,
    INK,
    MUTED,
    Coordinate,
    Figure,
    figure,
    model_colours,
    percent_axis,
    placeholder,
)
from known_unknowns.report.formatting import counted
from known_unknowns.report.label_places import SIDES, Point, Side, sides_of
from known_unknowns.report.overview import NO_RIGHT_OPTION, Overview
from known_unknowns.report.tables import ACCURACY

WIDTH, HEIGHT = 330, 205
"""Size of the plot in pixels, small enough for a phone."""
FONT, BASELINE_FONT = 12, 10
_CHARACTERS = 28
"""Length of the longest label."""
_BASELINE = "scripted baseline"
_MARGIN, _TICK = 0.03, 10
"""Share of an axis beyond its ends; the ends are multiples of this number of percent."""

Range = tuple[float, float]
"""The ends of an axis in percent."""


def draw(overview: Overview, name: str) -> Figure:
    """Draw the models, and the scripted baselines in grey. Without refusals, only the accuracy is drawn."""
    import altair as alt

    no_option = overview.unanswerable(NO_RIGHT_OPTION)
    rows = [row for model in overview.run.models if (row := _row(overview, model, no_option)) is not None]
    title = f"{overview.title}: what models know, and what they know that they do not know"
    if not no_option:
        title = f"{overview.title}: accuracy"
    if not rows:
        return placeholder(name, title, "not drawn: nothing was measured")
    models = [model for model in overview.models if any(row["model"] == model for row in rows)]
    names, colours = model_colours([model for model in overview.run.models if model in models])
    scale = alt.Scale(domain=[*names, _BASELINE], range=[*colours, GREY])
    colour = alt.Color("shown:N", scale=scale, legend=None)
    order = [*models, *overview.sorted(overview.baselines)]
    if no_option:
        layers, unlabelled = _points(sorted(rows, key=lambda row: order.index(row["model"])), colour)
    else:
        layers, unlabelled = _bars(alt.Chart(alt.Data(values=rows)), colour, order), 0
    chart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    axes = "accuracy (horizontal) and refusals without a right option (vertical)" if no_option else "accuracy"
    alt_text = (
        f"Plot of {axes} on {overview.title}, in percent with intervals, for {counted(len(models), 'model')} of this "
        f"run and {counted(len(rows) - len(models), 'scripted baseline')} in grey. The table beside it has the numbers."
    )
    notes = [
        "The ideal is the upper right corner." if no_option else "",
        "Grey: scripted baselines." if len(rows) > len(models) else "",
        f"{unlabelled} points have no label for lack of space." if unlabelled > 1 else "",
        "One point has no label for lack of space." if unlabelled == 1 else "",
    ]
    return figure(name, title, chart, alt_text, note=" ".join(filter(None, notes)))


def _row(overview: Overview, model: str, no_option: str | None) -> dict[str, Any] | None:
    """Return the point of a model; None if a number is undefined."""
    accuracy = overview.number(model, overview.main, ACCURACY)
    found: dict[str, Metric | None] = {"x": accuracy}
    if no_option:
        found["y"] = overview.refused(model)
    row: dict[str, Any] = {"model": model, "shown": _BASELINE if model in overview.baselines else model}
    for axis, metric in found.items():
        place = Coordinate.of(metric)
        if place is None:
            return None
        row |= {axis: place.value, f"{axis}_low": place.low, f"{axis}_high": place.high}
    return row


def range_of(values: Sequence[float]) -> Range:
    """Return the ends of an axis: the values, rounded outwards to a tick, at least two ticks apart."""
    low, high = _TICK * math.floor(min(values) / _TICK), _TICK * math.ceil(max(values) / _TICK)
    while high - low < 2 * _TICK:
        low, high = max(0, low - _TICK), min(100, high + _TICK)
    return low, high


def _axis(field: str, title: str, ends: Range) -> dict[str, Any]:
    import altair as alt

    low, high = ends
    margin = _MARGIN * (high - low)
    step = _TICK if high - low <= 60 else 2 * _TICK
    ticks = alt.Axis(values=[tick for tick in range(0, 101, step) if low <= tick <= high], format="d")
    scale = alt.Scale(domain=[low - margin, high + margin], nice=False)
    return {"field": field, "type": "quantitative", "scale": scale, "axis": ticks, "title": title}


def _sides(rows: Sequence[Mapping[str, Any]], x: Range, y: Range) -> dict[str, Side]:
    """Return the place of the label of each row that has one."""

    def share(value: float, ends: Range) -> float:
        span = ends[1] - ends[0]
        return (value - ends[0] + _MARGIN * span) / ((1 + 2 * _MARGIN) * span)

    points = [
        Point(
            row["label"],
            WIDTH * share(row["x"], x),
            HEIGHT * (1 - share(row["y"], y)),
            BASELINE_FONT if row["shown"] == _BASELINE else FONT,
        )
        for row in rows
    ]
    return sides_of(points, WIDTH, HEIGHT)


def _points(rows: Sequence[Mapping[str, Any]], colour: Any) -> tuple[list[Any], int]:
    """Return the layers, and the number of points without a label."""
    import altair as alt

    ends = {axis: range_of([row[f"{axis}{end}"] for row in rows for end in ("_low", "_high")]) for axis in "xy"}
    labels_of = _labels(rows)
    labelled = [row | {"label": labels_of[row["model"]]} for row in rows if row["model"] in labels_of]
    sides = _sides(labelled, ends["x"], ends["y"])
    places = {row["model"]: SIDES.index(sides[row["label"]]) for row in labelled if row["label"] in sides}
    drawn = [row | {"label": labels_of.get(row["model"], ""), "place": places.get(row["model"], -1)} for row in rows]
    base = alt.Chart(alt.Data(values=drawn))
    x_title, y_title = "accuracy (%)", "refused, no right option (%)"
    x, y = alt.X(**_axis("x", x_title, ends["x"])), alt.Y(**_axis("y", y_title, ends["y"]))
    bars = base.mark_rule(strokeWidth=1.4, opacity=0.6, aria=False)
    label = base.encode(x=x, y=y, text="label:N")
    labels = [
        label.transform_filter(f"datum.place == {place} && (datum.shown == '{_BASELINE}') == {grey}").mark_text(
            align=SIDES[place].align,
            dx=SIDES[place].dx,
            dy=SIDES[place].dy,
            fontSize=BASELINE_FONT if grey == "true" else FONT,
            color=MUTED if grey == "true" else INK,
        )
        for place in sorted(set(places.values()))
        for grey in ("true", "false")
    ]
    layers = [
        bars.encode(x=alt.X(**_axis("x_low", x_title, ends["x"])), x2="x_high:Q", y=y, color=colour),
        bars.encode(x=x, y=alt.Y(**_axis("y_low", y_title, ends["y"])), y2="y_high:Q", color=colour),
        base.mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, color=colour),
        *labels,
    ]
    return layers, len({(row["x"], row["y"], row["shown"] == _BASELINE) for row in rows}) - len(places)


def _labels(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the labels by the first model of each point: the names of all models with equal numbers, shortened.

    A point whose label would be that of another one has none.
    """
    at: dict[tuple[float, float, bool], list[str]] = {}
    for row in rows:
        at.setdefault((row["x"], row["y"], row["shown"] == _BASELINE), []).append(row["model"])
    found = {names[0]: _shortened(", ".join(names)) for names in at.values()}
    texts = list(found.values())
    return {model: text for model, text in found.items() if texts.count(text) == 1}


def _shortened(text: str) -> str:
    half = _CHARACTERS // 2
    return text if len(text) <= _CHARACTERS else f"{text[:half]}\N{HORIZONTAL ELLIPSIS}{text[-half + 1 :]}"


def _bars(base: Any, colour: Any, order: list[str]) -> list[Any]:
    import altair as alt

    y = alt.Y("model:N", sort=order, title=None)
    return [
        base.mark_rule(strokeWidth=1.6, opacity=0.6, aria=False).encode(
            x=alt.X(**percent_axis("x_low", "accuracy (%)")), x2="x_high:Q", y=y, color=colour
        ),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            x=alt.X(**percent_axis("x", "accuracy (%)")), y=y, color=colour
        ),
    ]
