"""Figures of ActiView: accuracy of pipelines, effect of the views, and accuracy against cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.comparison import OFFICIAL
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report.drawing import (
    DOT_PLOT_SIZE,
    MUTED,
    PUBLISHED,
    Coordinate,
    Figure,
    dot_channels,
    figure,
    interval_dots,
    model_colours,
    parts_legend,
    percent_axis,
    placeholder,
    stacked_shares,
)
from known_unknowns.report.formatting import DASH, Cell, Head, Row, Table, metric_cell, move_n_to_heading
from known_unknowns.report.paper_tables import table_parser
from known_unknowns.report.tables import ACCURACY, Run, confidence, parser_name
from known_unknowns_benchmarks.actiview.audit import HUMAN
from known_unknowns_benchmarks.actiview.metrics import WITHOUT, Cost, ViewNecessity, view_necessity
from known_unknowns_benchmarks.actiview.outcomes import Outcomes, empty_metric

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

PIPELINES = (
    *("full_image", "zooming", "single_view", "shifting_r", "shifting_e", "shifting_m", "shifting_h"),
    *("mixed", "groundtruth_views", "text_only_commonsense", "text_only_guess"),
)
"""In the order of the paper's tables."""
PARTS = {
    "kept": ("right, and right without the views", "#3f7fbf"),
    "needed": ("right only with the views", "#2f9e6e"),
    "spoiled": ("right only without them", "#e08a2e"),
    "wrong": ("wrong both ways", "#a8324a"),
}
_COSTED = {
    "full_image": "circle",
    "zooming": "triangle-up",
    "single_view": "square",
    "shifting_r": "diamond",
    "mixed": "cross",
    "groundtruth_views": "triangle-down",
    "text_only_guess": "triangle-right",
}
"""The pipelines in the cost figures, with the shapes of their points."""


def pipelines(run: Run, published: Sequence[PublishedCell]) -> Figure:
    """Draw the accuracy of all pipelines with intervals, published numbers in grey, chance and human accuracy."""
    name, title = "actiview_pipelines", "Accuracy in every pipeline"
    shown = [variant for variant in PIPELINES if variant in run.variants]
    rows = [
        {"model": model, "pipeline": run.section.name(v), "value": axis.value, "low": axis.low, "high": axis.high}
        for v in shown
        for model in run.models
        if (axis := Coordinate.of(run.get(model, v, table_parser(run), ACCURACY))) is not None
    ]
    if not rows:
        return placeholder(name, title, "not drawn: no pipeline was run")
    theirs = [
        {"model": PUBLISHED, "pipeline": run.section.name(cell.variant), "value": cell.value}
        for cell in published
        if cell.variant in shown and (cell.metric, cell.category) == (ACCURACY, OVERALL) and cell.table != "Table 14"
    ]
    alt_text = (
        f"Dot plot of accuracy in percent: a row for each of {len({row['pipeline'] for row in rows})} pipelines, a dot "
        f"with its {confidence(run)} interval for each of {len(run.models)} models, {len(theirs)} published numbers in "
        "grey, and lines at chance and at human accuracy. The tables above have the numbers."
    )
    note = (
        f"Answers are parsed {_parser_phrase(table_parser(run))}. Dashed: chance, from the options of these questions. "
        f"Dotted: human accuracy ({HUMAN}%) on the published questions."
    )
    chance = next((m.value for model in run.models for v in shown if (m := run.chance(model, v)) is not None), None)
    return figure(name, title, _pipelines_chart(rows, theirs, chance, run, shown), alt_text, note=note)


def _parser_phrase(parser: str) -> str:
    return "as released" if parser == OFFICIAL else f"by the {parser_name(parser)} parser"


def _pipelines_chart(
    rows: list[dict[str, Any]], theirs: list[dict[str, Any]], chance: float | None, run: Run, shown: Sequence[str]
) -> alt.LayerChart:
    import altair as alt

    title = "percent right"
    order = [run.section.name(variant) for variant in shown]
    channels = dot_channels("pipeline", order, run.models, baselines=run.baselines, published=bool(theirs))
    lines = [({"at": HUMAN}, [2, 3])] + ([] if chance is None else [({"at": 100 * chance}, [5, 4])])
    layers = [
        alt.Chart(alt.Data(values=[line]))
        .mark_rule(strokeDash=dash, color=MUTED, opacity=0.8, aria=False)
        .encode(x=alt.X(**percent_axis("at", title)))
        for line, dash in lines
    ]
    layers += interval_dots(alt.Chart(alt.Data(values=rows)).encode(**channels), title)
    if theirs:
        ticks = alt.Chart(alt.Data(values=theirs)).mark_point(size=26, opacity=0.7, strokeWidth=1.2)
        layers.append(ticks.encode(x=alt.X(**percent_axis("value", title)), **channels))
    return alt.layer(*layers).properties(**DOT_PLOT_SIZE)


def needed(run: Run, outcomes: Outcomes) -> Figure:
    """Draw how many right answers of each pipeline depend on its views."""
    name, title = "actiview_needed", "Effect of the views"
    found = list(_needed(run, outcomes))
    if not found:
        return placeholder(name, title, "not drawn: no pipeline was run together with its initial image")
    rows = [
        {"model": model, "pipeline": _against(run, variant), "place": place, "part": label, "share": 100 * share}
        for model, variant, counted, _ in found
        for place, ((label, _), share) in enumerate(zip(PARTS.values(), _shares(counted), strict=True))
    ]
    alt_text = (
        f"Stacked bars, one for each model in each of {len({row['pipeline'] for row in rows})} pipelines: the share of "
        "questions that are right with and without the pipeline's views, only with them, only without, and never."
    )
    note = (
        "Each question is right or wrong in the pipeline, and right or wrong from the initial image of the pipeline "
        f"(the full image or one view). Answers are parsed {_parser_phrase(run.main_parser)}."
    )
    return figure(name, title, _view_chart(rows, run), alt_text, note=note, table=_view_table(found, run, outcomes))


def _against(run: Run, variant: str) -> str:
    return f"{run.section.name(variant)}, against {run.section.name(WITHOUT[variant])}"


ViewComparison = tuple[str, str, ViewNecessity, tuple["pd.Series", "pd.Series"]]
"""A model, a variant, the counts, and which questions were right with and without the views."""


def _needed(run: Run, outcomes: Outcomes) -> Iterator[ViewComparison]:
    for variant, start in WITHOUT.items():
        for model in run.models:
            right = [outcomes.right(model, v, run.main_parser) for v in (variant, start)]
            if any(series is None for series in right):
                continue
            having, lacking = (series >= 0.5 for series in right)  # of several seeds: in most
            yield model, variant, view_necessity(having.to_dict(), lacking.to_dict()), (having, lacking)


def _shares(counted: ViewNecessity) -> tuple[float, ...]:
    """Return the shares of all questions, in the order of `PARTS`."""
    kept, wrong = counted.right - counted.needed, counted.n - counted.right - counted.spoiled
    return tuple(count / counted.n for count in (kept, counted.needed, counted.spoiled, wrong))


def _view_chart(rows: list[dict[str, Any]], run: Run) -> alt.FacetChart:
    return stacked_shares(
        rows,
        run.models,
        part="part",
        colours=dict(PARTS.values()),
        facet="pipeline",
        order=list(dict.fromkeys(row["pipeline"] for row in rows)),
        legend=parts_legend(),
        baselines=run.baselines,
    )


def _view_table(found: Sequence[ViewComparison], run: Run, outcomes: Outcomes) -> Table:
    rows = []
    for model, variant, counted, (having, lacking) in found:
        of = empty_metric(run, model, variant, run.main_parser, "needed")
        cells = (
            Cell(f"{counted.right:,} of {counted.n:,}", kind="plain"),
            metric_cell(outcomes.share(of, having, ~lacking)),
            metric_cell(outcomes.share(of, lacking, ~having)),
        )
        rows.append(Row((Head(_against(run, variant)), Head(model)), cells))
    columns = (
        Head("right"),
        Head("of these, wrong without the views"),
        Head("of the right without the views, wrong with them"),
    )
    caption = f"Effect of the views, in percent, with {confidence(run)} intervals"
    return Table(caption, ("Pipeline", "Model"), columns, tuple(_merge_first_heads(rows)))


def _merge_first_heads(rows: Iterable[Row]) -> Iterator[Row]:
    """Merge the first heads of adjacent rows if they are equal."""
    for _, members in groupby(rows, key=lambda row: row.heads[0].text):
        together = list(members)
        for place, row in enumerate(together):
            first, *others = row.heads
            yield replace(row, heads=((replace(first, span=len(together)),) if place == 0 else ()) + tuple(others))


CostPoint = tuple[str, str, Metric, Cost]


def cost_in_images(run: Run, outcomes: Outcomes) -> Figure:
    """Draw accuracy against the number of images sent."""
    return _cost_figure("images", "images per question", lambda cost: cost.images, run, outcomes)


def cost_in_tokens(run: Run, outcomes: Outcomes) -> Figure:
    """Draw accuracy against visual tokens, for the models whose engine counts them."""
    return _cost_figure("tokens", "visual tokens per question", lambda cost: cost.visual_tokens, run, outcomes)


def _cost_figure(
    unit: str, x_title: str, amount: Callable[[Cost], float | None], run: Run, outcomes: Outcomes
) -> Figure:
    thing = {"images": "images", "tokens": "visual tokens"}[unit]
    name, title = f"actiview_cost_{unit}", f"Accuracy against cost in {thing}"
    found = [point for point in _cost_points(run, outcomes) if amount(point[3]) is not None]
    if not found:
        return placeholder(name, title, f"not drawn: no engine of this run counts {thing}")
    rows = []
    for model, variant, metric, cost in found:
        axis = Coordinate.of(metric)
        if axis is not None:
            values = {"y": axis.value, "y_low": axis.low, "y_high": axis.high}
            rows.append({"model": model, "pipeline": run.section.name(variant), "x": amount(cost), **values})
    alt_text = (
        f"Scatter plot of the {x_title} (horizontal) and accuracy in percent (vertical) of "
        f"{len({row['model'] for row in rows})} models in {len({row['pipeline'] for row in rows})} pipelines, with "
        "error bars. The table below has the numbers."
    )
    note = (
        f"Means over all questions. The {thing} of an image that is sent in two turns count twice. "
        f"Answers are parsed {_parser_phrase(run.main_parser)}."
    )
    return figure(name, title, _cost_chart(rows, x_title, run), alt_text, note=note, table=_cost_table(found, run))


def _cost_points(run: Run, outcomes: Outcomes) -> Iterator[CostPoint]:
    """Yield the points of models that this run asked. Imported replies have no record of their images."""
    for model in (model for model in run.models if not run.params.is_imported(model)):
        for variant in _COSTED:
            metric, cost = run.get(model, variant, run.main_parser, ACCURACY), outcomes.cost(model, variant)
            if metric is not None and cost is not None:
                yield model, variant, metric, cost


def _cost_chart(rows: list[dict[str, Any]], x_title: str, run: Run) -> alt.LayerChart:
    import altair as alt

    highest = max(row["x"] for row in rows) or 1
    x_scale = alt.Scale(domain=[-0.03 * highest, 1.05 * highest], nice=False)
    x = alt.X("x:Q", scale=x_scale, title=x_title, axis=alt.Axis(format=",~f"))
    names, colours = model_colours(run.models, baselines=run.baselines)
    legend = alt.Legend(columns=2, columnPadding=28, values=[m for m in names if m in {row["model"] for row in rows}])
    colour = alt.Color("model:N", scale=alt.Scale(domain=names, range=colours), title="Model", legend=legend)
    used: Mapping[str, str] = {run.section.name(v): shape for v, shape in _COSTED.items() if v in run.variants}
    shapes = alt.Scale(domain=list(used), range=list(used.values()))
    shape = alt.Shape(
        "pipeline:N", scale=shapes, title="Pipeline", legend=alt.Legend(columns=2, columnPadding=28, padding=16)
    )
    data = alt.Data(values=rows)
    y_title = "percent right"
    bars = alt.Chart(data).mark_rule(strokeWidth=1.4, opacity=0.5, aria=False)
    dots = alt.Chart(data).mark_point(filled=False, size=90, strokeWidth=1.8, opacity=1)
    return alt.layer(
        bars.encode(x=x, y=alt.Y(**percent_axis("y_low", y_title)), y2="y_high:Q", color=colour),
        dots.encode(x=x, y=alt.Y(**percent_axis("y", y_title)), color=colour, shape=shape),
    ).properties(width=560, height=400)


def _cost_table(found: Sequence[CostPoint], run: Run) -> Table:
    rows = []
    for model, variant, metric, cost in found:
        numbers = [f"{cost.turns:.2f}", f"{cost.images:.2f}"]
        numbers += [DASH if n is None else f"{n:,.0f}" for n in (cost.visual_tokens, cost.input_tokens)]
        cells = (metric_cell(metric), *(Cell(number, kind="plain") for number in numbers))
        rows.append(Row((Head(model), Head(run.section.name(variant))), cells))
    columns = [Head("percent right"), Head("turns"), Head("images"), Head("visual tokens"), Head("input tokens")]
    columns, body = move_n_to_heading(columns, _merge_first_heads(rows))
    return Table("Accuracy and cost per question", ("Model", "Pipeline"), columns, body)
