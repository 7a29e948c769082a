"""The figures that sections declare, and the distribution of answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import Any

from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.benchmark.section import Dots, Scatter, Shares
from known_unknowns.comparison import OFFICIAL
from known_unknowns.metrics.proportions import SHARE
from known_unknowns.metrics.run import Run
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report import charts
from known_unknowns.report.charts import MODEL, PUBLISHED, SCRIPTED, Axis, Coordinate, Dot, Line, Point
from known_unknowns.report.drawing import Figure, figure, placeholder
from known_unknowns.report.formatting import Cell, Head, Table, counted, make_row, make_table
from known_unknowns.report.tables import confidence

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
MOST_DOTS = 8
"""The largest number of models whose dots can be told apart in a row. More models are rows of a grid."""
_OTHER_COLOURS = {"abstained": "#c9b458", "no label": "#7d858f", "cut": "#b4bac2", "failed": "#a8324a"}


def draw(spec: Scatter | Dots | Shares, run: Run, published: Sequence[PublishedCell]) -> Figure:
    """Draw a figure that a section declares."""
    if isinstance(spec, Scatter):
        return scatter(spec, run, published)
    return dots(spec, run, published) if isinstance(spec, Dots) else shares(spec, run)


def own_models(run: Run) -> list[str]:
    """Return the models of a run without its baselines; their order gives their colours."""
    return [model for model in run.models if model not in run.baselines]


def kind(run: Run, model: str) -> str:
    """Return the kind of the points of a model of the run."""
    return SCRIPTED if model in run.baselines else MODEL


def parsed(run: Run, parser: str) -> str:
    """Return a sentence that names the parser."""
    name = run.parser_name(parser)
    return f"Answers are parsed {name if name.startswith('as ') else f'by the {name} parser'}."


def scatter(spec: Scatter, run: Run, published: Sequence[PublishedCell]) -> Figure:
    """Draw two metrics of the models of this run, in colour, and of published models, in grey."""
    ours, theirs = our_points(spec, run), published_points(spec, published)
    if not ours:
        missing = dict.fromkeys(v for s in spec.series for v in (s.x[0], s.y[0]) if v not in run.variants)
        reason = f"{', '.join(missing)} {'was' if len(missing) == 1 else 'were'} not run"
        return placeholder(spec.name, spec.title, f"not drawn: {reason if missing else 'nothing was measured'}")
    found = [*ours, *theirs]
    values = [axis.value if axis.high is None else axis.high for p in found for axis in (p.x, p.y)]
    highest = 20.0 * ceil(max(values) / 20)
    x, y = (Axis(f"{title} (%)", 0, highest) for title in spec.axes)
    pairs = charts.joined(found) if spec.joined else []
    lines = [*(sum_lines(highest) if spec.has_sums else ()), *(_chance(spec, run, x, y) if spec.has_chance else ())]
    names = [series.name for series in spec.series]
    alt_text = (
        f"Scatter plot: {spec.axes[0]} (horizontal) and {spec.axes[1]} (vertical), in percent, of "
        f"{counted(len({p.model for p in ours}), 'model')} of this run with error bars, and of "
        f"{counted(len({p.model for p in theirs}), 'published model')} in grey. The table below has the numbers."
    )
    chart = charts.points(found, x, y, own_models(run), series=names, lines=lines, pairs=pairs)
    grey = "Published models are grey; they are named at the pointer and in the table." if theirs else ""
    note = " ".join(filter(None, [spec.note, spec.joined if pairs else "", grey]))
    return figure(
        spec.name,
        spec.title,
        chart,
        alt_text,
        note=note,
        table=_scatter_table(spec, run, ours, theirs),
        caveat=run.caveat,
    )


def our_points(spec: Scatter, run: Run) -> list[Point]:
    """Return the points of the models of a run. A series without its parser has none."""
    found = []
    for model in run.models:
        for series in spec.series:
            parser = series.parser or run.table_parser
            x, y = (Coordinate.of(run.get(model, axis[0], parser, axis[1])) for axis in (series.x, series.y))
            if x is not None and y is not None:
                found.append(Point(model, series.name, x, y, kind(run, model)))
    return found


def published_points(spec: Scatter, published: Sequence[PublishedCell]) -> list[Point]:
    """Return the points of published models."""
    found = []
    for series in spec.series:
        parser = series.parser or OFFICIAL
        metric = series.y[1] if series.published is None else series.published
        x = published_values(published, *series.x, parser)
        y = published_values(published, series.y[0], metric, parser)
        points = {model: (Coordinate(x[model]), Coordinate(y[model])) for model in y if model in x}
        found += [Point(model, series.name, *point, PUBLISHED) for model, point in points.items()]
    return found


def published_values(
    published: Sequence[PublishedCell], variant: str, metric: str, parser: str = OFFICIAL
) -> dict[str, float]:
    """Return a published number of each model, in percent. If several tables have it, the first one counts."""
    values: dict[str, float] = {}
    for cell in published:
        is_wanted = (cell.variant, cell.metric, cell.category) == (variant, metric, OVERALL)
        if is_wanted and cell.parser in (None, parser):
            values.setdefault(cell.model, cell.value)
    return values


def sum_lines(highest: float) -> Iterator[Line]:
    """Yield the lines on which both metrics add up to 20, 40, ..., within the axes."""
    for total in range(20, 101, 20):
        near = max(0.0, total - highest)
        if near < total - near:
            yield Line(f"sum {total}", near, total - near, total - near, near)


def _chance(spec: Scatter, run: Run, x: Axis, y: Axis) -> Iterator[Line]:
    """Yield lines at the chance level of the variants on both axes."""
    (x_low, x_high), (y_low, y_high) = x.ends, y.ends
    for axis, variant in (("x", spec.series[0].x[0]), ("y", spec.series[0].y[0])):
        if (level := chance_of(run, variant)) is not None:
            ends = (level, y_high, level, y_low) if axis == "x" else (x_low, level, x_high, level)
            yield Line("chance", *ends)


def chance_of(run: Run, *variants: str) -> float | None:
    """Return the first chance level of these variants, in percent."""
    found = (run.chance(model, variant) for variant in variants for model in run.models)
    return next((100 * metric.value for metric in found if metric is not None and metric.value is not None), None)


def _scatter_table(spec: Scatter, run: Run, ours: Sequence[Point], theirs: Sequence[Point]) -> Table:
    series = {each.name: each for each in spec.series}
    rows = []
    for point in ours:
        of = series[point.series]
        metrics = (run.get(point.model, axis[0], of.parser or run.table_parser, axis[1]) for axis in (of.x, of.y))
        rows.append(make_row((point.model, point.series), metrics))
    foot = []
    for point in theirs:
        heads = Head(point.model, note="published"), Head(point.series)
        foot.append(make_row(heads, [Cell(f"{at.value:.1f}") for at in (point.x, point.y)]))
    caption = f"The points of “{spec.title}”, in percent"
    return make_table(caption, ("Model", "Points"), spec.axes, rows, foot=foot, moves_n=True)


def dots(spec: Dots, run: Run, published: Sequence[PublishedCell]) -> Figure:
    """Draw one metric by variant or by type of question: dots with intervals, or a grid if there are many models."""
    parser, main = run.table_parser, next(iter(run.headline), "")

    def metric(model: str, row: str) -> Metric | None:
        return run.get(model, *((row, parser, spec.metric) if spec.by_variant else (main, parser, spec.metric, row)))

    rows = [(group, row) for group, of_group in spec.rows.items() for row in of_group]
    names = {row: run.section.name(row) if spec.by_variant else row for _, row in rows}
    found = [
        Dot(model, names[row], at, kind(run, model), group)
        for group, row in rows
        for model in run.models
        if (at := Coordinate.of(metric(model, row))) is not None
    ]
    if not found:
        return placeholder(spec.name, spec.title, "not drawn: nothing was measured")
    shown = [(group, row) for group, row in rows if any((dot.group, dot.row) == (group, names[row]) for dot in found)]
    groups = {row: group for group, row in shown}
    order = [names[row] for _, row in shown]
    note = " ".join(filter(None, [spec.note.format(variant=run.section.name(main)), parsed(run, parser)]))
    table = make_table(
        f"{spec.title}: {spec.axis}, in percent",
        "Variant" if spec.by_variant else ("Subset", "Type"),
        (Head(model, verbatim=True) for model in run.models),
        (
            make_row(
                names[row] if spec.by_variant else (group, names[row]), (metric(model, row) for model in run.models)
            )
            for group, row in shown
        ),
    )
    if len(own_models(run)) > MOST_DOTS:
        chart = charts.grid(
            _grid_rows(found), run.models, order, groups=[*dict.fromkeys(groups.values())], baselines=run.baselines
        )
        alt_text = (
            f"Grid of numbers: {spec.axis}, in percent, of {counted(len(run.models), 'model')} (rows) in "
            f"{counted(len(shown), 'column')}. The table below has the numbers with their intervals."
        )
        note = f"{spec.axis.capitalize()}, in percent. {note} The table below has the intervals."
        return figure(spec.name, spec.title, chart, alt_text, note=note, table=table, caveat=run.caveat)
    theirs = [
        Dot(cell.model, names[row], Coordinate(cell.value), PUBLISHED, groups[row])
        for cell in (published if spec.published else ())
        if (row := cell.variant if spec.by_variant else cell.category) in groups
        and cell.metric == spec.metric
        and cell.table not in spec.without
        and (cell.category == OVERALL or not spec.by_variant)
    ]
    lines = dict(spec.lines)
    if (
        spec.has_chance
        and (level := chance_of(run, *(row if spec.by_variant else main for _, row in shown))) is not None
    ):
        lines["chance"] = level
    alt_text = (
        f"Dot plot: {spec.axis}, in percent: {counted(len(shown), 'panel')}, in each a dot with its {confidence(run)} "
        f"interval for each of {counted(len(run.models), 'model')}, and {counted(len(theirs), 'published number')}. "
        "The table below has the numbers of this run."
    )
    chart = charts.dots([*found, *dict.fromkeys(theirs)], Axis(f"{spec.axis} (%)"), own_models(run), lines=lines)
    note = " ".join(filter(None, [spec.marks, note]))
    return figure(spec.name, spec.title, chart, alt_text, note=note, table=table, caveat=run.caveat)


def _grid_rows(found: Sequence[Dot]) -> list[dict[str, Any]]:
    return [
        {
            "model": dot.model,
            "column": dot.row,
            "group": dot.group,
            "value": dot.x.value,
            "hover": f"{dot.model}, {dot.row}: {dot.x}",
        }
        for dot in found
    ]


def shares(spec: Shares, run: Run) -> Figure:
    """Draw stacked bars of several metrics by type of question."""
    parser, main = run.table_parser, next(iter(run.headline), "")
    rows = [
        {"model": model, "category": category, "part": label, "share": 100 * metric.value}
        for category in spec.categories
        for model in run.models
        for part, (label, _) in spec.parts.items()
        if (metric := run.get(model, main, parser, part, category)) is not None and metric.value is not None
    ]
    if not rows:
        return placeholder(spec.name, spec.title, "not drawn: nothing was measured")
    labels = [label for label, _ in spec.parts.values()]
    alt_text = (
        f"Stacked bars, one for each of {counted(len(run.models), 'model')} in {', '.join(spec.categories)}: the "
        f"shares of questions that are {', '.join(labels)}. The table below has the numbers."
    )
    chart = charts.shares(
        rows,
        run.models,
        part="part",
        colours=dict(spec.parts.values()),
        facet="category",
        order=spec.categories,
        baselines=run.baselines,
    )
    table = make_table(
        f"{spec.title}, in percent",
        ("Model", "Subset"),
        labels,
        (
            make_row((model, category), (run.get(model, main, parser, part, category) for part in spec.parts))
            for model in run.models
            for category in spec.categories
        ),
    )
    note = f"{spec.note.format(variant=run.section.name(main))} {parsed(run, parser)}"
    return figure(spec.name, spec.title, chart, alt_text, note=note, table=table, caveat=run.caveat)


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
    chart = charts.shares(
        bars,
        run.models,
        part="answer",
        colours=answer_colours((bar["answer"] for bar in bars), run.section.refusal_label),
        facet="variant",
        order=[run.section.name(variant) for variant in run.variants],
        baselines=run.baselines,
    )
    return figure(name, title, chart, alt_text, note=note, caveat=run.caveat)


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
