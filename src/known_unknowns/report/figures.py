"""The figures of all benchmarks: scatter plots of two variants, and the distribution of answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.benchmark.section import Scatter
from known_unknowns.metrics.proportions import SHARE
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report.drawing import (
    GREY,
    MUTED,
    PUBLISHED,
    Coordinate,
    Figure,
    Point,
    figure,
    model_colours,
    percent_axis,
    placeholder,
    stacked_shares,
)
from known_unknowns.report.formatting import Cell, Head, Row, Table, counted, metric_text
from known_unknowns.report.tables import Run

if TYPE_CHECKING:
    import altair as alt

OFFICIAL_SERIES, ROBUST_SERIES = "as in the paper", "robust parser"

_REFUSAL = "#e08a2e"
_LABELS = (
    *("#4c7fb0", "#6d9ac4", "#93b6d6", "#bad1e6", "#d9e6f1"),
    *("#7a68b3", "#9c8cc9", "#beb3df", "#d9d2ee"),
    *("#3f9a80", "#66b39c", "#92cbb9", "#bfe2d6", "#dcf0e9"),
)
"""Colours of labels: A to E blue, F to I purple, J to N green, then again from the first."""
_OTHER_ANSWERS = {
    "share_abstained": "abstained",
    "share_no_letter": "no label",
    "share_cut": "cut",
    "share_failed": "failed",
}
_OTHER_COLOURS = {"abstained": "#c9b458", "no label": "#7d858f", "cut": "#b4bac2", "failed": "#a8324a"}
_LEGEND_CHARACTERS, _LEGEND_COLUMNS = 40, 4
"""A legend with more characters than this has this number of columns."""


def scatter(spec: Scatter, run: Run, published: Sequence[PublishedCell]) -> Figure:
    """Draw accuracy on two variants, with models of this run in colour and published models in grey."""
    ours = _our_points(spec, run)
    theirs = _published_points(spec, published)
    x_name, y_name = run.section.name(spec.x), run.section.name(spec.y)
    missing = [v for v in (spec.x, spec.y) if v not in run.variants]
    if missing:
        return placeholder(spec.name, spec.title, f"not drawn: {', '.join(missing)} was not run")
    alt_text = (
        f"Scatter plot of accuracy on {x_name} (horizontal) and on {y_name} (vertical), in percent, for "
        f"{counted(len(run.models), 'model')} of this run with error bars, and "
        f"{counted(len({p.model for p in theirs}), 'published model')} in grey. The table below has the numbers of "
        "this run."
    )
    chance = {axis: Coordinate.of(_first_chance(run, v)) for axis, v in (("x", spec.x), ("y", spec.y))}
    chart = _scatter_chart(ours, theirs, chance, run, x_name, y_name)
    return figure(
        spec.name, spec.title, chart, alt_text, note=spec.note, table=_scatter_table(spec, run, x_name, y_name)
    )


def _first_chance(run: Run, variant: str) -> Metric | None:
    found = (run.chance(model, variant) for model in run.models)
    return next((metric for metric in found if metric is not None), None)


def _series(spec: Scatter, run: Run) -> dict[str, tuple[str, str]]:
    """Return the parser and the metric on the vertical axis of each series."""
    every = {OFFICIAL_SERIES: ("official", spec.official_metric), ROBUST_SERIES: ("robust", spec.robust_metric)}
    return {series: by for series, by in every.items() if by[0] in run.parsers}


def _our_points(spec: Scatter, run: Run) -> list[Point]:
    points = []
    for model in run.models:
        for series, (parser, name) in _series(spec, run).items():
            x = Coordinate.of(run.get(model, spec.x, parser, "accuracy"))
            y = Coordinate.of(run.get(model, spec.y, parser, name))
            if x is not None and y is not None:
                points.append(Point(model, series, x, y))
    return points


def _published_points(spec: Scatter, published: Sequence[PublishedCell]) -> list[Point]:
    def column(variant: str, metric: str | None) -> dict[str, float]:
        return {c.row: c.value for c in published if (c.variant, c.metric, c.category) == (variant, metric, OVERALL)}

    x = column(spec.x, "accuracy")
    series_values = {
        OFFICIAL_SERIES: column(spec.y, spec.official_metric),
        ROBUST_SERIES: column(spec.y, spec.published_robust_metric),
    }
    return [
        Point(row, series, Coordinate(x[row]), Coordinate(y))
        for series, values in series_values.items()
        for row, y in values.items()
        if row in x
    ]


def _scatter_table(spec: Scatter, run: Run, x_name: str, y_name: str) -> Table:
    rows = []
    series_values = _series(spec, run)
    for model in run.models:
        for r, (series, (parser, name)) in enumerate(series_values.items()):
            heads = [Head(model, span=len(series_values))] if r == 0 else []
            cells = [run.get(model, spec.x, parser, "accuracy"), run.get(model, spec.y, parser, name)]
            rows.append(Row((*heads, Head(series)), tuple(Cell(metric_text(m)) for m in cells)))
    return Table(
        caption=f"The points of “{spec.title}”",
        corner=("Model", "Parser"),
        columns=(Head(x_name), Head(y_name)),
        rows=tuple(rows),
    )


def _scatter_chart(
    ours: Sequence[Point],
    theirs: Sequence[Point],
    chance: Mapping[str, Coordinate | None],
    run: Run,
    x_name: str,
    y_name: str,
) -> alt.LayerChart:
    import altair as alt

    x_title, y_title = f"{x_name}, percent right", f"{y_name}, percent right"
    x, y = alt.X(**percent_axis("x", x_title)), alt.Y(**percent_axis("y", y_title))
    names, colours = model_colours(run.models, baselines=run.baselines, published=bool(theirs))
    colour = alt.Color(
        "shown:N",
        scale=alt.Scale(domain=names, range=colours),
        title="Model",
        legend=alt.Legend(columns=3, columnPadding=28),
    )
    shapes = alt.Scale(domain=[OFFICIAL_SERIES, ROBUST_SERIES], range=["circle", "diamond"])
    shape = alt.Shape(
        "series:N", scale=shapes, title="Parser", legend=alt.Legend(columns=2, columnPadding=28, orient="top")
    )
    layers = [*_chance_rules(chance, x, y), *_published_layers(theirs, x, y, colour, shape)]
    values = alt.Data(values=[p.row() | {"shown": p.model} for p in ours])
    bars = alt.Chart(values).mark_rule(strokeWidth=1.4, opacity=0.65, aria=False)
    layers += [
        bars.encode(x=alt.X(**percent_axis("x_low", x_title)), x2="x_high:Q", y=y, color=colour),
        bars.encode(x=x, y=alt.Y(**percent_axis("y_low", y_title)), y2="y_high:Q", color=colour),
    ]
    for series, filled, size in ((OFFICIAL_SERIES, True, 75), (ROBUST_SERIES, False, 190)):
        layers.append(
            alt.Chart(values)
            .transform_filter(alt.datum.series == series)
            .mark_point(filled=filled, size=size, strokeWidth=1.8, opacity=1)
            .encode(x=x, y=y, color=colour, shape=shape)
        )
    return alt.layer(*layers).properties(width=560, height=400)


def _chance_rules(chance: Mapping[str, Coordinate | None], x: Any, y: Any) -> list[alt.Chart]:
    import altair as alt

    layers = []
    for name, channel in (("x", x), ("y", y)):
        if (level := chance[name]) is not None:
            values = alt.Data(values=[{name: level.value, "label": "chance"}])
            rule = alt.Chart(values).mark_rule(strokeDash=[5, 4], color=MUTED, opacity=0.8, aria=False)
            layers.append(rule.encode(**{name: channel}))
    if layers and chance["y"] is not None:
        values = alt.Data(values=[{"x": 103, "y": chance["y"].value}])
        text = alt.Chart(values).mark_text(text="chance", align="right", dx=-4, dy=-7, color=MUTED, fontSize=11)
        layers.append(text.encode(x=x, y=y))
    return layers


def _published_layers(points: Sequence[Point], x: Any, y: Any, colour: Any, shape: Any) -> Iterable[alt.Chart]:
    """Draw grey points, and a line between the two points of a model where they differ."""
    import altair as alt

    if not points:
        return []
    values = alt.Data(values=[p.row() | {"shown": PUBLISHED} for p in points])
    ends: dict[str, list[Point]] = {}
    for point in points:
        ends.setdefault(point.model, []).append(point)
    lines = [
        {"x": pair[0].x.value, "y": pair[0].y.value, "y2": pair[1].y.value}
        for pair in ends.values()
        if len(pair) == 2 and pair[0].y.value != pair[1].y.value
    ]
    joined = alt.Chart(alt.Data(values=lines)).mark_rule(color=GREY, opacity=0.45, aria=False)
    dots = alt.Chart(values).mark_point(size=38, opacity=0.75, strokeWidth=1.3)
    return [
        joined.encode(x=x, y=y, y2="y2:Q"),
        dots.encode(x=x, y=y, color=colour, shape=shape),
    ]


def answers(run: Run) -> Figure:
    """Draw a stacked bar of parsed labels, no label and failed requests for each model and variant."""
    name, title = run.section.answers_figure, f"{run.section.title}: distribution of answers"
    bars = answer_shares(run)
    if not bars:
        return placeholder(name, title, "not drawn: no shares of answers were measured")
    alt_text = (
        f"Stacked bars, one for each of {counted(len(run.models), 'model')} under each of "
        f"{counted(len(run.variants), 'variant')}: the share of questions by the label of the answer, "
        f"abstained, without a parsed label, cut by the length limit, and without a reply, under the "
        f"{run.parser_name(run.main_parser)} parser."
    )
    drawn = {(bar["model"], bar["variant"]) for bar in bars}
    absent = "A model without a bar was not run." if len(drawn) < len(run.models) * len(run.variants) else ""
    note = " ".join(filter(None, [run.section.answers_note, absent]))
    return figure(name, title, _answers_chart(bars, run), alt_text, note=note)


def answer_shares(run: Run) -> list[dict[str, Any]]:
    """Return one row per model, variant and answer, in percent. The shares of a bar add up to 100.

    ``share_unparsed`` is left out: it overlaps the labels, since a parsed label may be one that was not offered.
    Replies that abstain or were cut are parts of ``share_no_letter``, and are shown apart.
    """

    def share(m: Metric) -> float:
        if m.name != "share_no_letter":
            return m.value or 0.0
        parts = (run.get(m.model, m.variant, m.parser, name) for name in ("share_abstained", "share_cut"))
        return max((m.value or 0.0) - sum(part.value or 0.0 for part in parts if part is not None), 0.0)

    return [
        {
            "model": m.model,
            "variant": run.section.name(m.variant),
            "answer": _OTHER_ANSWERS.get(m.name, m.name.removeprefix(SHARE)),
            "share": 100 * share(m),
        }
        for m in run.numbers
        if m.benchmark == run.benchmark
        and m.variant in run.variants
        and m.parser == run.main_parser
        and m.category == OVERALL
        and m.name.startswith(SHARE)
        and m.name != "share_unparsed"
        and m.value is not None
    ]


def answer_colours(present: Iterable[str], refusal: str) -> dict[str, str]:
    """Return the answers in their order in a bar, with their colours.

    Letters and numbers come first, then other labels in alphabetical order, and the outcomes without a label. A letter
    or a number always has the same colour.
    """
    present = set(present)
    labels = sorted(present - set(_OTHER_COLOURS), key=_label_key)
    words = [label for label in labels if _position(label) is None]
    colours = {}
    for label in labels:
        position = _position(label)
        colours[label] = _LABELS[(2 * words.index(label) if position is None else position) % len(_LABELS)]
    if refusal in colours:
        colours[refusal] = _REFUSAL
    return colours | {answer: colour for answer, colour in _OTHER_COLOURS.items() if answer in present}


def _label_key(label: str) -> tuple[bool, int, str]:
    position = _position(label)
    return position is None, position or 0, label


def _position(label: str) -> int | None:
    """Return 0 for A and 1, 1 for B and 2, and so on; None for other labels."""
    if len(label) == 1 and label.isascii() and label.isalpha():
        return ord(label.upper()) - ord("A")
    return int(label) - 1 if label.isascii() and label.isdigit() and int(label) else None


def _answers_chart(bars: list[dict[str, Any]], run: Run) -> alt.FacetChart:
    import altair as alt

    colours_of = answer_colours((bar["answer"] for bar in bars), run.section.refusal_label)
    order = {answer: place for place, answer in enumerate(colours_of)}
    rows = [bar | {"place": order[bar["answer"]]} for bar in bars]
    columns = len(order) if sum(map(len, order)) <= _LEGEND_CHARACTERS else _LEGEND_COLUMNS
    return stacked_shares(
        rows,
        run.models,
        part="answer",
        colours=colours_of,
        facet="variant",
        order=[run.section.name(variant) for variant in run.variants],
        legend=alt.Legend(orient="top", title=None, columns=columns, symbolType="square"),
        baselines=run.baselines,
        width=560,
    )
