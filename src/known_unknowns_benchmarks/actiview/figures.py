"""Figures of ActiView that are not declared: effect of the views, and accuracy against cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from known_unknowns.records import Metric
from known_unknowns.report import charts
from known_unknowns.report.charts import Axis, Coordinate, Point
from known_unknowns.report.drawing import Figure, figure, placeholder
from known_unknowns.report.figures import kind, own_models, parsed
from known_unknowns.report.formatting import DASH, Cell, Head, Row, Table, metric_cell, move_n_to_heading
from known_unknowns.report.tables import ACCURACY, Run, confidence
from known_unknowns_benchmarks.actiview.metrics import WITHOUT, Cost, ViewNecessity, view_necessity
from known_unknowns_benchmarks.actiview.outcomes import Outcomes, empty_metric

if TYPE_CHECKING:
    import pandas as pd

PARTS = {
    "kept": ("right, and right without the views", "#3f7fbf"),
    "needed": ("right only with the views", "#2f9e6e"),
    "spoiled": ("right only without them", "#e08a2e"),
    "wrong": ("wrong both ways", "#a8324a"),
}
COSTED = (*("full_image", "zooming", "single_view", "shifting_r", "mixed", "groundtruth_views", "text_only_guess"),)
"""The pipelines in the cost figures."""


def needed(run: Run, outcomes: Outcomes) -> Figure:
    """Draw how many right answers of each pipeline depend on its views."""
    name, title = "actiview_needed", "Effect of the views"
    found = list(_needed(run, outcomes))
    if not found:
        return placeholder(name, title, "not drawn: no pipeline was run together with its initial image")
    rows = [
        {"model": model, "pipeline": _against(run, variant), "part": label, "share": 100 * share}
        for model, variant, counted, _ in found
        for (label, _), share in zip(PARTS.values(), _shares(counted), strict=True)
    ]
    alt_text = (
        f"Stacked bars, one for each model in each of {len({row['pipeline'] for row in rows})} pipelines: the share of "
        "questions that are right with and without the pipeline's views, only with them, only without, and never."
    )
    note = (
        "Each question is right or wrong in the pipeline, and right or wrong from the initial image of the pipeline "
        f"(the full image or one view). {parsed(run, run.main_parser)}"
    )
    chart = charts.shares(
        rows,
        run.models,
        part="part",
        colours=dict(PARTS.values()),
        facet="pipeline",
        order=list(dict.fromkeys(row["pipeline"] for row in rows)),
        baselines=run.baselines,
    )
    table = _view_table(found, run, outcomes)
    return figure(name, title, chart, alt_text, note=note, table=table, caveat=run.caveat)


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
    return Table(caption, ("Pipeline", "Model"), columns, tuple(rows))


CostPoint = tuple[str, str, Metric, Cost]


def cost_in_images(run: Run, outcomes: Outcomes) -> Figure:
    """Draw accuracy against the number of images sent. The table also has turns and tokens."""
    name, title = "actiview_cost_images", "Accuracy against cost in images"
    found = list(_cost_points(run, outcomes))
    if not found:
        return placeholder(name, title, "not drawn: no model of this run was asked")
    points = [
        Point(model, run.section.name(variant), Coordinate(cost.images), y, kind(run, model))
        for model, variant, metric, cost in found
        if (y := Coordinate.of(metric)) is not None
    ]
    series = [run.section.name(variant) for variant in COSTED if variant in run.variants]
    highest = max(point.x.value for point in points) or 1
    x_axis, y_axis = Axis("images per question", 0, highest, tick=0), Axis("right (%)")
    chart = charts.points(points, x_axis, y_axis, own_models(run), series=series)
    alt_text = (
        "Scatter plot of the images per question (horizontal) and accuracy in percent (vertical) of "
        f"{len({p.model for p in points})} models in {len({p.series for p in points})} pipelines, with error bars. The "
        "table below has the numbers."
    )
    note = f"Means over all questions. An image that is sent in two turns counts twice. {parsed(run, run.main_parser)}"
    return figure(name, title, chart, alt_text, note=note, table=_cost_table(found, run), caveat=run.caveat)


def _cost_points(run: Run, outcomes: Outcomes) -> Iterator[CostPoint]:
    """Yield the points of models that this run asked. Imported replies have no record of their images."""
    for model in (model for model in run.models if not run.params.is_imported(model)):
        for variant in COSTED:
            metric, cost = run.get(model, variant, run.main_parser, ACCURACY), outcomes.cost(model, variant)
            if metric is not None and cost is not None:
                yield model, variant, metric, cost


def _cost_table(found: Sequence[CostPoint], run: Run) -> Table:
    rows = []
    for model, variant, metric, cost in found:
        numbers = [f"{cost.turns:.2f}", f"{cost.images:.2f}"]
        numbers += [DASH if n is None else f"{n:,.0f}" for n in (cost.visual_tokens, cost.input_tokens)]
        cells = (metric_cell(metric), *(Cell(number, kind="plain") for number in numbers))
        rows.append(Row((Head(model), Head(run.section.name(variant))), cells))
    columns = [Head("percent right"), Head("turns"), Head("images"), Head("visual tokens"), Head("input tokens")]
    columns, body = move_n_to_heading(columns, rows)
    return Table("Accuracy and cost per question", ("Model", "Pipeline"), columns, body)
