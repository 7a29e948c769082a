"""MM-SAP's figures: the scores against each other, the 19 sub-tasks, the knowledge quadrant, risk against coverage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from known_unknowns.benchmarks.mmsap.loader import SUB_TASKS, SUBSETS
from known_unknowns.comparison import OFFICIAL, PublishedCell
from known_unknowns.metrics.score_tables import load
from known_unknowns.metrics.selective import risks
from known_unknowns.records import OVERALL
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
from known_unknowns.report.formatting import Head, Row, Table, metric_cell
from known_unknowns.report.paper_tables import scorer
from known_unknowns.report.tables import Run, confidence

if TYPE_CHECKING:
    import altair as alt

LIKELIHOOD, AREA = "likelihood", "aurc"
PROMPTS = {"shuffled_options": "plain prompt", "shuffled_refusal_prompt": "refusal prompt"}
"""The variants whose scores are drawn against each other, and what tells them apart."""
QUADRANTS = {
    "quadrant_known_known": ("known known: right", "#3f7fbf"),
    "quadrant_known_unknown": ("known unknown: refused, not known", "#e08a2e"),
    "quadrant_unknown_known": ("unknown known: refused, but known", "#f2c48d"),
    "quadrant_unknown_unknown": ("unknown unknown: wrong", "#a8324a"),
    "quadrant_unread": ("not read", "#7d858f"),
}
_COVERAGES = np.arange(1, 101) / 100
_STEP = 8  # px between two models in a row of the dot plot


def _main(run: Run) -> str:
    """The variant that everything but the scores is drawn of; "" where nothing was measured."""
    return run.headline[0] if run.headline else ""


def _reading(run: Run) -> str:
    return "direct matching" if scorer(run) == OFFICIAL else f"the {scorer(run)} reading"


def scores(run: Run, published: Sequence[PublishedCell]) -> Figure:
    """The final version's Figure 5: score_kk against score_ku, with lines of equal score_sa."""
    name, title = "mmsap_scores", "Known knowns against known unknowns"
    ours, theirs = _our_points(run), _published_points(published)
    if not ours:
        return placeholder(name, title, f"not drawn: {', '.join(PROMPTS)} were not run")
    alt_text = (
        f"Scatter plot of score_kk (horizontal) and score_ku (vertical), in percent, with lines of equal score_sa: "
        f"{len({p.model for p in ours})} models of this run with error bars, and {len({p.model for p in theirs})} "
        "published models in grey. The tables above have the numbers."
    )
    note = (
        "The paper's Figure 5. On a dashed line score_sa, the sum of both, is the same. Hollow points were asked with "
        "the refusal prompt (Table 3); a line joins the two points of a model."
    )
    return figure(name, title, _scores_chart(ours, theirs, run), alt_text, note=note)


def _our_points(run: Run) -> list[Point]:
    found = []
    for model in run.models:
        for variant, prompt in PROMPTS.items():
            x, y = (Axis.of(run.get(model, variant, scorer(run), metric)) for metric in ("score_kk", "score_ku"))
            if x is not None and y is not None:
                found.append(Point(model, prompt, x, y))
    return found


def _published_points(published: Iterable[PublishedCell]) -> list[Point]:
    """Table 1, and of Table 3 the rows with the refusal prompt."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for cell in published:
        told = cell.table == "Table 1" or (cell.table == "Table 3" and cell.variant == "shuffled_refusal_prompt")
        if told and cell.category == OVERALL:
            found.setdefault((cell.model, PROMPTS[cell.variant]), {})[cell.metric] = cell.value
    return [Point(*key, Axis(of["score_kk"]), Axis(of["score_ku"])) for key, of in found.items()]


def _scores_chart(ours: Sequence[Point], theirs: Sequence[Point], run: Run) -> alt.LayerChart:
    import altair as alt

    ends = [axis.value if axis.high is None else axis.high for p in (*ours, *theirs) for axis in (p.x, p.y)]
    highest = max(70, 10 * ceil(max(ends) / 10))
    titles = {"x": "score_kk, percent", "y": "score_ku, percent"}
    x, y = (
        channel(**percent_axis(field, titles[field], highest=highest))
        for channel, field in ((alt.X, "x"), (alt.Y, "y"))
    )
    names, colours = model_colours(run.models, published=True)
    colour = alt.Color(
        "shown:N",
        scale=alt.Scale(domain=names, range=colours),
        title="Model",
        legend=alt.Legend(columns=3, columnPadding=28),
    )
    shapes = alt.Scale(domain=list(PROMPTS.values()), range=["circle", "diamond"])
    shape = alt.Shape("reading:N", scale=shapes, title="Asked with", legend=alt.Legend(columns=1, padding=16))
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
            .transform_filter(alt.datum.reading == prompt)
            .mark_point(filled=filled, size=size, strokeWidth=1.8, opacity=1)
            .encode(x=x, y=y, color=colour, shape=shape)
        )
    return alt.layer(*layers).properties(width=560, height=440)


def _iso_lines(highest: float, x: Any, y: Any) -> list[alt.Chart]:
    """Where score_kk + score_ku is 20, 40, ..., as far as the axes reach."""
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
    """A line between the two points of a model."""
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
    """The first preprint's Figure 4, a radar with 19 axes, as points on a line each."""
    name, title = "mmsap_subtasks", "The 19 sub-tasks"
    variant = _main(run)
    rows = [
        {"model": model, "subset": subset, "task": task, "value": axis.value, "low": axis.low, "high": axis.high}
        for subset, tasks in SUB_TASKS.items()
        for task in tasks
        for model in run.models
        if (axis := Axis.of(run.get(model, variant, scorer(run), "score_AR", task))) is not None
    ]
    if not rows:
        return placeholder(name, title, "not drawn: no sub-task was measured")
    alt_text = (
        f"Dot plot of score_AR in percent: a row for each of {len({row['task'] for row in rows})} sub-tasks in three "
        f"subsets, a dot with its {confidence(run)} interval for each of {len(run.models)} models."
    )
    note = (
        f"The first preprint's Figure 4, which is a radar: score_AR under {_reading(run)} on "
        f"{run.section.name(variant)}, with intervals. Few questions stand behind a dot."
    )
    return figure(name, title, _subtasks_chart(rows, run), alt_text, note=note, table=_subtasks_table(run, variant))


def _subtasks_chart(rows: list[dict[str, Any]], run: Run) -> alt.FacetChart:
    import altair as alt

    names, colours = model_colours(run.models)
    order = [task for tasks in SUB_TASKS.values() for task in tasks]
    y = alt.Y("task:N", sort=order, title=None, axis=alt.Axis(grid=True, tickBand="extent", ticks=False))
    base = alt.Chart().encode(
        y=y,
        yOffset=alt.YOffset("model:N", sort=names),
        color=alt.Color("model:N", scale=alt.Scale(domain=names, range=colours), title="Model", legend=_legend()),
    )
    title = "score_AR, percent"
    bars = base.mark_rule(strokeWidth=1.6, opacity=0.6, aria=False)
    dots = base.mark_point(filled=True, size=34, opacity=1)
    layers = alt.layer(
        bars.encode(x=alt.X(**percent_axis("low", title)), x2="high:Q"),
        dots.encode(x=alt.X(**percent_axis("value", title))),
        data=alt.Data(values=rows),
    ).properties(width=470, height={"step": _STEP, "for": "offset"})
    header = alt.Header(orient="top", labelAnchor="start", labelFontWeight="bold", labelPadding=3)
    row = alt.Row("subset:N", sort=list(SUBSETS), title=None, header=header)
    return layers.facet(row=row, spacing=14).resolve_scale(y="independent")


def _subtasks_table(run: Run, variant: str) -> Table:
    rows = []
    for subset, tasks in SUB_TASKS.items():
        for place, task in enumerate(tasks):
            heads = [Head(subset, span=len(tasks))] if place == 0 else []
            cells = [metric_cell(run.get(model, variant, scorer(run), "score_AR", task)) for model in run.models]
            rows.append(Row((*heads, Head(task)), tuple(cells)))
    columns = tuple(Head(model) for model in run.models)
    return Table("score_AR by sub-task", ("Subset", "Sub-task"), columns, tuple(rows))


def quadrant(run: Run) -> Figure:
    """What a model knows, and whether it is aware of that, from the two passes (Figure 2 has the quadrants)."""
    name, title = "mmsap_quadrant", "The knowledge quadrant"
    variant = _main(run)
    rows = [
        {"model": model, "category": category, "place": place, "part": label, "share": 100 * metric.value}
        for category in (OVERALL, *SUBSETS)
        for model in run.models
        for place, (part, (label, _)) in enumerate(QUADRANTS.items())
        if (metric := run.get(model, variant, scorer(run), part, category)) is not None and metric.value is not None
    ]
    if not rows:
        return placeholder(name, title, "not drawn: the quadrants were not measured")
    alt_text = (
        f"Stacked bars, one for each of {len(run.models)} models over all questions and over each subset: the share "
        "answered rightly, refused without knowing, refused although known, answered wrongly, and not read."
    )
    note = (
        "Of each question: was it answered or refused, and, asked again without the refusal, was it known? "
        f"On {run.section.name(variant)}, under {_reading(run)}."
    )
    return figure(name, title, _quadrant_chart(rows, run), alt_text, note=note, table=_quadrant_table(run, variant))


def _quadrant_chart(rows: list[dict[str, Any]], run: Run) -> alt.FacetChart:
    import altair as alt

    labels, colours = zip(*QUADRANTS.values(), strict=True)
    scale = alt.Scale(domain=list(labels), range=list(colours))
    legend = alt.Legend(title=None, columns=2, columnPadding=60, rowPadding=4, symbolType="square", labelLimit=320)
    ticks = alt.Axis(values=[0, 25, 50, 75, 100], format="d")
    share = alt.X("share:Q", stack="zero", scale=alt.Scale(domain=[0, 100]), axis=ticks)
    header = alt.Header(orient="top", labelAnchor="start", labelFontWeight="bold", labelPadding=3)
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(height={"band": 0.82})
        .encode(
            x=share.title("percent of questions"),
            y=alt.Y("model:N", sort=list(run.models), title=None),
            color=alt.Color("part:N", scale=scale, legend=legend),
            order=alt.Order("place:Q"),
        )
        .properties(width=520, height={"step": 17})
        .facet(row=alt.Row("category:N", sort=[OVERALL, *SUBSETS], title=None, header=header), spacing=16)
    )


def _legend() -> alt.Legend:
    """Names in columns, with room for a reader's font that is wider than measured."""
    import altair as alt

    return alt.Legend(columns=4, columnPadding=28)


def _quadrant_table(run: Run, variant: str) -> Table:
    categories, rows = (OVERALL, *SUBSETS), []
    for model in run.models:
        for place, category in enumerate(categories):
            heads = [Head(model, span=len(categories))] if place == 0 else []
            cells = [metric_cell(run.get(model, variant, scorer(run), part, category)) for part in QUADRANTS]
            rows.append(Row((*heads, Head(category)), tuple(cells)))
    columns = tuple(Head(label) for label, _ in QUADRANTS.values())
    return Table("The knowledge quadrant, in percent", ("Model", "Subset"), columns, tuple(rows))


def risk_coverage(run: Run, *, results: Path, data: Path) -> Figure:
    """The risk among the questions that refuse least, as more and more are answered, and where each model stands.

    Raises DataError for a table of questions, replies or scores that is broken.
    """
    name, title = "mmsap_risk_coverage", "Risk against coverage"
    variant = _main(run)
    curves = {
        model: curve
        for model in (run.models if LIKELIHOOD in run.scorers else ())
        if (curve := _curve(run, model, variant, results=results, data=data)) is not None
    }
    if not curves:
        return placeholder(name, title, "not drawn: no engine of this run gives the likelihoods of options")
    alt_text = (
        f"Curves, one for each of {len(curves)} models: the percentage of wrong answers (vertical) among the share of "
        "questions answered (horizontal), when those are answered first whose refusal is least likely; and a dot where "
        "the model itself answers and refuses."
    )
    note = (
        "If a model answered only where it finds the refusal unlikely enough, how often would it be wrong? The dot is "
        "what it does by its likeliest letter. A smaller area under the curve (AURC) is better. "
        f"On {run.section.name(variant)}, mean of {len(run.seeds[variant])} "
        f"{'run' if len(run.seeds[variant]) == 1 else 'runs'}."
    )
    table = _risk_table(run, variant, list(curves))
    return figure(name, title, _risk_chart(curves, run, variant), alt_text, note=note, table=table)


def _curve(run: Run, model: str, variant: str, *, results: Path, data: Path) -> np.ndarray | None:
    """The risk at each of `_COVERAGES`, the mean over seeds; None where a model has no likelihoods."""
    folders = [data / "questions" / run.benchmark]
    folders += [results / kind / model / run.benchmark for kind in ("scores", "replies")]
    found = [
        load(*folders, variant=variant, seed=seed, scorers=[LIKELIHOOD]).curves[LIKELIHOOD][AREA]
        for seed in run.seeds[variant]
    ]
    if not all(curve.defined for curve in found):
        return None
    return np.mean([risks(curve, _COVERAGES) for curve in found], axis=0)


def _risk_chart(curves: dict[str, np.ndarray], run: Run, variant: str) -> alt.LayerChart:
    import altair as alt

    names, colours = model_colours(run.models)
    colour = alt.Color("model:N", scale=alt.Scale(domain=names, range=colours), title="Model", legend=_legend())
    lines = [
        {"model": model, "x": round(100 * float(at), 4), "y": round(100 * float(risk), 4)}
        for model, curve in curves.items()
        for at, risk in zip(_COVERAGES, curve, strict=True)
    ]
    dots = []
    for model in curves:
        x, y = (Axis.of(run.get(model, variant, LIKELIHOOD, f"operating_{part}")) for part in ("coverage", "risk"))
        if x is not None and y is not None:
            dots.append(Point(model, "operates here", x, y).row())
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
    wanted = {AREA: "area under the curve", "operating_coverage": "answers", "operating_risk": "wrong among them"}
    rows = [
        Row((Head(model),), tuple(metric_cell(run.get(model, variant, LIKELIHOOD, name)) for name in wanted))
        for model in models
    ]
    columns = tuple(Head(label) for label in wanted.values())
    return Table("Risk and coverage by likelihood, in percent", ("Model",), columns, tuple(rows))
