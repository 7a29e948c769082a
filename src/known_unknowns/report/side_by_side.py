"""Two models side by side: the paired comparisons of the page ``models.html``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from known_unknowns.benchmark.section import Section
from known_unknowns.comparison.pairs import PairedRow, correct_for_pairs
from known_unknowns.metrics.dual import SEPARATOR
from known_unknowns.report.formatting import DASH, Cell, Head, Row, Table, counted, interval, percent
from known_unknowns.report.overview import Overview

_FIELDS = ("n", "seeds", "accuracy_a", "accuracy_b", "difference", "low", "high", "p_holm", "pairs", "detectable")
"""Attributes of a pair that the page has, after the places of its benchmark, variant and models."""
_DIGITS = 6


def page_data(overviews: Sequence[Overview]) -> dict[str, Any]:
    """Return the pairs of all models, for the script compare.js.

    Pairs of two models are corrected for the pairs of models. Pairs with a baseline are corrected for all pairs.
    """
    names = tuple(dict.fromkeys(name for o in overviews for name in (*o.models, *o.baselines)))
    variants: list[tuple[str, str]] = []
    rows = []
    for overview in overviews:
        for row in _rows(overview):
            key = (overview.run.benchmark, row.variant_a)
            if key not in variants:
                variants.append(key)
            values = [_rounded(getattr(row, name)) for name in _FIELDS]
            rows.append([variants.index(key), names.index(row.model_a), names.index(row.model_b), *values])
    titles = {overview.run.benchmark: overview for overview in overviews}
    shown = []
    for name, variant in variants:
        own = titles[name].run.section
        parts = [{"variant": part, "title": own.name(part)} for part in variant.split(SEPARATOR)]
        shown.append([name, titles[name].title, variant_name(own, variant), parts])
    level = 1 - overviews[0].run.confidence if overviews else 0.0
    return {"names": names, "variants": shown, "fields": _FIELDS, "rows": rows, "level": _rounded(level)}


def _rows(overview: Overview) -> list[PairedRow]:
    """Return the pairs of a benchmark under the main parser, without models that have too many unusable replies."""
    models = set(overview.ranked)
    found: list[PairedRow] = []
    known = models | set(overview.baselines)
    kept = [r for r in overview.pairs if r.parser_a == overview.run.main_parser and {r.model_a, r.model_b} <= known]
    for _, family in groupby(kept, key=lambda row: row.variant_a):
        rows = list(family)
        corrected = {
            (row.a, row.b): row
            for row in correct_for_pairs(
                [row for row in rows if {row.model_a, row.model_b} <= models], confidence=overview.run.confidence
            )
        }
        found += [corrected.get((row.a, row.b), row) for row in rows]
    return found


def variant_name(section: Section, variant: str) -> str:
    """Return the display name of a variant, or of a pair of variants."""
    return " + ".join(section.name(part) for part in variant.split(SEPARATOR))


def best_pairs(overviews: Sequence[Overview]) -> Table:
    """Return all pairs of models by the number that they are sorted by, one row per benchmark and pair."""
    rows = [
        Row((Head(overview.title), Head(row.model_a), Head(row.model_b)), _cells(row, 1 - overview.run.confidence))
        for overview in overviews
        for row in overview.tests
    ]
    columns = ("result", "difference", "model", "other", "p, corrected", "n")
    caption = "All pairs of models by dual accuracy, or by accuracy where it is not defined, in percent"
    return Table(caption, ("Benchmark", "Model", "Other"), tuple(map(Head, columns)), tuple(rows))


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
        Cell(f"{row.n:,}", kind="plain"),
    )


def _rounded(value: Any) -> Any:
    return round(value, _DIGITS) if isinstance(value, float) else value
