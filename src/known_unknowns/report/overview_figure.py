"""The figure of the first screen: accuracy against refusals without a right option, one point per model."""

from __future__ import annotations

from typing import Any

from known_unknowns.report import charts
from known_unknowns.report.charts import Axis, Coordinate, Point
from known_unknowns.report.drawing import BASELINE, Figure, figure, model_colours, placeholder
from known_unknowns.report.figures import kind, own_models
from known_unknowns.report.formatting import counted
from known_unknowns.report.overview import Overview
from known_unknowns.report.tables import ACCURACY

SIZE = (330, 215)
"""Size of the plot in pixels, small enough for a phone."""


def draw(overview: Overview, name: str) -> Figure:
    """Draw the models, and the scripted baselines in grey. Without refusals, only the accuracy is drawn."""
    run, refused = overview.run, overview.named("refused")
    accuracy = "accuracy"
    if not refused and overview.primary and overview.primary.metric == ACCURACY:
        accuracy = overview.primary.label
    title = f"{overview.title}: {accuracy}"
    if refused:
        title += " and refusals without a right option"
    points = []
    for model in (*overview.models, *overview.sorted(overview.baselines)):
        x = Coordinate.of(overview.number(model, overview.main, ACCURACY))
        y = Coordinate.of(overview.value(model, refused)) if refused else x
        if x is not None and y is not None:
            points.append(Point(model, "", x, y, kind(run, model)))
    if not points:
        return placeholder(name, title, "not drawn: nothing was measured")
    ends = {axis: [end for p in points for end in _ends(getattr(p, axis))] for axis in "xy"}
    x_axis = Axis.around(f"{accuracy} (%)", ends["x"])
    if refused:
        chart = charts.points(
            points, x_axis, Axis.around("refused, no right option (%)", ends["y"]), own_models(run), size=SIZE
        )
    else:
        chart = _bars(points, x_axis, model_colours(own_models(run)))
    baselines = sum(point.kind == charts.SCRIPTED for point in points)
    axes = "accuracy (horizontal) and refusals without a right option (vertical)" if refused else accuracy
    models = counted(len(points) - baselines, "model")
    alt_text = (
        f"Plot of {axes} on {overview.title}, in percent with intervals, for {models} of this run and "
        f"{counted(baselines, 'scripted baseline')} in grey. The table beside it has the numbers."
    )
    notes = [
        "The ideal is the upper right corner." if refused else "",
        "Grey: scripted baselines." if baselines else "",
    ]
    return figure(name, title, chart, alt_text, note=" ".join(filter(None, notes)), caveat=run.caveat)


def _ends(at: Coordinate) -> list[float]:
    return [at.value if end is None else end for end in (at.low, at.high)]


def _bars(points: list[Point], x: Axis, colours: dict[str, str]) -> Any:
    """Return a chart with a line for each model."""
    import altair as alt

    rows = [
        {
            "model": p.model,
            "x": p.x.value,
            "low": p.x.low,
            "high": p.x.high,
            "colour": colours.get(p.model, BASELINE),
            "hover": f"{p.model}: {p.x}",
        }
        for p in points
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("model:N", sort=[p.model for p in points], title=None), color=alt.Color("colour:N", scale=None)
    )
    return alt.layer(
        base.mark_rule(strokeWidth=1.6, opacity=0.6, aria=False).encode(x=alt.X(**x.channel("low")), x2="high:Q"),
        base.mark_point(filled=True, size=60, opacity=1).encode(x=alt.X(**x.channel("x")), description="hover:N"),
    ).properties(width=SIZE[0], height={"step": 22})
