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
from known_unknowns.metrics.answers import Cells, categories, cells_of, labels_of, read, undefined
from known_unknowns.metrics.confidence import Statistic, widened
from known_unknowns.metrics.confidence_sources import KNOWN, PARSER, blocks, confidence_table
from known_unknowns.metrics.consistency import across_samples, across_seeds
from known_unknowns.metrics.estimates import Estimates, mean_over_seeds, ratio_estimates, with_area
from known_unknowns.metrics.proportions import (
    ABOVE_CHANCE,
    ACCURACY,
    CHANCE,
    CONSTANT_ANSWER,
    LABEL_MASS,
    SHARE,
    constant_answer,
    mass,
    ratios,
    undefined_ratios,
)
from known_unknowns.protocols import PROTOCOLS
from known_unknowns.records import OVERALL, SAMPLE, Metric, runs_name
from known_unknowns.variants.of_benchmark import content_free as content_free_variants

if TYPE_CHECKING:
    from known_unknowns.config import Params, Statistics

UNPAIRED = "unpaired"
"""Share of the questions of any combined variant that another one lacks."""
_ALWAYS_DEFINED = frozenset({CHANCE, CONSTANT_ANSWER, UNPAIRED, LABEL_MASS})


def measure(
    params: Params,
    model: str,
    benchmark: str,
    *,
    variants: Path,
    scores: Path,
    replies: Path,
    out: Path,
    confidence: Path | None = None,
    kept: str | None = None,
) -> None:
    """Write the table of metrics, ordered by variant, category, seed and metric within each parser.

    The table of the confidences of each question is written to ``confidence``.

    With several seeds or samples, rows with seed None follow: means over all of them, undefined if the metric of any
    is. `headline` selects them. ``variants`` is the benchmark's folder of variants. ``kept`` is the pattern of what the
    official parser reads of a reply (`known_unknowns.benchmark.kept_part`).

    Raises
    ------
    DataError
        If scores are missing, doubled or of other questions; it names the file and the question.
    """
    cells, parsers = params.cells(benchmark, model), params.parsers
    answers = read(variants, scores, replies, benchmark=benchmark, cells=cells, parsers=parsers, kept=kept)
    if confidence is not None:
        rows = answers[answers["parser"] == PARSER].groupby(["variant", "seed"], sort=False, observed=True)
        tables.write_cells(confidence, tables.CONFIDENCES, ((at, confidence_table(cell)) for at, cell in rows))
    metrics = metrics_of(
        answers,
        params.statistics,
        model=model,
        benchmark=benchmark,
        combined=dual.combinations(params, benchmark),
        content_free=content_free_variants(params, benchmark),
        asks_again=_asks_again(params, benchmark),
    )
    tables.write_metrics(out, metrics)


def _asks_again(params: Params, benchmark: str) -> frozenset[str]:
    """The variants whose protocol asks a refused question again."""
    known = {**PROTOCOLS, **registry.get(benchmark).protocols()}
    names = {variant: params.protocol(benchmark, variant).name for variant in params.variants(benchmark)}
    return frozenset(variant for variant, name in names.items() if known[name].parses_refusals)


def metrics_of(
    answers: pd.DataFrame,
    statistics: Statistics,
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
        The table of answers (`known_unknowns.metrics.answers.frame`). The seeds and samples of a variant are combined.
    statistics : Statistics
        Settings of the intervals.
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
    cells, labels, confidence = cells_of(answers), labels_of(answers), statistics.confidence
    metrics: list[Metric] = []
    for variant, of_parsers in cells.items():
        for parser, by_seed in of_parsers.items():
            blank = Metric(model, benchmark, variant, None, parser, "", "", None, None, None, 0, "")
            found = _of_cells(blank, by_seed, labels, confidence, content_free=variant in content_free)
            found += _across_runs(blank, by_seed, confidence)
            if parser == PARSER:
                found += _of_confidence(blank, by_seed, confidence, asks_again=variant in asks_again)
            reasons = {seed: undefined([cell]) for seed, cell in by_seed.items()}
            metrics += _without_undefined(found, reasons)
    for combination in [*registry.get(benchmark).metrics().across_variants, *combined]:
        blank = Metric(model, benchmark, combination.name, None, "", "", "", None, None, None, 0, "")
        metrics += _across_variants(blank, combination, cells, confidence)
    return metrics


def _of_cells(
    blank: Metric, cells: Cells, labels: Sequence[str], confidence: float, *, content_free: bool
) -> list[Metric]:
    """The metrics of each cell, and their means, with those that are computed from them."""
    members = {seed: categories(blank.benchmark, cell) for seed, cell in cells.items()}
    by_seed = {}
    for seed, cell in cells.items():
        by_seed[seed] = _estimates(blank.benchmark, cell, members[seed], labels, content_free=content_free)
    found = []
    for of, rows in _rows(blank, by_seed, confidence):
        category = rows[0].category
        shown = list(cells) if of is None else [of]
        right = np.concatenate([cells[at]["right_label"].to_numpy()[members[at][category]] for at in shown])
        found += [*rows, *_derived(rows, right)]
    return found


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
    by_category = ratio_estimates(all_ratios, members, clusters)
    for category, flags in members.items():
        by_category[category] = by_category[category].undefine(undefined_ratios(cell, flags))
    for name, curve in hooks.curves(cell).items():
        if curve.defined:
            for category, flags in members.items():
                part = RiskCoverage(curve.confidence[flags], curve.wrong[flags])
                by_category[category] = with_area(by_category[category], name, part, clusters[flags])
    return by_category


def _rows(
    blank: Metric, by_seed: Mapping[int, Mapping[str, Estimates]], confidence: float
) -> Iterator[tuple[int | None, list[Metric]]]:
    """Yield the metrics of each category: with each seed, then the means over several seeds and samples.

    The interval of a mean covers questions, seeds and samples together. All answers to a question belong to its group,
    and the options of each question are shuffled, and its replies sampled, independently. The variance between the
    groups therefore contains both the variance between questions and what remains of the others in a mean over them.
    """
    for category in next(iter(by_seed.values())):
        seeds = {seed: found[category] for seed, found in by_seed.items()}
        for seed, estimated in seeds.items():
            yield seed, list(_with_intervals(replace(blank, seed=seed, category=category), estimated, confidence))
        if len(seeds) > 1:
            mean = mean_over_seeds(list(seeds.values()))
            values = [[seed.value[seed.names.index(name)] for name in mean.names] for seed in seeds.values()]
            spreads, suffix = np.std(values, axis=0, ddof=1).tolist(), f", mean of {runs_name(list(seeds))}"
            row = replace(blank, category=category)
            yield None, list(_with_intervals(row, mean, confidence, suffix=suffix, spreads=spreads))


def _with_intervals(
    blank: Metric, estimated: Estimates, confidence: float, *, suffix: str = "", spreads: Sequence[float] | None = None
) -> Iterator[Metric]:
    """The metrics with their intervals; ``suffix`` is added to the method of a defined interval. NaN becomes None."""
    values, denominators = estimated.value.tolist(), estimated.denominator.tolist()
    for place, (name, interval) in enumerate(zip(estimated.names, estimated.intervals(confidence), strict=True)):
        low, high, method = interval
        if name == CHANCE and not np.isnan(values[place]):
            low, high, method = None, None, "known from the options, not estimated"
        yield replace(
            blank,
            name=name,
            value=_or_none(values[place]),
            low=low,
            high=high,
            n=estimated.n,
            method=method if low is None else method + suffix,
            spread=None if spreads is None else _or_none(spreads[place]),
            denominator=denominators[place],
        )


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else value


def _derived(rows: Sequence[Metric], right: np.ndarray) -> Iterator[Metric]:
    """The metrics computed from those of one category: accuracy less chance, constant answer, and the benchmark's own.

    ``right`` are the right labels of the category's questions.

    Chance is a property of the questions, so the interval of the accuracy is shifted by it.
    """
    known = {metric.name: metric for metric in rows}
    accuracy, chance = known[ACCURACY], known[CHANCE].value
    if accuracy.value is None or chance is None:
        raise ValueError(f"category {accuracy.category!r} has no questions")
    above = replace(accuracy, name=ABOVE_CHANCE, value=accuracy.value - chance)
    if accuracy.low is not None and accuracy.high is not None:
        method = f"{accuracy.method}, less chance"
        above = replace(above, low=accuracy.low - chance, high=accuracy.high - chance, method=method)
    yield above
    yield constant_answer(accuracy, right)
    yield from registry.get(accuracy.benchmark).metrics().derived(known)


def _across_runs(blank: Metric, cells: Cells, confidence: float) -> Iterator[Metric]:
    """Metrics that compare the seeds of each sample, and the samples of each seed: rows with seed None, no spread."""
    compares_seeds = registry.get(blank.benchmark).metrics().compares_seeds
    first = next(iter(cells.values()))
    members, clusters = categories(blank.benchmark, first), first["cluster"].to_numpy()
    of_samples: dict[int, list[pd.DataFrame]] = {}
    of_seeds: dict[int, list[pd.DataFrame]] = {}
    for run, cell in cells.items():
        sample, seed = divmod(run, SAMPLE)
        of_samples.setdefault(sample, []).append(cell)
        of_seeds.setdefault(seed, []).append(cell)
    for compute, compared, unit in ((across_seeds, of_samples, "seeds"), (across_samples, of_seeds, "samples")):
        runs = len(next(iter(compared.values())))
        if runs < 2 or (unit == "seeds" and not compares_seeds):
            continue
        found = [ratio_estimates(compute(part), members, clusters) for part in compared.values()]
        for category in members:
            each = [estimates[category] for estimates in found]
            mean = mean_over_seeds(each) if len(each) > 1 else each[0]
            row = replace(blank, category=category)
            yield from _with_intervals(row, mean, confidence, suffix=f", over {runs} {unit}")


def _of_confidence(blank: Metric, cells: Cells, confidence: float, *, asks_again: bool) -> Iterator[Metric]:
    """Metrics of the confidences, over all questions. A source without a value has one row, whose method says why."""
    row = replace(blank, category=OVERALL)
    for source, by_seed, statistics, note, absent in blocks(cells, asks_again=asks_again):
        if absent:
            n = len(next(iter(cells.values())))
            missing = replace(row, name=f"{KNOWN}.{source}", n=n, method=absent)
            seeds = [*cells, None] if len(cells) > 1 else [*cells]
            yield from (replace(missing, seed=seed) for seed in seeds)
        of_seeds = {seed: {OVERALL: each} for seed, each in by_seed.items()}
        for seed, rows in _rows(row, of_seeds, confidence) if by_seed else ():
            for metric in rows:
                made_of = [statistics[s][metric.name] for s in (by_seed if seed is None else [seed]) if s in statistics]
                yield replace(_of_statistics(metric, made_of, note), name=f"{metric.name}.{source}")


def _of_statistics(metric: Metric, statistics: Sequence[Statistic], note: str) -> Metric:
    """Return a metric with what its statistics say of its interval."""
    if metric.value is None:
        return metric
    down, up = (float(np.mean([each.slack[end] for each in statistics])) if statistics else 0.0 for end in (0, 1))
    found = widened(metric, (down, up))
    return replace(found, method=found.method + note)


def _across_variants(
    blank: Metric, combined: AcrossVariants, cells: Mapping[str, Mapping[str, Cells]], confidence: float
) -> Iterator[Metric]:
    """Metrics that combine several variants: with each seed, then the means over seeds."""
    if combined.name in cells:
        raise ValueError(f"a variant has the name of the metrics across variants: {combined.name!r}")
    if not all(variant in cells for variant in combined.variants):
        return
    for parser in cells[combined.variants[0]]:
        row = replace(blank, parser=parser)
        by_seed = _combined_cells([cells[variant][parser] for variant in combined.variants], paired=combined.paired)
        estimates, common, left_out = {}, {}, {}
        for seed, of_variants in by_seed.items():
            shared = _common_questions(of_variants)
            found = combined.ratios(shared)
            if not found:
                return
            members, left_out[seed] = _members(blank.benchmark, of_variants, shared[0].index)
            common[seed] = {category: int(flags.sum()) for category, flags in members.items()}
            estimates[seed] = ratio_estimates(found, members, shared[0]["cluster"].to_numpy())
        rows: list[Metric] = []
        for of, of_category in _rows(row, estimates, confidence) if estimates else ():
            parts = list(left_out.values()) if of is None else [left_out[of]]
            note = _note(combined, of_category[0].category, parts)
            rows += [replace(metric, method=metric.method + note) for metric in of_category]
        if combined.paired:
            rows += _unpaired(row, combined, common, left_out)
        runs = {seed: undefined(of_variants) for seed, of_variants in by_seed.items()}
        yield from _without_undefined(rows, runs)


def _combined_cells(of_variants: Sequence[Cells], *, paired: bool) -> dict[int, list[pd.DataFrame]]:
    """The cells of the combined variants for each seed that they have in common.

    In a pair, a variant that was asked with one seed is combined with every seed of the other.
    """
    several = list(of_variants)
    if paired:
        several = [cells for cells in of_variants if len(cells) > 1] or several[:1]
    found = {}
    for seed in several[0]:
        if all(seed in cells for cells in several):
            found[seed] = [cells.get(seed, next(iter(cells.values()))) for cells in of_variants]
    return found


def _common_questions(cells: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """The questions that all cells have, by id, in the order of the first cell."""
    common = cells[0].index
    for cell in cells[1:]:
        common = common[common.isin(cell.index)]
    return [cell.loc[common] for cell in cells]


def _members(
    benchmark: str, cells: Sequence[pd.DataFrame], common: pd.Index
) -> tuple[dict[str, np.ndarray], dict[str, list[set[str]]]]:
    """Flags of the common questions of each category, and by category the ids of each variant that another lacks."""
    of_cells = [categories(benchmark, cell) for cell in cells]
    shared = cells[0].index.isin(common)
    members = {category: flags[shared] for category, flags in of_cells[0].items()}
    left_out = {}
    for category in dict.fromkeys(name for of_cell in of_cells for name in of_cell):
        left_out[category] = [
            set(cell.index[of_cell[category]]).difference(common) if category in of_cell else set()
            for cell, of_cell in zip(cells, of_cells, strict=True)
        ]
    return {category: flags for category, flags in members.items() if flags.any()}, left_out


def _note(combined: AcrossVariants, category: str, left_out: Iterable[Mapping[str, Sequence[set[str]]]]) -> str:
    """The number of questions that are not in all variants, as text; empty if there are none."""
    counts = dict.fromkeys(combined.variants, 0)
    for of_seed in left_out:
        for variant, ids in zip(combined.variants, of_seed.get(category, ()), strict=False):
            counts[variant] += len(ids)
    stated = [f"{count} of {variant}" for variant, count in counts.items() if count]
    return f"; questions without a counterpart, left out: {', '.join(stated)}" if stated else ""


def _unpaired(
    blank: Metric,
    combined: AcrossVariants,
    common: Mapping[int, Mapping[str, int]],
    left_out: Mapping[int, Mapping[str, Sequence[set[str]]]],
) -> Iterator[Metric]:
    """The share of questions that a variant lacks, by category: one row per seed, then the mean over seeds."""
    for category in dict.fromkeys(name for of_seed in left_out.values() for name in of_seed):
        row, rows = replace(blank, name=UNPAIRED, category=category), []
        for seed, of_seed in left_out.items():
            lost = len(set().union(*of_seed.get(category, ())))
            n = lost + common[seed].get(category, 0)
            if n:
                method = "counted" + _note(combined, category, [of_seed])
                rows.append(replace(row, seed=seed, value=lost / n, n=n, denominator=float(n), method=method))
        yield from rows
        if len(left_out) > 1 and len(rows) == len(left_out):
            value, mean_n = (float(np.mean([getattr(each, name) for each in rows])) for name in ("value", "n"))
            method = "counted" + _note(combined, category, left_out.values())
            yield replace(row, value=value, n=round(mean_n), denominator=mean_n, method=method)


def _without_undefined(rows: Iterable[Metric], reasons: Mapping[int, str]) -> list[Metric]:
    """Remove the values of metrics whose parser is undefined; ``reasons`` says why, by seed, or is "".

    A mean is undefined if the metric with any seed is.
    """
    of_mean = next((reason for reason in reasons.values() if reason), "")
    if not of_mean:
        return list(rows)
    found = []
    for metric in rows:
        reason = of_mean if metric.seed is None else reasons[metric.seed]
        if reason and metric.name not in _ALWAYS_DEFINED:
            metric = replace(metric, value=None, low=None, high=None, spread=None, method=reason)
        found.append(metric)
    return found


def headline(metrics: Iterable[Metric]) -> list[Metric]:
    """Select one row per metric: the mean over seeds if there is one, else the row of the first seed."""
    chosen: dict[tuple[str, ...], Metric] = {}
    for metric in metrics:
        key = (metric.model, metric.benchmark, metric.variant, metric.parser, metric.category, metric.name)
        if key not in chosen or metric.seed is None:
            chosen[key] = metric
    return list(chosen.values())
