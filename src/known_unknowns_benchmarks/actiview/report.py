"""The data of the report's section on ActiView: the effect of the parsers and of the views, and cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from known_unknowns.benchmark.section_data import PointsData, SectionData, SharesData, TableData, Value
from known_unknowns.metrics.proportions import ACCURACY
from known_unknowns.metrics.run import OFFICIAL, Run
from known_unknowns.records import Metric
from known_unknowns_benchmarks.actiview.metrics import WITHOUT, Cost, ViewNecessity, view_necessity
from known_unknowns_benchmarks.actiview.outcomes import DIFFERENCE, Outcomes, empty_metric

ROBUST = "robust"
PARTS = {
    "right, and right without the views": "#3f7fbf",
    "right only with the views": "#2f9e6e",
    "right only without them": "#e08a2e",
    "wrong both ways": "#a8324a",
}
COSTED = ("full_image", "zooming", "single_view", "shifting_r", "mixed", "groundtruth_views", "text_only_guess")
"""The pipelines in the figure of costs."""
TWO_PARSER_PIPELINES = ("zooming", "shifting_r", "shifting_e", "shifting_m", "shifting_h", "mixed")
"""The pipelines that are run with both parsers of intermediate steps."""
_ROBUST_SUFFIX = "_robust"
_DIFFERENCES = slice(3, 6)
"""The columns of differences in the table of parser effects."""
_DASH = "\u2013"


def build(run: Run, *, results: Path, data: Path) -> SectionData:
    """Return the figures that section.yaml does not declare, and the table of parser effects."""
    outcomes = Outcomes(run, results=results, data=data)
    effects, unaffected = parser_effects(run, outcomes)
    return SectionData(
        figures=[needed(run, outcomes), cost_in_images(run, outcomes)],
        tables={"effects": effects},
        values={"unaffected": unaffected},
    )


def parser_effects(run: Run, outcomes: Outcomes) -> tuple[TableData, tuple[str, ...]]:
    """Return the effect of the official parser per model and pipeline: on answers, then on intermediate steps.

    The parser of intermediate steps decides what the model is asked next. Models that were run with one of the two
    parsers only are left out. Models whose accuracy does not depend on the parser are returned beside the table.
    """
    rows: list[tuple[tuple[str, ...], Sequence[Value]]] = []
    unaffected = []
    for model in run.models:
        effects = {variant: _effect(run, outcomes, model, variant) for variant in TWO_PARSER_PIPELINES}
        found = {variant: values for variant, values in effects.items() if values is not None}
        differences = [metric for values in found.values() for metric in values[_DIFFERENCES]]
        if differences and all(metric is not None and _is_zero(metric) for metric in differences):
            unaffected.append(model)
            continue
        rows += [((model, run.section.name(variant)), values) for variant, values in found.items()]
    columns = ["official", "robust for answers", "robust for all", "answers", "steps", "both", "official", "robust"]
    groups = (("right, by parser", 3), ("gain from the robust parser", 3), ("invalid choices", 2))
    caption = f"{run.section.title}: effect of the official parser, in percentage points"
    return TableData(caption, ("Model", "Pipeline"), columns, rows, groups), tuple(unaffected)


def _is_zero(metric: Metric) -> bool:
    """Whether a number is 0.0 in percent, as it is shown."""
    return metric.value is not None and round(100 * metric.value, 1) == 0


def _effect(run: Run, outcomes: Outcomes, model: str, variant: str) -> list[Metric | None] | None:
    robust_variant = variant + _ROBUST_SUFFIX
    conditions = [(variant, OFFICIAL), (variant, ROBUST), (robust_variant, ROBUST)]
    right = [outcomes.right(model, *condition) for condition in conditions]
    if any(series is None for series in right):
        return None
    empty = empty_metric(run, model, variant, ROBUST, DIFFERENCE)
    steps = ((0, 1), (1, 2), (0, 2))
    differences = [outcomes.difference(empty, right[before], right[after]) for before, after in steps]
    measured = [run.get(model, *condition, ACCURACY) for condition in conditions]
    invalid = [run.get(model, variant, parser, "invalid_selections") for parser in (OFFICIAL, ROBUST)]
    return [*measured, *differences, *invalid]


def needed(run: Run, outcomes: Outcomes) -> SharesData:
    """Return how many right answers of each pipeline depend on its views."""
    name, title = "actiview_needed", "Effect of the views"
    found = list(_needed(run, outcomes))
    if not found:
        return SharesData(name, title, absent="no pipeline was run together with its initial image")
    rows = [
        {"model": model, "facet": _against(run, variant), "part": part, "share": share}
        for model, variant, counted, _ in found
        for part, share in zip(PARTS, _shares(counted), strict=True)
    ]
    frame = pd.DataFrame(rows)
    return SharesData(
        name,
        title,
        alt=(
            f"Stacked bars, one for each model in each of {frame['facet'].nunique()} pipelines: the share of questions "
            "that are right with and without the pipeline's views, only with them, only without, and never."
        ),
        note=(
            "Each question is right or wrong in the pipeline, and right or wrong from the initial image of the "
            "pipeline (the full image or one view)."
        ),
        parser=run.main_parser,
        table=_view_table(found, run, outcomes),
        frame=frame,
        parts=PARTS,
    )


def _against(run: Run, variant: str) -> str:
    return f"{run.section.name(variant)}, against {run.section.name(WITHOUT[variant])}"


ViewComparison = tuple[str, str, ViewNecessity, tuple[pd.Series, pd.Series]]
"""A model, a variant, the counts, and which questions were right with and without the views."""


def _needed(run: Run, outcomes: Outcomes) -> Iterator[ViewComparison]:
    for variant, start in WITHOUT.items():
        for model in run.models:
            of_views, of_start = (outcomes.right(model, v, run.main_parser) for v in (variant, start))
            if of_views is None or of_start is None:
                continue
            having, lacking = of_views >= 0.5, of_start >= 0.5  # of several seeds: in most
            yield model, variant, view_necessity(having.to_dict(), lacking.to_dict()), (having, lacking)


def _shares(counted: ViewNecessity) -> tuple[float, ...]:
    """Return the shares of all questions, in the order of `PARTS`."""
    kept, wrong = counted.right - counted.needed, counted.n - counted.right - counted.spoiled
    return tuple(count / counted.n for count in (kept, counted.needed, counted.spoiled, wrong))


def _view_table(found: Sequence[ViewComparison], run: Run, outcomes: Outcomes) -> TableData:
    rows: list[tuple[tuple[str, ...], Sequence[Value]]] = []
    for model, variant, counted, (having, lacking) in found:
        of = empty_metric(run, model, variant, run.main_parser, "needed")
        values = (
            f"{counted.right:,} of {counted.n:,}",
            outcomes.share(of, having, ~lacking),
            outcomes.share(of, lacking, ~having),
        )
        rows.append(((_against(run, variant), model), values))
    columns = ["right", "of these, wrong without the views", "of the right without the views, wrong with them"]
    return TableData("Effect of the views, in percent", ("Pipeline", "Model"), columns, rows)


CostPoint = tuple[str, str, Metric, Cost]


def cost_in_images(run: Run, outcomes: Outcomes) -> PointsData:
    """Return accuracy against the number of images sent. The table also has turns and tokens."""
    name, title = "actiview_cost_images", "Accuracy against cost in images"
    found = list(_cost_points(run, outcomes))
    if not found:
        return PointsData(name, title, absent="no model of this run was asked")
    rows = [
        {
            "model": model,
            "series": run.section.name(variant),
            "x": cost.images,
            "x_low": None,
            "x_high": None,
            "y": 100 * (metric.value or 0.0),
            "y_low": None if metric.low is None else 100 * metric.low,
            "y_high": None if metric.high is None else 100 * metric.high,
        }
        for model, variant, metric, cost in found
        if metric.value is not None
    ]
    frame = pd.DataFrame(rows)
    return PointsData(
        name,
        title,
        alt=(
            "A scatter plot for each model: the images per question (horizontal) and accuracy in percent (vertical) of "
            f"{frame['model'].nunique()} models in {frame['series'].nunique()} pipelines, with error bars. The table "
            "below has the numbers."
        ),
        note="Means over all questions. An image that is sent in two turns counts twice.",
        parser=run.main_parser,
        table=_cost_table(found, run),
        frame=frame,
        axes=("images per question", "right (%)"),
        series=tuple(run.section.name(variant) for variant in COSTED if variant in run.variants),
    )


def _cost_points(run: Run, outcomes: Outcomes) -> Iterator[CostPoint]:
    """Yield the points of models that this run asked. Imported replies have no record of their images."""
    for model in (model for model in run.models if not run.params.is_imported(model)):
        for variant in COSTED:
            metric, cost = run.get(model, variant, run.main_parser, ACCURACY), outcomes.cost(model, variant)
            if metric is not None and cost is not None:
                yield model, variant, metric, cost


def _cost_table(found: Sequence[CostPoint], run: Run) -> TableData:
    rows: list[tuple[tuple[str, ...], Sequence[Value]]] = []
    for model, variant, metric, cost in found:
        tokens = [_DASH if n is None else f"{n:,.0f}" for n in (cost.visual_tokens, cost.input_tokens)]
        values: Sequence[Value] = (metric, f"{cost.turns:.2f}", f"{cost.images:.2f}", *tokens)
        rows.append(((model, run.section.name(variant)), values))
    columns = ["percent right", "turns", "images", "visual tokens", "input tokens"]
    return TableData("Accuracy and cost per question", ("Model", "Pipeline"), columns, rows)
