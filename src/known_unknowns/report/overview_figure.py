"""The figure of the first screen: accuracy against refusals without a right option, one point per model."""

from __future__ import annotations

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
from known_unknowns.report.overview import NO_RIGHT_OPTION, Overview
from known_unknowns.report.tables import ACCURACY

WIDTH, HEIGHT = 330, 205
"""Size of the plot in pixels, small enough for a phone."""
MOST_LABELS = 10
"""With more points than this, only the best models have a label."""
_BASELINE = "scripted baseline"


def draw(overview: Overview, name: str) -> Figure:
    """Draw the models, and the scripted baselines in grey. Without refusals, only the accuracy is drawn."""
    import altair as alt

    no_option = overview.refusing(NO_RIGHT_OPTION)
    rows = [row for model in overview.run.models if (row := _row(overview, model, no_option)) is not None]
    title = f"{overview.title}: what models know, and what they know that they do not know"
    if not no_option:
        title = f"{overview.title}: accuracy"
    if not rows:
        return placeholder(name, title, "not drawn: nothing was measured")
    models = [model for model in overview.models if any(row["model"] == model for row in rows)]
    names, colours = model_colours(models)
    scale = alt.Scale(domain=[*names, _BASELINE], range=[*colours, GREY])
    colour = alt.Color("shown:N", scale=scale, legend=None)
    named = {row["model"] for row in rows} if len(rows) <= MOST_LABELS else set(models[:MOST_LABELS])
    base = alt.Chart(alt.Data(values=[row | {"label": row["model"] if row["model"] in named else ""} for row in rows]))
    layers = _points(base, colour) if no_option else _bars(base, colour, [row["model"] for row in rows])
    chart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    axes = "accuracy (horizontal) and refusals without a right option (vertical)" if no_option else "accuracy"
    alt_text = (
        f"Plot of {axes} on {overview.title}, in percent with intervals, for {len(models)} models of this run and "
        f"{len(rows) - len(models)} scripted baselines in grey. The table beside it has the numbers."
    )
    note = (
        "The ideal is the upper right corner. Grey: scripted baselines." if no_option else "Grey: scripted baselines."
    )
    return figure(name, title, chart, alt_text, note=note)


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


def _points(base: Any, colour: Any) -> list[Any]:
    import altair as alt

    x_title, y_title = "accuracy (%)", "refused, no right option (%)"
    x, y = alt.X(**percent_axis("x", x_title)), alt.Y(**percent_axis("y", y_title))
    bars = base.mark_rule(strokeWidth=1.4, opacity=0.6, aria=False)
    label = base.encode(x=x, y=y, text="label:N")
    labels = [
        label.transform_filter(f"(datum.x > 60) == {right} && (datum.shown == '{_BASELINE}') == {grey}").mark_text(
            align="right" if right == "true" else "left",
            dx=-7 if right == "true" else 7,
            dy=11 if right == "true" else -8,
            fontSize=10 if grey == "true" else 12,
            color=MUTED if grey == "true" else INK,
        )
        for right in ("true", "false")
        for grey in ("true", "false")
    ]
    return [
        bars.encode(x=alt.X(**percent_axis("x_low", x_title)), x2="x_high:Q", y=y, color=colour),
        bars.encode(x=x, y=alt.Y(**percent_axis("y_low", y_title)), y2="y_high:Q", color=colour),
        base.mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, color=colour),
        *labels,
    ]


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
