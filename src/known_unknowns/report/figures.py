"""The figures that any benchmark has: accuracy on one variant against another, and what was answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from known_unknowns.comparison import PublishedCell
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report.drawing import (
    GREY,
    MUTED,
    PUBLISHED,
    Axis,
    Figure,
    Point,
    figure,
    model_colours,
    percent_axis,
    placeholder,
)
from known_unknowns.report.formatting import Cell, Head, Row, Table, in_words
from known_unknowns.report.section import Scatter
from known_unknowns.report.tables import Run, reader

if TYPE_CHECKING:
    import altair as alt

COUNTED, READ = "as the paper counts", "robust reading"

_LETTERS = ("#4c7fb0", "#6d9ac4", "#93b6d6", "#bad1e6", "#d9e6f1")
_REFUSAL = "#e08a2e"
_LATER = ("#7a68b3", "#9c8cc9", "#beb3df", "#d9d2ee")
_NO_LETTER, _FAILED = "#7d858f", "#a8324a"


def scatter(spec: Scatter, run: Run, published: Sequence[PublishedCell]) -> Figure:
    """Accuracy on one variant against another, our models in colour and the published ones in grey."""
    ours = _our_points(spec, run)
    theirs = _published_points(spec, published)
    x_name, y_name = run.section.name(spec.x), run.section.name(spec.y)
    missing = [v for v in (spec.x, spec.y) if v not in run.variants]
    if missing:
        return placeholder(spec.name, spec.title, f"not drawn: {', '.join(missing)} was not run")
    alt_text = (
        f"Scatter plot of accuracy on {x_name} (horizontal) and on {y_name} (vertical), in percent, for "
        f"{len(run.models)} models of this run with error bars, and {len({p.model for p in theirs})} published "
        "models in grey. The table below has the numbers of this run."
    )
    chance = {axis: Axis.of(_first_chance(run, v)) for axis, v in (("x", spec.x), ("y", spec.y))}
    chart = _scatter_chart(ours, theirs, chance, run.models, x_name, y_name)
    return figure(
        spec.name, spec.title, chart, alt_text, note=spec.note, table=_scatter_table(spec, run, x_name, y_name)
    )


def _first_chance(run: Run, variant: str) -> Metric | None:
    found = (run.chance(model, variant) for model in run.models)
    return next((metric for metric in found if metric is not None), None)


def _readings(spec: Scatter, run: Run) -> dict[str, tuple[str, str]]:
    """Each reading that is drawn: its scorer and the metric on the vertical axis."""
    every = {COUNTED: ("official", spec.counted), READ: ("robust", spec.read)}
    return {reading: by for reading, by in every.items() if by[0] in run.scorers}


def _our_points(spec: Scatter, run: Run) -> list[Point]:
    points = []
    for model in run.models:
        for reading, (scorer, name) in _readings(spec, run).items():
            x = Axis.of(run.get(model, spec.x, scorer, "accuracy"))
            y = Axis.of(run.get(model, spec.y, scorer, name))
            if x is not None and y is not None:
                points.append(Point(model, reading, x, y))
    return points


def _published_points(spec: Scatter, published: Sequence[PublishedCell]) -> list[Point]:
    def column(variant: str, metric: str | None) -> dict[str, float]:
        return {c.row: c.value for c in published if (c.variant, c.metric, c.category) == (variant, metric, OVERALL)}

    x = column(spec.x, "accuracy")
    readings = {COUNTED: column(spec.y, spec.counted), READ: column(spec.y, spec.published_read)}
    return [
        Point(row, reading, Axis(x[row]), Axis(y))
        for reading, values in readings.items()
        for row, y in values.items()
        if row in x
    ]


def _scatter_table(spec: Scatter, run: Run, x_name: str, y_name: str) -> Table:
    rows = []
    readings = _readings(spec, run)
    for model in run.models:
        for r, (reading, (scorer, name)) in enumerate(readings.items()):
            heads = [Head(model, span=len(readings))] if r == 0 else []
            cells = [run.get(model, spec.x, scorer, "accuracy"), run.get(model, spec.y, scorer, name)]
            rows.append(Row((*heads, Head(reading)), tuple(Cell(in_words(m)) for m in cells)))
    return Table(
        caption=f"The points of “{spec.title}”",
        corner=("Model", "Reading"),
        columns=(Head(x_name), Head(y_name)),
        rows=tuple(rows),
    )


def _scatter_chart(
    ours: Sequence[Point],
    theirs: Sequence[Point],
    chance: Mapping[str, Axis | None],
    models: Sequence[str],
    x_name: str,
    y_name: str,
) -> alt.LayerChart:
    import altair as alt

    x_title, y_title = f"{x_name}, percent right", f"{y_name}, percent right"
    x, y = alt.X(**percent_axis("x", x_title)), alt.Y(**percent_axis("y", y_title))
    names, colours = model_colours(models, published=bool(theirs))
    colour = alt.Color(
        "shown:N",
        scale=alt.Scale(domain=names, range=colours),
        title="Model",
        legend=alt.Legend(columns=3, columnPadding=28),
    )
    shapes = alt.Scale(domain=[COUNTED, READ], range=["circle", "diamond"])
    shape = alt.Shape("reading:N", scale=shapes, title="Reading", legend=alt.Legend(columns=1))
    layers = [*_chance_rules(chance, x, y), *_published_layers(theirs, x, y, colour, shape)]
    values = alt.Data(values=[p.row() | {"shown": p.model} for p in ours])
    bars = alt.Chart(values).mark_rule(strokeWidth=1.4, opacity=0.65, aria=False)
    layers += [
        bars.encode(x=alt.X(**percent_axis("x_low", x_title)), x2="x_high:Q", y=y, color=colour),
        bars.encode(x=x, y=alt.Y(**percent_axis("y_low", y_title)), y2="y_high:Q", color=colour),
    ]
    for reading, filled, size in ((COUNTED, True, 75), (READ, False, 190)):
        layers.append(
            alt.Chart(values)
            .transform_filter(alt.datum.reading == reading)
            .mark_point(filled=filled, size=size, strokeWidth=1.8, opacity=1)
            .encode(x=x, y=y, color=colour, shape=shape)
        )
    return alt.layer(*layers).properties(width=560, height=400)


def _chance_rules(chance: Mapping[str, Axis | None], x: Any, y: Any) -> list[alt.Chart]:
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
    """Grey points, and a line between the two readings of one model's replies where they differ."""
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


def letters(run: Run) -> Figure:
    """What was read, on offer or not: a stacked bar of letters, no letter and failed, per model and variant."""
    title = f"{run.section.title}: what was answered"
    bars = _letter_shares(run)
    if not bars:
        return placeholder(run.section.letters, title, "not drawn: no shares of letters were measured")
    alt_text = (
        f"Stacked bars, one for each of {len(run.models)} models under each of {len(run.variants)} variants: the "
        f"share of questions answered by each letter, by none that could be read, or not at all, under the "
        f"{reader(run.reader)} reading."
    )
    return figure(run.section.letters, title, _letters_chart(bars, run), alt_text, note=run.section.letters_note)


def _letter_shares(run: Run) -> list[dict[str, Any]]:
    """One row per model, variant and answer, in percent. The answers of a bar add up to 100: ``share_unparsed``
    overlaps the letters (one may have been read that was not on offer), ``share_no_letter`` does not."""
    return [
        {
            "model": m.model,
            "variant": run.section.name(m.variant),
            "answer": m.name.removeprefix("share_").replace("_", " "),
            "share": 100 * m.value,
        }
        for m in run.numbers
        if m.benchmark == run.benchmark
        and m.scorer == run.reader
        and m.category == OVERALL
        and m.name.startswith("share_")
        and m.name != "share_unparsed"
        and m.value is not None
    ]


def _answers(present: Iterable[str], refusal: str) -> dict[str, str]:
    """The answers in reading order, with their colours; ``refusal`` is the letter that refuses, if there is one."""
    coloured = dict(zip("ABCDE", _LETTERS, strict=True)) | ({refusal: _REFUSAL} if refusal else {})
    coloured |= dict(zip("FGHI", _LATER, strict=True)) | {"no letter": _NO_LETTER, "failed": _FAILED}
    present = set(present)
    return {answer: colour for answer, colour in coloured.items() if answer in present}


def _letters_chart(bars: list[dict[str, Any]], run: Run) -> alt.FacetChart:
    import altair as alt

    answers = _answers((bar["answer"] for bar in bars), run.section.refusal_letter)
    order = {answer: place for place, answer in enumerate(answers)}
    rows = [bar | {"place": order[bar["answer"]]} for bar in bars if bar["answer"] in order]
    ticks = alt.Axis(values=[0, 25, 50, 75, 100], format="d")
    share = alt.X("share:Q", stack="zero", scale=alt.Scale(domain=[0, 100]), axis=ticks)
    colours = alt.Scale(domain=list(answers), range=list(answers.values()))
    legend = alt.Legend(orient="top", title=None, columns=len(answers), symbolType="square")
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(height={"band": 0.82})
        .encode(
            x=share.title("percent of questions"),
            y=alt.Y("model:N", sort=list(run.models), title=None),
            color=alt.Color("answer:N", scale=colours, legend=legend),
            order=alt.Order("place:Q"),
        )
        .properties(width=560, height={"step": 17})
        .facet(
            row=alt.Row(
                "variant:N",
                title=None,
                sort=[run.section.name(variant) for variant in run.variants],
                header=alt.Header(orient="top", labelAnchor="start", labelFontWeight="bold", labelPadding=3),
            ),
            spacing=16,
        )
    )
