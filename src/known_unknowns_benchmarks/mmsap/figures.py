"""Figures of MM-SAP: the two scores, the 19 sub-tasks, the knowledge quadrants, and risk against coverage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.comparison import OFFICIAL
from known_unknowns.edition_files import EditionFiles
from known_unknowns.metrics.score_tables import load
from known_unknowns.metrics.selective import risks
from known_unknowns.records import OVERALL
from known_unknowns.report.drawing import (
    DOT_PLOT_SIZE,
    GREY,
    MUTED,
    PUBLISHED,
    Coordinate,
    Figure,
    Point,
    dot_channels,
    facet_rows,
    figure,
    interval_dots,
    model_colours,
    parts_legend,
    percent_axis,
    placeholder,
    stacked_shares,
)
from known_unknowns.report.formatting import Head, Row, Table, metric_cell
from known_unknowns.report.paper_tables import table_parser
from known_unknowns.report.tables import Run, confidence
from known_unknowns_benchmarks.mmsap.loader import SUB_TASKS, SUBSETS

if TYPE_CHECKING:
    import altair as alt

LIKELIHOOD, AREA = "likelihood", "aurc"
PROMPTS = {"shuffled_options": "plain prompt", "shuffled_refusal_prompt": "refusal prompt"}
"""The variants in the figure of scores, with the names of their prompts."""
QUADRANTS = {
    "quadrant_known_known": ("known known: right", "#3f7fbf"),
    "quadrant_known_unknown": ("known unknown: refused, not known", "#e08a2e"),
    "quadrant_unknown_known": ("unknown known: refused, but known", "#f2c48d"),
    "quadrant_unknown_unknown": ("unknown unknown: wrong", "#a8324a"),
    "quadrant_abstained": ("abstained", "#c9b458"),
    "quadrant_unread": ("unparsed, cut or failed", "#7d858f"),
}
_COVERAGES = np.arange(1, 101) / 100


def _main(run: Run) -> str:
    """Return the variant of all figures except that of scores; "" if nothing was measured."""
    return run.headline[0] if run.headline else ""


def _parser_phrase(run: Run) -> str:
    return "direct matching" if table_parser(run) == OFFICIAL else f"the {table_parser(run)} parser"


def scores(run: Run, published: Sequence[PublishedCell]) -> Figure:
    """Draw score_kk against score_ku with lines of equal score_sa (Figure 5 of the final version)."""
    name, title = "mmsap_scores", "Known knowns and known unknowns"
    ours, theirs = _our_points(run), _published_points(published)
    if not ours:
        return placeholder(name, title, f"not drawn: {', '.join(PROMPTS)} were not run")
    alt_text = (
        f"Scatter plot of score_kk (horizontal) and score_ku (vertical), in percent, with lines of equal score_sa: "
        f"{len({p.model for p in ours})} models of this run with error bars, and {len({p.model for p in theirs})} "
        "published models in grey. The tables above have the numbers."
    )
    note = (
        "Figure 5 of the paper. On a dashed line, the sum score_sa is constant. Hollow points use the refusal prompt "
        "(Table 3). A line joins the two points of a model."
    )
    return figure(name, title, _scores_chart(ours, theirs, run), alt_text, note=note)


def _our_points(run: Run) -> list[Point]:
    found = []
    for model in run.models:
        for variant, prompt in PROMPTS.items():
            x, y = (
                Coordinate.of(run.get(model, variant, table_parser(run), metric)) for metric in ("score_kk", "score_ku")
            )
            if x is not None and y is not None:
                found.append(Point(model, prompt, x, y))
    return found


def _published_points(published: Iterable[PublishedCell]) -> list[Point]:
    """Return the points of Table 1, and of the rows of Table 3 with the refusal prompt."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for cell in published:
        told = cell.table == "Table 1" or (cell.table == "Table 3" and cell.variant == "shuffled_refusal_prompt")
        if told and cell.category == OVERALL:
            found.setdefault((cell.model, PROMPTS[cell.variant]), {})[cell.metric] = cell.value
    return [Point(*key, Coordinate(of["score_kk"]), Coordinate(of["score_ku"])) for key, of in found.items()]


def _scores_chart(ours: Sequence[Point], theirs: Sequence[Point], run: Run) -> alt.LayerChart:
    import altair as alt

    ends = [axis.value if axis.high is None else axis.high for p in (*ours, *theirs) for axis in (p.x, p.y)]
    highest = max(70, 10 * ceil(max(ends) / 10))
    titles = {"x": "score_kk, percent", "y": "score_ku, percent"}
    x, y = (
        channel(**percent_axis(field, titles[field], highest=highest))
        for channel, field in ((alt.X, "x"), (alt.Y, "y"))
    )
    names, colours = model_colours(run.models, baselines=run.baselines, published=True)
    colour = alt.Color(
        "shown:N",
        scale=alt.Scale(domain=names, range=colours),
        title="Model",
        legend=alt.Legend(columns=3, columnPadding=28),
    )
    shapes = alt.Scale(domain=list(PROMPTS.values()), range=["circle", "diamond"])
    shape = alt.Shape("series:N", scale=shapes, title="Prompt", legend=alt.Legend(columns=1, padding=16))
    layers = [*_iso_lines(highest, x, y), *_joined(theirs, x, y), *_joined(ours, x, y)]
    values = alt.Data(values=[p.row() | {"shown": PUBLISHED} for p in theirs])
    layers.append(
        alt.Chart(values).mark_point(size=38, opacity=0.75, strokeWidth=1.3).encode(x=x, y=y, color=colour, shape=shape)
    )
    values = alt.Data(values=[p.row() | {"shown": p.model} for p in ours])
    bars = alt.Chart(values).mark_rule(strokeWidth=1.4, opacity=0.65, aria=False)
    x_low, y_low = (
        channel(**percent_axis(f"{field}_low", titles[field], highest=highest))
        for channel, field in ((alt.X, "x"), (alt.Y, "y"))
    )
    layers += [
        bars.encode(x=x_low, x2="x_high:Q", y=y, color=colour),
        bars.encode(x=x, y=y_low, y2="y_high:Q", color=colour),
    ]
    for prompt, filled, size in zip(PROMPTS.values(), (True, False), (75, 150), strict=True):
        layers.append(
            alt.Chart(values)
            .transform_filter(alt.datum.series == prompt)
            .mark_point(filled=filled, size=size, strokeWidth=1.8, opacity=1)
            .encode(x=x, y=y, color=colour, shape=shape)
        )
    return alt.layer(*layers).properties(width=560, height=440)


def _iso_lines(highest: float, x: Any, y: Any) -> list[alt.Chart]:
    """Draw lines where score_kk + score_ku is 20, 40, ..., within the axes."""
    import altair as alt

    lines = []
    for total in range(20, 101, 20):
        near = max(0.0, total - highest)
        lines.append({"x": near, "y": total - near, "x2": total - near, "y2": near, "label": f"score_sa {total}"})
    data = alt.Data(values=[line for line in lines if line["x2"] > line["x"]])
    rule = alt.Chart(data).mark_rule(strokeDash=[5, 4], color=MUTED, opacity=0.6, aria=False)
    text = alt.Chart(data).mark_text(align="left", dx=5, dy=-3, color=MUTED, fontSize=11, aria=False)
    return [rule.encode(x=x, y=y, x2="x2:Q", y2="y2:Q"), text.encode(x=x, y=y, text="label:N")]


def _joined(points: Sequence[Point], x: Any, y: Any) -> list[alt.Chart]:
    """Draw a line between the two points of a model."""
    import altair as alt

    of: dict[str, list[Point]] = {}
    for point in points:
        of.setdefault(point.model, []).append(point)
    lines = [
        {"x": one.x.value, "y": one.y.value, "x2": other.x.value, "y2": other.y.value}
        for one, other in (pair for pair in of.values() if len(pair) == 2)
    ]
    rule = alt.Chart(alt.Data(values=lines)).mark_rule(color=GREY, opacity=0.6, aria=False)
    return [rule.encode(x=x, y=y, x2="x2:Q", y2="y2:Q")] if lines else []


def subtasks(run: Run) -> Figure:
    """Draw score_AR of the 19 sub-tasks as a dot plot. Figure 4 of the first preprint is a radar chart of it."""
    name, title = "mmsap_subtasks", "The 19 sub-tasks"
    variant = _main(run)
    rows = [
        {"model": model, "subset": subset, "task": task, "value": axis.value, "low": axis.low, "high": axis.high}
        for subset, tasks in SUB_TASKS.items()
        for task in tasks
        for model in run.models
        if (axis := Coordinate.of(run.get(model, variant, table_parser(run), "score_AR", task))) is not None
    ]
    if not rows:
        return placeholder(name, title, "not drawn: no sub-task was measured")
    alt_text = (
        f"Dot plot of score_AR in percent: a row for each of {len({row['task'] for row in rows})} sub-tasks in three "
        f"subsets, a dot with its {confidence(run)} interval for each of {len(run.models)} models."
    )
    note = (
        f"Figure 4 of the first preprint, which is a radar chart: score_AR under {_parser_phrase(run)} on "
        f"{run.section.name(variant)}, with intervals. Each dot is based on few questions."
    )
    return figure(name, title, _subtasks_chart(rows, run), alt_text, note=note, table=_subtasks_table(run, variant))


def _subtasks_chart(rows: list[dict[str, Any]], run: Run) -> alt.FacetChart:
    import altair as alt

    order = [task for tasks in SUB_TASKS.values() for task in tasks]
    base = alt.Chart().encode(**dot_channels("task", order, run.models, baselines=run.baselines))
    layers = alt.layer(*interval_dots(base, "score_AR, percent"), data=alt.Data(values=rows))
    faceted = layers.properties(**DOT_PLOT_SIZE).facet(row=facet_rows("subset", SUBSETS), spacing=14)
    return faceted.resolve_scale(y="independent")


def _subtasks_table(run: Run, variant: str) -> Table:
    rows = []
    for subset, tasks in SUB_TASKS.items():
        for place, task in enumerate(tasks):
            heads = [Head(subset, span=len(tasks))] if place == 0 else []
            cells = [metric_cell(run.get(model, variant, table_parser(run), "score_AR", task)) for model in run.models]
            rows.append(Row((*heads, Head(task)), tuple(cells)))
    columns = tuple(Head(model, verbatim=True) for model in run.models)
    return Table("score_AR by sub-task", ("Subset", "Sub-task"), columns, tuple(rows))


def quadrant(run: Run) -> Figure:
    """Draw the knowledge quadrants from the two turns (Figure 2 of the paper)."""
    name, title = "mmsap_quadrant", "The knowledge quadrants"
    variant = _main(run)
    rows = [
        {"model": model, "category": category, "place": place, "part": label, "share": 100 * metric.value}
        for category in (OVERALL, *SUBSETS)
        for model in run.models
        for place, (part, (label, _)) in enumerate(QUADRANTS.items())
        if (metric := run.get(model, variant, table_parser(run), part, category)) is not None
        and metric.value is not None
    ]
    if not rows:
        return placeholder(name, title, "not drawn: the quadrants were not measured")
    alt_text = (
        f"Stacked bars, one for each of {len(run.models)} models over all questions and over each subset: the share "
        "answered correctly, refused and not known, refused although known, answered wrongly, abstained, and without a "
        "parsed answer."
    )
    note = (
        "A question is answered or refused, and a refused question is known if the reply without the refusal is right. "
        f"On {run.section.name(variant)}, under {_parser_phrase(run)}."
    )
    return figure(name, title, _quadrant_chart(rows, run), alt_text, note=note, table=_quadrant_table(run, variant))


def _quadrant_chart(rows: list[dict[str, Any]], run: Run) -> alt.FacetChart:
    return stacked_shares(
        rows,
        run.models,
        part="part",
        colours=dict(QUADRANTS.values()),
        facet="category",
        order=[OVERALL, *SUBSETS],
        legend=parts_legend(),
        baselines=run.baselines,
    )


def _legend() -> alt.Legend:
    """Return a legend in columns, with padding for fonts that are wider than the measured one."""
    import altair as alt

    return alt.Legend(columns=4, columnPadding=28)


def _quadrant_table(run: Run, variant: str) -> Table:
    categories, rows = (OVERALL, *SUBSETS), []
    for model in run.models:
        for place, category in enumerate(categories):
            heads = [Head(model, span=len(categories))] if place == 0 else []
            cells = [metric_cell(run.get(model, variant, table_parser(run), part, category)) for part in QUADRANTS]
            rows.append(Row((*heads, Head(category)), tuple(cells)))
    columns = tuple(Head(label) for label, _ in QUADRANTS.values())
    return Table("The knowledge quadrants, in percent", ("Model", "Subset"), columns, tuple(rows))


def risk_coverage(run: Run, *, results: Path, data: Path) -> Figure:
    """Draw the risk at each coverage if questions with the least likely refusal are answered first.

    Raises DataError for an invalid table of questions, replies or scores.
    """
    name, title = "mmsap_risk_coverage", "Risk against coverage"
    variant = _main(run)
    curves = {
        model: curve
        for model in (run.models if LIKELIHOOD in run.parsers else ())
        if (curve := _curve(run, model, variant, results=results, data=data)) is not None
    }
    if not curves:
        areas = [run.get(model, variant, LIKELIHOOD, AREA) for model in run.models]
        reason = next((area.method for area in areas if area), "no engine of this run has likelihoods of options")
        return placeholder(name, title, f"not drawn: {reason.removeprefix('undefined: ')}")
    alt_text = (
        f"Curves, one for each of {len(curves)} models: the percentage of wrong answers (vertical) among the share of "
        "questions answered (horizontal), with the least likely refusals first; and a dot at the operating "
        "point of the model."
    )
    note = (
        "Share of wrong answers if a model answers only the questions with the least likely refusal. The dot is the "
        "operating point of the most likely label. A smaller area under the curve (AURC) is better. "
        f"On {run.section.name(variant)}, mean of {len(run.seeds[variant])} "
        f"{'run' if len(run.seeds[variant]) == 1 else 'runs'}."
    )
    table = _risk_table(run, variant, list(curves))
    return figure(name, title, _risk_chart(curves, run, variant), alt_text, note=note, table=table)


def _curve(run: Run, model: str, variant: str, *, results: Path, data: Path) -> np.ndarray | None:
    """Return the risk at `_COVERAGES` as the mean over seeds, or None for a model whose area is undefined."""
    area = run.get(model, variant, LIKELIHOOD, AREA)
    if area is None or area.value is None:
        return None
    files, name = EditionFiles(data, results), run.benchmark
    inputs = files.variants(name), files.scores(model, name), files.replies(model, name)
    found = [
        load(*inputs, variant=variant, seed=seed, parsers=[LIKELIHOOD]).curves[LIKELIHOOD][AREA]
        for seed in run.seeds[variant]
    ]
    if not all(curve.defined for curve in found):
        return None
    return np.mean([risks(curve, _COVERAGES) for curve in found], axis=0)


def _risk_chart(curves: dict[str, np.ndarray], run: Run, variant: str) -> alt.LayerChart:
    import altair as alt

    names, colours = model_colours(run.models, baselines=run.baselines)
    colour = alt.Color("model:N", scale=alt.Scale(domain=names, range=colours), title="Model", legend=_legend())
    lines = [
        {"model": model, "x": round(100 * float(at), 4), "y": round(100 * float(risk), 4)}
        for model, curve in curves.items()
        for at, risk in zip(_COVERAGES, curve, strict=True)
    ]
    dots = []
    for model in curves:
        x, y = (
            Coordinate.of(run.get(model, variant, LIKELIHOOD, f"operating_{part}")) for part in ("coverage", "risk")
        )
        if x is not None and y is not None:
            dots.append(Point(model, "operating point", x, y).row())
    x_title, y_title = "coverage: percent of questions answered", "risk: percent wrong among them"
    x, y = alt.X(**percent_axis("x", x_title)), alt.Y(**percent_axis("y", y_title))
    data = alt.Data(values=dots)
    bars = alt.Chart(data).mark_rule(strokeWidth=1.4, opacity=0.65, aria=False)
    return alt.layer(
        alt.Chart(alt.Data(values=lines)).mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour),
        bars.encode(x=alt.X(**percent_axis("x_low", x_title)), x2="x_high:Q", y=y, color=colour),
        bars.encode(x=x, y=alt.Y(**percent_axis("y_low", y_title)), y2="y_high:Q", color=colour),
        alt.Chart(data).mark_point(filled=True, size=85, opacity=1).encode(x=x, y=y, color=colour),
    ).properties(width=560, height=400)


def _risk_table(run: Run, variant: str, models: Sequence[str]) -> Table:
    columns_of = {AREA: "area under the curve", "operating_coverage": "answers", "operating_risk": "wrong among them"}
    rows = [
        Row((Head(model),), tuple(metric_cell(run.get(model, variant, LIKELIHOOD, name)) for name in columns_of))
        for model in models
    ]
    columns = tuple(Head(label) for label in columns_of.values())
    return Table("Risk and coverage by likelihood, in percent", ("Model",), columns, tuple(rows))
