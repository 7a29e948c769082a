"""Compute the table of metrics of one model on one benchmark from its table of answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.metrics import AcrossVariants, RiskCoverage
from known_unknowns.metrics import dual
from known_unknowns.metrics.across_variants import across_variants
from known_unknowns.metrics.answers import Cells, categories, cells_of, labels_of, read, replies_left_out, undefined
from known_unknowns.metrics.confidence_sources import metrics_of_sources
from known_unknowns.metrics.consistency import across_samples, across_seeds
from known_unknowns.metrics.estimates import Estimates, mean_over_seeds, ratio_estimates, with_area
from known_unknowns.metrics.proportions import (
    ABOVE_CHANCE,
    ACCURACY,
    CHANCE,
    SHARE,
    constant_answer,
    mass,
    ratios,
    undefined_ratios,
)
from known_unknowns.metrics.rows import ALWAYS_DEFINED, rows, with_intervals, without_undefined
from known_unknowns.protocols import PROTOCOLS
from known_unknowns.records import Cell, Metric
from known_unknowns.tables.confidence_sources import PARSER, left_out_text
from known_unknowns.variants.of_benchmark import without_content

if TYPE_CHECKING:
    from known_unknowns.records import ResolvedProtocol


def measure(
    model: str,
    benchmark: str,
    *,
    answers: Path,
    out: Path,
    cells: Iterable[Cell],
    parsers: Iterable[str],
    confidence_level: float,
    variants: Mapping[str, str],
    protocols: Mapping[str, ResolvedProtocol],
) -> None:
    """Write the table of metrics, ordered by variant, category, sample, seed and metric within each parser.

    Parameters
    ----------
    answers : Path
        The table of the model's answers.
    cells, parsers : iterable
        The cells and the parsers that must be there.
    confidence_level : float
        That of the intervals.
    variants, protocols : mapping
        The function and the protocol of each variant.

    Notes
    -----
    With several seeds or samples, rows without them follow: means over all of them, undefined if the metric of any
    is. `MetricIndex` selects them.

    Raises
    ------
    DataError
        If answers are missing, or are to other questions with another seed; it names the file and the question.
    """
    cells = list(cells)
    table = read(answers, benchmark, cells=cells, parsers=parsers)
    ordered = dict.fromkeys([*(cell.variant for cell in cells), *variants])  # as in the table
    functions = {variant: variants[variant] for variant in ordered}
    metrics = metrics_of(
        table,
        confidence_level,
        model=model,
        benchmark=benchmark,
        combined=dual.pairs_of(functions, protocols),
        content_free=without_content(benchmark, variants),
        asks_again=_asks_again(benchmark, protocols),
    )
    tables.write_metrics(out, metrics)


def _asks_again(benchmark: str, protocols: Mapping[str, ResolvedProtocol]) -> frozenset[str]:
    """The variants whose protocol asks a refused question again."""
    known = {**PROTOCOLS, **registry.get(benchmark).protocols()}
    return frozenset(variant for variant, protocol in protocols.items() if known[protocol.name].parses_refusals)


def metrics_of(
    answers: pd.DataFrame,
    confidence: float,
    *,
    model: str,
    benchmark: str,
    combined: Sequence[AcrossVariants] = (),
    content_free: Collection[str] = (),
    asks_again: Collection[str] = (),
) -> list[Metric]:
    """Compute all metrics of one model on one benchmark.

    Parameters
    ----------
    answers : DataFrame
        The table of answers (`known_unknowns.metrics.answers`). The seeds and samples of a variant are combined.
    confidence : float
        Confidence level of the intervals.
    model, benchmark : str
        Names written to the metrics.
    combined : sequence of AcrossVariants
        Metrics across variants, besides the benchmark's own.
    content_free : collection of str
        Names of the variants without content (`Variant.content_free`).
    asks_again : collection of str
        Names of the variants in which refused questions are asked again without the refusal option.

    Returns
    -------
    list of Metric
    """
    cells, labels = cells_of(answers), labels_of(answers)
    metrics: list[Metric] = []
    for variant, of_parsers in cells.items():
        for parser, of_parser in of_parsers.items():
            blank = Metric(model, benchmark, variant, None, None, parser, "", "", None, None, None, 0, "")
            found = _of_cells(blank, of_parser, labels, confidence, content_free=variant in content_free)
            found += _across_repeats(blank, of_parser, confidence)
            if parser == PARSER:
                found += metrics_of_sources(blank, of_parser, confidence, asks_again=variant in asks_again)
            reasons = {repeat: undefined([cell]) for repeat, cell in of_parser.items()}
            metrics += without_undefined(found, reasons)
    for combination in [*registry.get(benchmark).metrics().across_variants, *combined]:
        blank = Metric(model, benchmark, combination.name, None, None, "", "", "", None, None, None, 0, "")
        metrics += across_variants(blank, combination, cells, confidence)
    return metrics


def _of_cells(
    blank: Metric, cells: Cells, labels: Sequence[str], confidence: float, *, content_free: bool
) -> list[Metric]:
    """The metrics of each cell, and their means, with those that are computed from them."""
    members = {repeat: categories(blank.benchmark, cell) for repeat, cell in cells.items()}
    estimates = {}
    for repeat, cell in cells.items():
        estimates[repeat] = _estimates(blank.benchmark, cell, members[repeat], labels, content_free=content_free)
    right_labels = {repeat: cell["right_label"].to_numpy() for repeat, cell in cells.items()}
    found = []
    for of, of_category in rows(blank, estimates, confidence):
        category = of_category[0].category
        shown = list(cells) if of is None else [of]
        right = np.concatenate([right_labels[at][members[at][category]] for at in shown])
        out = np.concatenate([replies_left_out([cells[at]])[members[at][category]] for at in shown])
        found += [_noting(metric, out) for metric in (*of_category, *_derived(of_category, right))]
    return found


def _noting(metric: Metric, out: np.ndarray) -> Metric:
    """Return a metric whose method says how many replies are left out."""
    if metric.value is None or metric.name in ALWAYS_DEFINED or not out.any():
        return metric
    return replace(metric, method=f"{metric.method}; {left_out_text(int(out.sum()), len(out))}")


def _estimates(
    benchmark: str,
    cell: pd.DataFrame,
    members: Mapping[str, np.ndarray],
    labels: Sequence[str],
    *,
    content_free: bool,
) -> dict[str, Estimates]:
    """Estimate all metrics of one cell, by category; ``members`` are flags of the questions of each."""
    hooks = registry.get(benchmark).metrics()
    own = hooks.ratios(cell)
    for name in own:
        if name.startswith(SHARE):
            text = f"the metric {name} of a benchmark: names in {SHARE}... are those of the shares of answers"
            raise ValueError(text)
    clusters = cell["cluster"].to_numpy()
    all_ratios = ratios(cell, labels, content_free=content_free) | dict(own) | mass(cell)
    out = replies_left_out([cell])
    by_category = ratio_estimates(all_ratios, members, clusters, out)
    for category, reasons in undefined_ratios(cell, members).items():
        by_category[category] = by_category[category].undefine(reasons)
    for name, curve in hooks.curves(cell).items():
        if RiskCoverage(curve.confidence[~out], curve.wrong[~out]).defined:
            for category, flags in members.items():
                counted = flags & ~out
                part = RiskCoverage(curve.confidence[counted], curve.wrong[counted])
                if counted.any():
                    by_category[category] = with_area(by_category[category], name, part, clusters[counted])
    return by_category


def _derived(metrics: Sequence[Metric], right: np.ndarray) -> Iterator[Metric]:
    """The metrics computed from those of one category: accuracy less chance, constant answer, and the benchmark's own.

    ``right`` are the right labels of the category's questions.

    Chance is a property of the questions, so the interval of the accuracy is shifted by it.
    """
    known = {metric.name: metric for metric in metrics}
    accuracy, chance = known[ACCURACY], known[CHANCE].value
    above = replace(accuracy, name=ABOVE_CHANCE)
    if accuracy.value is not None and chance is not None:
        above = replace(above, value=accuracy.value - chance)
    if chance is not None and accuracy.low is not None and accuracy.high is not None:
        method = f"{accuracy.method}, less chance"
        above = replace(above, low=accuracy.low - chance, high=accuracy.high - chance, method=method)
    yield above
    yield constant_answer(accuracy, right)
    yield from registry.get(accuracy.benchmark).metrics().derived(known)


def _across_repeats(blank: Metric, cells: Cells, confidence: float) -> Iterator[Metric]:
    """Metrics that compare the seeds of each sample, and the samples of each seed: rows without either, no spread."""
    compares_seeds = registry.get(blank.benchmark).metrics().compares_seeds
    first = next(iter(cells.values()))
    members, clusters = categories(blank.benchmark, first), first["cluster"].to_numpy()
    of_samples: dict[int, list[pd.DataFrame]] = {}
    of_seeds: dict[int, list[pd.DataFrame]] = {}
    for repeat, cell in cells.items():
        of_samples.setdefault(repeat.sample, []).append(cell)
        of_seeds.setdefault(repeat.seed, []).append(cell)
    for compute, compared, unit in ((across_seeds, of_samples, "seeds"), (across_samples, of_seeds, "samples")):
        number = len(next(iter(compared.values())))
        if number < 2 or (unit == "seeds" and not compares_seeds):
            continue
        found = [
            ratio_estimates(compute(part), members, clusters, replies_left_out(part)) for part in compared.values()
        ]
        for category in members:
            each = [estimates[category] for estimates in found]
            mean = mean_over_seeds(each) if len(each) > 1 else each[0]
            row = replace(blank, category=category)
            yield from with_intervals(row, mean, confidence, suffix=f", over {number} {unit}")
