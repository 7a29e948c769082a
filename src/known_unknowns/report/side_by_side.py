"""Two models side by side: the paired comparisons of the page ``models.html``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from known_unknowns.comparison.paired_rows import PairedRow
from known_unknowns.metrics.dual import SEPARATOR
from known_unknowns.metrics.unusable_replies import UNUSABLE_LIMIT
from known_unknowns.report.formatting import DASH, Cell, Table, counted, interval, make_row, make_table, percent
from known_unknowns.report.overview import Overview

_FIELDS = ("n", "seeds", "accuracy_a", "accuracy_b", "difference", "low", "high", "p_holm", "pairs", "detectable")
"""Attributes of a pair that the page has, after the places of its benchmark, variant and models."""
_DIGITS = 6


class Missing(NamedTuple):
    """A model whose answers to a benchmark are not compared, and why."""

    benchmark: str
    model: str
    reason: str


def missing(overviews: Sequence[Overview]) -> list[Missing]:
    """Return the models of the page that a benchmark has no pair of."""
    found: list[Missing] = []
    for overview in overviews:
        rows = _rows(overview)
        compared = {row.model_a for row in rows} | {row.model_b for row in rows}
        absent = [model for model in _names(overviews) if model not in compared]
        found += [Missing(overview.title, model, _why_missing(overview, model)) for model in absent]
    return found


def _why_missing(overview: Overview, model: str) -> str:
    run = overview.run
    if model not in run.models:
        if run.params.is_imported(model) and not run.params.cells(run.benchmark, model):
            return "it has no imported replies to this benchmark"
        return "nothing was measured"
    unusable = overview.unusable(model)
    if unusable is not None and unusable.excludes:
        return f"{unusable.text()}, more than {UNUSABLE_LIMIT:.0%}"
    return "no other model answered the same questions"


def _names(overviews: Sequence[Overview]) -> tuple[str, ...]:
    """The models and baselines that were measured on any benchmark."""
    return tuple(dict.fromkeys(name for o in overviews for name in (*o.models, *o.baselines)))


def page_data(overviews: Sequence[Overview]) -> dict[str, Any]:
    """Return the pairs of all models, for the script compare.js."""
    names = _names(overviews)
    variants: dict[tuple[str, str], list[Any]] = {}
    rows = []
    for overview in overviews:
        run = overview.run
        for row in _rows(overview):
            parts = [{"variant": part, "title": run.section.name(part)} for part in row.variant_a.split(SEPARATOR)]
            shown = [run.benchmark, overview.title, run.names_of(row.variant_a, " + "), parts]
            key = run.benchmark, row.variant_a
            variants.setdefault(key, shown)
            values = [_rounded(getattr(row, name)) for name in _FIELDS]
            rows.append([[*variants].index(key), names.index(row.model_a), names.index(row.model_b), *values])
    level = 1 - overviews[0].run.confidence if overviews else 0.0
    shown_variants = list(variants.values())
    return {
        "names": names,
        "variants": shown_variants,
        "fields": _FIELDS,
        "rows": rows,
        "level": _rounded(level),
        "missing": missing(overviews),
    }


def _rows(overview: Overview) -> list[PairedRow]:
    """Return the pairs of a benchmark under the main parser, without models that have too many unusable replies."""
    known = {*overview.ranked, *overview.baselines}
    parser = overview.run.main_parser
    return [row for row in overview.pairs if row.parser_a == parser and {row.model_a, row.model_b} <= known]


def best_pairs(overviews: Sequence[Overview]) -> Table:
    """Return all pairs of models by the number that they are sorted by, one row per benchmark and pair."""
    rows = [
        make_row((overview.title, row.model_a, row.model_b), _cells(row, 1 - overview.run.confidence))
        for overview in overviews
        for row in overview.tests
    ]
    columns = ("result", "difference", "model", "other", "p, corrected", "n")
    caption = (
        "All pairs of models by dual accuracy of answerable questions, or by accuracy without one, in percent; "
        "p is corrected for all pairs of models on this benchmark and variant, without baselines"
    )
    return make_table(caption, ("Benchmark", "Model", "Other"), columns, rows)


def _cells(row: PairedRow, level: float) -> tuple[Cell, ...]:
    p = DASH if row.p_holm is None else "<0.0001" if row.p_holm < 0.0001 else f"{row.p_holm:.4f}"
    result = DASH
    if row.p_holm is not None and row.difference is not None:
        better = row.model_a if row.difference > 0 else row.model_b
        result = f"{better} is better" if row.p_holm <= level else "cannot be distinguished"
    return (
        Cell(result, kind="text"),
        Cell(percent(row.difference, signed=True), interval(row.low, row.high, signed=True), title=row.method),
        Cell(percent(row.accuracy_a)),
        Cell(percent(row.accuracy_b)),
        Cell(p, kind="plain", title=f"{row.test}, corrected for {counted(row.pairs, 'pair')}"),
        Cell(_questions(row), kind="plain"),
    )


def _questions(row: PairedRow) -> str:
    """Return what both models answered: "240 answerable questions", "300 questions × 5 seeds"."""
    noun = "answerable question" if SEPARATOR in row.variant_a else "question"
    seeds = f" × {row.seeds} seeds" if row.seeds > 1 else ""
    return f"{counted(row.n, noun)}{seeds}"


def _rounded(value: Any) -> Any:
    return round(value, _DIGITS) if isinstance(value, float) else value
