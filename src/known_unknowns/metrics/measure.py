"""Compute the table of metrics of one model on one benchmark from its tables of scores."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.metrics import AcrossVariants, RiskCoverage
from known_unknowns.edition_files import asked
from known_unknowns.errors import DataError
from known_unknowns.metrics import dual
from known_unknowns.metrics.confidence import Statistic, widened
from known_unknowns.metrics.confidence_sources import Confidences, blocks, with_agreement
from known_unknowns.metrics.consistency import across_samples
from known_unknowns.metrics.estimates import Estimates, mean_over_seeds, ratio_estimates, with_area
from known_unknowns.metrics.proportions import (
    ABOVE_CHANCE,
    ACCURACY,
    CHANCE,
    CONSTANT_ANSWER,
    SHARE,
    constant_answer,
    ratios,
    right_labels,
    undefined_ratios,
)
from known_unknowns.metrics.score_tables import LABEL_MASS, CommonQuestions, ScoreTable, load
from known_unknowns.protocols import PROTOCOLS
from known_unknowns.records import OVERALL, SAMPLE, Metric, runs_name, sample_of
from known_unknowns.tables.confidence_sources import KNOWN, PARSER
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
    found = [
        load(variants, scores, replies, variant=variant, seed=seed, parsers=params.parsers, kept=kept)
        for variant, seed in params.cells(benchmark, model)
    ]
    for table in found:
        first = next(other for other in found if other.variant == table.variant)
        if table.ids != first.ids:
            here, there = next(pair for pair in zip_longest(table.ids, first.ids) if pair[0] != pair[1])
            text = (
                f"other questions than those of seed {first.seed}, from {there or here!r} on; make the variants again"
            )
            raise DataError(text, file=asked(variants, table.variant, table.seed))
    found = with_shared_confidences(found)
    if confidence is not None:
        rows = (
            ((t.variant, t.seed), t.confidences.table(confidence, t.ids)) for t in found if t.confidences is not None
        )
        tables.write_cells(confidence, tables.CONFIDENCES, rows)
    metrics = metrics_of(
        found,
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


def with_shared_confidences(score_tables: Sequence[ScoreTable]) -> list[ScoreTable]:
    """Add the confidences that need several seeds or samples of a variant."""
    by_variant: dict[str, dict[int, Confidences]] = {}
    for table in score_tables:
        if table.confidences is not None:
            by_variant.setdefault(table.variant, {})[table.seed] = table.confidences
    found = {variant: with_agreement(of_variant) for variant, of_variant in by_variant.items()}
    return [
        table if table.confidences is None else replace(table, confidences=found[table.variant][table.seed])
        for table in score_tables
    ]


def metrics_of(
    score_tables: Sequence[ScoreTable],
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
    score_tables : sequence of ScoreTable
        One per variant, seed and sample. The tables of one variant are combined over their seeds and samples.
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
    score_tables = with_shared_confidences(score_tables)
    labels = sorted(frozenset().union(*(table.labels for table in score_tables)))
    groups = np.unique(np.concatenate([table.groups for table in score_tables]))
    confidence = statistics.confidence
    metrics: list[Metric] = []
    for variant in dict.fromkeys(table.variant for table in score_tables):
        runs = [table for table in score_tables if table.variant == variant]
        right = {run.seed: right_labels(run.arrays[next(iter(run.arrays))].questions) for run in runs}
        for parser in runs[0].arrays:
            blank = Metric(model, benchmark, variant, None, parser, "", "", None, None, None, 0, "")
            by_seed = {run.seed: _estimates(run, parser, labels, groups, variant in content_free) for run in runs}
            for seed, rows in _rows(blank, by_seed, confidence):
                shown = [run for run in runs if seed in (None, run.seed)]
                right_of = [right[run.seed][run.categories[rows[0].category]] for run in shown]
                metrics += [*rows, *_derived(rows, np.concatenate(right_of))]
            metrics += _across_runs(blank, runs, groups, confidence)
            if parser == PARSER:
                metrics += _of_confidence(blank, runs, groups, confidence, asks_again=variant in asks_again)
    combined = [*registry.get(benchmark).metrics().across_variants, *combined]
    for combination in combined:
        blank = Metric(model, benchmark, combination.name, None, "", "", "", None, None, None, 0, "")
        metrics += _across_variants(blank, combination, score_tables, groups, confidence)
    return _null_undefined(metrics, score_tables, combined)


def _estimates(
    table: ScoreTable, parser: str, labels: Sequence[str], groups: np.ndarray, content_free: bool
) -> dict[str, Estimates]:
    """Estimate all metrics of one variant, seed and parser, by category. ``groups`` are the sorted names of all."""
    own = table.benchmark_ratios[parser]
    if taken := [name for name in own if name.startswith(SHARE)]:
        raise ValueError(
            f"the metric {taken[0]} of a benchmark: names in {SHARE}... are those of the shares of answers"
        )
    all_ratios = ratios(table.arrays[parser], labels, content_free=content_free) | dict(own)
    column = np.searchsorted(groups, table.groups)
    by_category = ratio_estimates(all_ratios, table.categories, column)
    for category, members in table.categories.items():
        by_category[category] = by_category[category].undefine(undefined_ratios(table.arrays[parser], members))
    for name, curve in table.curves[parser].items():
        if curve.defined:
            for category, members in table.categories.items():
                part = RiskCoverage(*(values[members] for values in curve))
                by_category[category] = with_area(by_category[category], name, part, column[members])
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


def _across_runs(blank: Metric, runs: Sequence[ScoreTable], groups: np.ndarray, confidence: float) -> Iterator[Metric]:
    """Metrics that compare the seeds of each sample, and the samples of each seed: rows with seed None, no spread."""
    column = np.searchsorted(groups, runs[0].groups)
    for compute, part_of, unit in (
        (registry.get(blank.benchmark).metrics().across_seeds, sample_of, "seeds"),
        (across_samples, lambda seed: seed % SAMPLE, "samples"),
    ):
        parts: dict[int, list[ScoreTable]] = {}
        for run in runs:
            parts.setdefault(part_of(run.seed), []).append(run)
        compared = list(parts.values())
        if compute is None or len(compared[0]) < 2:
            continue
        found = [
            ratio_estimates(compute([run.arrays[blank.parser] for run in part]), runs[0].categories, column)
            for part in compared
        ]
        for category in found[0]:
            mean = mean_over_seeds([each[category] for each in found]) if len(found) > 1 else found[0][category]
            suffix = f", over {len(compared[0])} {unit}"
            yield from _with_intervals(replace(blank, category=category), mean, confidence, suffix=suffix)


def _of_confidence(
    blank: Metric, runs: Sequence[ScoreTable], groups: np.ndarray, confidence: float, *, asks_again: bool
) -> Iterator[Metric]:
    """Metrics of the confidences, over all questions. A source without a value has one row, whose method says why."""
    found = {run.seed: run.confidences for run in runs if run.confidences is not None}
    row = replace(blank, category=OVERALL)
    column = np.searchsorted(groups, runs[0].groups)
    for source, by_seed, statistics, note, absent in blocks(found, column, asks_again=asks_again):
        if absent:
            seeds = [*found, *([None] if len(found) > 1 else [])]
            missing = replace(row, name=f"{KNOWN}.{source}", n=len(runs[0].ids), method=absent)
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
    blank: Metric,
    combined: AcrossVariants,
    score_tables: Sequence[ScoreTable],
    groups: np.ndarray,
    confidence: float,
) -> Iterator[Metric]:
    """Metrics that combine several variants: with each seed, then the means over seeds."""
    if any(table.variant == combined.name for table in score_tables):
        raise ValueError(f"a variant has the name of the metrics across variants: {combined.name!r}")
    common = {seed: CommonQuestions.of(of_seed) for seed, of_seed in _tables_by_seed(combined, score_tables).items()}
    for parser in score_tables[0].arrays if common else ():
        found = {seed: combined.ratios(part.arrays[parser]) for seed, part in common.items()}
        if not all(found.values()):
            return
        by_seed = {
            seed: ratio_estimates(found[seed], part.categories, np.searchsorted(groups, part.groups))
            for seed, part in common.items()
        }
        for seed, rows in _rows(replace(blank, parser=parser), by_seed, confidence):
            parts = list(common.values()) if seed is None else [common[seed]]
            note = _left_out(combined, rows[0].category, parts)
            yield from (replace(metric, method=metric.method + note) for metric in rows)
        if combined.paired:
            yield from _unpaired(replace(blank, parser=parser), combined, common)


def _tables_by_seed(combined: AcrossVariants, score_tables: Sequence[ScoreTable]) -> dict[int, list[ScoreTable]]:
    """The tables of the combined variants for each seed that they have in common; none if a variant was not run."""
    of_each = [{t.seed: t for t in score_tables if t.variant == variant} for variant in combined.variants]
    if not all(of_each):
        return {}
    several = [of_one for of_one in of_each if len(of_one) > 1] or of_each[:1] if combined.paired else of_each
    seeds = [seed for seed in several[0] if all(seed in of_one for of_one in several)]
    return {seed: [of_one.get(seed, next(iter(of_one.values()))) for of_one in of_each] for seed in seeds}


def _left_out(combined: AcrossVariants, category: str, common: Sequence[CommonQuestions]) -> str:
    """The number of questions that are not in all variants, as text; empty if there are none."""
    counts = {
        variant: sum(len(part.left_out[category][place]) for part in common if category in part.left_out)
        for place, variant in enumerate(combined.variants)
    }
    stated = [f"{count} of {variant}" for variant, count in counts.items() if count]
    return f"; questions without a counterpart, left out: {', '.join(stated)}" if stated else ""


def _unpaired(blank: Metric, combined: AcrossVariants, common: Mapping[int, CommonQuestions]) -> Iterator[Metric]:
    """The share of questions that a variant lacks, by category: one row per seed, then the mean over seeds."""

    def row(seed: int | None, category: str, share: float, n: float, parts: Sequence[CommonQuestions]) -> Metric:
        method = "counted" + _left_out(combined, category, parts)
        place = replace(blank, name=UNPAIRED, seed=seed, category=category)
        return replace(place, value=share, n=round(n), denominator=float(n), method=method)

    for category in dict.fromkeys(name for part in common.values() for name in part.left_out):
        found = []
        for seed, part in common.items():
            left_out = len(frozenset().union(*part.left_out.get(category, ())))
            both = int(np.count_nonzero(part.categories[category])) if category in part.categories else 0
            if n := left_out + both:
                found.append(row(seed, category, left_out / n, n, [part]))
        yield from found
        if len(common) > 1 and len(found) == len(common):
            share, n_mean = (float(np.mean([getattr(each, name) for each in found])) for name in ("value", "n"))
            yield row(None, category, share, n_mean, list(common.values()))


def _null_undefined(
    metrics: Iterable[Metric], score_tables: Sequence[ScoreTable], combined: Iterable[AcrossVariants]
) -> list[Metric]:
    """Remove values whose parser is undefined for a variant and seed that they are computed from."""
    reasons: dict[tuple[str, int | None, str], str] = {}
    for table in score_tables:
        for parser, reason in table.undefined.items():
            reasons[table.variant, table.seed, parser] = reason
            reasons.setdefault((table.variant, None, parser), reason)
    if not reasons:
        return list(metrics)
    sources = {combination.name: combination.variants for combination in combined}
    seeds = [table.variant for table in score_tables]

    def reason_of(metric: Metric) -> str | None:
        variants = sources.get(metric.variant, (metric.variant,))
        keys = [(v, metric.seed if seeds.count(v) > 1 else None, metric.parser) for v in variants]
        return next((reasons[key] for key in keys if key in reasons), None)

    return [
        replace(metric, value=None, low=None, high=None, spread=None, method=why)
        if metric.name not in _ALWAYS_DEFINED and (why := reason_of(metric)) is not None
        else metric
        for metric in metrics
    ]
