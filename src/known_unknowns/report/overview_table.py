"""The table of the first screen: one row per model, best first, and the scripted baselines below."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from known_unknowns.metrics import dual
from known_unknowns.records import Metric
from known_unknowns.report.formatting import DASH, Cell, Head, Row, Table, metric_cell, move_n_to_heading
from known_unknowns.report.overview import NO_CONTENT, NO_RIGHT_OPTION, Overview
from known_unknowns.report.tables import ACCURACY, RECOGNISED_HEADINGS, confidence


@dataclass(frozen=True, slots=True)
class _Column:
    """A column: its heading, what it is measured on, its cell, and why it is undefined for a benchmark."""

    heading: str
    note: str
    cell: Callable[[str], Cell]
    undefined: str = ""


def table(overview: Overview) -> tuple[Table, Mapping[str, str]]:
    """Return the table of models, best first and baselines last, and the reasons of the columns that are undefined."""
    every = _columns(overview)
    columns = [column for column in every if not column.undefined]
    order = [(name, "") for name in overview.models]
    order += [(name, "baseline") for name in overview.sorted(overview.baselines)]
    rows: Sequence[Row] = [
        Row((Head(name, note=kind),), tuple(column.cell(name) for column in columns), kind) for name, kind in order
    ]
    heads: Sequence[Head] = [Head(column.heading, note=column.note) for column in columns]
    counted, rows = move_n_to_heading(heads, rows)
    heads = [
        replace(new, note=", ".join(dict.fromkeys(filter(None, [old.note, new.note]))))
        for old, new in zip(heads, counted, strict=True)
    ]
    caption = (
        f"{overview.title}: percent of questions with {confidence(overview.run)} intervals, {overview.run.main_parser} "
        f"parser, sorted by {'dual accuracy' if overview.pair else 'accuracy'}"
    )
    undefined = {column.heading: column.undefined for column in every if column.undefined}
    return Table(caption, ("Model",), tuple(heads), tuple(rows)), undefined


def _columns(overview: Overview) -> list[_Column]:
    name = overview.run.section.name
    no_option, no_content = overview.unanswerable(NO_RIGHT_OPTION), overview.unanswerable(NO_CONTENT)
    missing = overview.run.params.variant(no_content).function if no_content else "blank"
    images = {"blank": "on blank images", "text_only": "without images"}.get(missing, "on noise images")
    no_refusal = "the questions have no refusal option, or the variant was not run"
    areas = [metric for model in overview.run.models if (metric := overview.area(model)) is not None]
    area = any(metric.value is not None for metric in areas)
    judged = any(overview.verdicts(model)[0] for model in overview.models)
    return [
        _Column("Rank", "", lambda m: _rank(overview, m), "" if overview.ranks else "fewer than two models"),
        _own_metric(overview, *overview.own_metric)
        if overview.own_metric
        else _Column(
            "Dual accuracy",
            " and ".join(map(name, overview.pair.split(dual.SEPARATOR))) if overview.pair else "",
            lambda m: _short(overview.number(m, overview.pair, dual.DUAL)),
            "" if overview.pair else no_refusal,
        ),
        _Column(
            "Refused, no right option",
            name(no_option) if no_option else "",
            lambda m: _short(overview.refused(m)),
            "" if no_option else no_refusal,
        ),
        *(_recognised(overview, images, part, no_content) for part in RECOGNISED_HEADINGS),
        _Column("Accuracy", name(overview.main), lambda m: _short(overview.number(m, overview.main, ACCURACY))),
        _Column(
            "Risk-coverage area",
            "AURC, lower is better" if area else "",
            lambda m: _short(overview.area(m)),
            "" if area else areas[0].method if areas else "the benchmark does not measure it",
        ),
        _Column(
            "Verdicts",
            "published numbers" if judged else "",
            lambda m: _verdicts(overview, m),
            "" if judged else overview.verdicts(next(iter((*overview.models, *overview.baselines)), ""))[1],
        ),
    ]


def _own_metric(overview: Overview, name: str, label: str) -> _Column:
    variant = overview.main
    return _Column(
        f"{label[:1].upper()}{label[1:]}",
        overview.run.section.name(variant),
        lambda m: _short(overview.number(m, variant, name)),
    )


def _recognised(overview: Overview, images: str, part: str, variant: str | None) -> _Column:
    """The share that recognised that nothing can be answered, or the part of it that refused or abstained."""
    verb = {"recognised": "Recognised", "recognised_refused": "Refused", "recognised_abstained": "Abstained"}[part]
    return _Column(
        f"{verb} {images}",
        overview.run.section.name(variant) if variant else "",
        lambda m: _short(overview.recognised(m, part)),
        "" if variant else "the variant was not run",
    )


def _short(metric: Metric | None) -> Cell:
    """Return a cell with the interval below the value."""
    return replace(metric_cell(metric), kind="number stacked", denominator="")


def _rank(overview: Overview, model: str) -> Cell:
    if model in overview.baselines:
        return Cell(DASH, title="a scripted baseline has no rank")
    if model not in overview.ranks:
        return Cell(DASH, title="fewer than two models were compared")
    low, high = overview.ranks[model]
    title = f"interval of the rank among {len(overview.models)} models, from all paired tests together"
    return Cell(str(low) if low == high else f"{low}\u2013{high}", title=title)


def _verdicts(overview: Overview, model: str) -> Cell:
    found, reason = overview.verdicts(model)
    text = ", ".join(f"{number} {verdict}" for verdict, number in found.items())
    return Cell(text or DASH, title=reason, kind="plain" if found else "number")
