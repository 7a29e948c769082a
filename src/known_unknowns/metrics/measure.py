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
from known_unknowns.benchmark.metrics import AcrossVariants
from known_unknowns.edition_files import asked
from known_unknowns.errors import DataError
from known_unknowns.metrics import dual
from known_unknowns.metrics.consistency import across_samples
from known_unknowns.metrics.estimates import Estimates, estimates, mean_over_seeds, ratio_estimates
from known_unknowns.metrics.intervals import UNDEFINED, Interval
from known_unknowns.metrics.proportions import ABOVE_CHANCE, ACCURACY, CHANCE
from known_unknowns.metrics.score_tables import LABEL_MASS, CommonQuestions, ScoreTable, load
from known_unknowns.records import SAMPLE, Metric, runs_name, sample_of
from known_unknowns.variants.of_benchmark import content_free as content_free_variants

if TYPE_CHECKING:
    from known_unknowns.config import Params, Statistics

UNPAIRED = "unpaired"
"""Share of the questions of any combined variant that another one lacks."""
_ALWAYS_DEFINED = frozenset({CHANCE, UNPAIRED, LABEL_MASS})
_CHANCE_METHOD = "known from the options, not estimated"


def measure(
    params: Params, model: str, benchmark: str, *, variants: Path, scores: Path, replies: Path, out: Path
) -> None:
    """Write the table of metrics, ordered by variant, category, seed and metric within each parser.

    With several seeds or samples, rows with seed None follow: means over all of them, undefined if the metric of any
    is. `headline` selects them.

    Parameters
    ----------
    params : Params
        The configuration.
    model, benchmark : str
        Names in the configuration.
    variants : Path
        The benchmark's folder of variants.
    scores, replies : Path
        The tables of the model's scores and replies.
    out : Path
        The Parquet file to write.

    Raises
    ------
    DataError
        If scores are missing, doubled or of other questions; it names the file and the question.
    """
    found = [
        load(variants, scores, replies, variant=variant, seed=seed, parsers=params.parsers)
        for variant, seed in params.cells(benchmark, model)
    ]
    for table in found:
        first = next(other for other in found if other.variant == table.variant)
        if table.ids != first.ids:
            name = asked(variants, table.variant, table.seed)
            here, there = next(pair for pair in zip_longest(table.ids, first.ids) if pair[0] != pair[1])
            text = (
                f"other questions than those of seed {first.seed}, from {there or here!r} on; make the variants again"
            )
            raise DataError(text, file=name)
    statistics = params.statistics
    metrics = metrics_of(
        found,
        statistics,
        model=model,
        benchmark=benchmark,
        combined=dual.combinations(params, benchmark),
        content_free=content_free_variants(params, benchmark),
    )
    tables.write_metrics(out, metrics)


def metrics_of(
    score_tables: Sequence[ScoreTable],
    statistics: Statistics,
    *,
    model: str,
    benchmark: str,
    combined: Sequence[AcrossVariants] = (),
    content_free: Collection[str] = (),
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

    Returns
    -------
    list of Metric
    """
    labels = sorted(frozenset().union(*(table.labels for table in score_tables)))
    groups = np.unique(np.concatenate([table.groups for table in score_tables]))
    metrics: list[Metric] = []
    for variant in dict.fromkeys(table.variant for table in score_tables):
        seeds = [table for table in score_tables if table.variant == variant]
        for parser in seeds[0].arrays:
            by_seed = {
                table.seed: estimates(table, parser, labels, groups, content_free=variant in content_free)
                for table in seeds
            }
            for category in by_seed[seeds[0].seed]:
                blank = Metric(model, benchmark, variant, None, parser, category, "", None, None, None, 0, "")
                metrics += _rows(blank, {s: by_category[category] for s, by_category in by_seed.items()}, statistics)
            metrics += _across_runs(blank, seeds, groups, statistics)
    combined = [*registry.get(benchmark).metrics().across_variants, *combined]
    for combination in combined:
        blank = Metric(model, benchmark, combination.name, None, "", "", "", None, None, None, 0, "")
        metrics += _across_variants(blank, combination, score_tables, groups, statistics)
    return _null_undefined(metrics, score_tables, combined)


def _null_undefined(
    metrics: Iterable[Metric], score_tables: Sequence[ScoreTable], combined: Iterable[AcrossVariants]
) -> list[Metric]:
    """Remove values whose parser is undefined for a variant and seed that they are computed from."""
    reasons: dict[tuple[str, int | None, str], str] = {
        (table.variant, table.seed, parser): reason
        for table in score_tables
        for parser, reason in table.undefined.items()
    }
    if not reasons:
        return list(metrics)
    for (variant, _, parser), reason in list(reasons.items()):
        reasons.setdefault((variant, None, parser), reason)
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


def _rows(blank: Metric, by_seed: Mapping[int, Estimates], statistics: Statistics) -> Iterator[Metric]:
    """The metrics of one variant, parser and category: one block per seed, then the means over seeds."""
    for seed, estimated in by_seed.items():
        yield from _with_derived(_of_seed(replace(blank, seed=seed), estimated, statistics))
    if len(by_seed) > 1:
        yield from _with_derived(_means_over_seeds(blank, by_seed, statistics))


def _of_seed(blank: Metric, estimated: Estimates, statistics: Statistics) -> Iterator[Metric]:
    """The metrics of one seed."""
    yield from _with_intervals(blank, estimated, statistics, "")


def _with_intervals(
    blank: Metric, estimated: Estimates, statistics: Statistics, suffix: str, spreads: Sequence[float] | None = None
) -> Iterator[Metric]:
    """The metrics with their intervals; ``suffix`` is added to the method of a defined interval."""
    found = zip(
        estimated.names,
        estimated.value.tolist(),
        estimated.denominator.tolist(),
        estimated.intervals(statistics.confidence),
        spreads or [float("nan")] * len(estimated.names),
        strict=True,
    )
    for name, value, denominator, interval, deviation in found:
        if name == CHANCE and interval is not UNDEFINED:
            interval = Interval(None, None, _CHANCE_METHOD)
        elif interval.low is not None:
            interval = interval._replace(method=interval.method + suffix)
        spread = None if deviation != deviation else deviation
        yield _metric(blank, name, value, interval, n=estimated.n, denominator=denominator, spread=spread)


def _means_over_seeds(blank: Metric, by_seed: Mapping[int, Estimates], statistics: Statistics) -> Iterator[Metric]:
    """Means over seeds and samples of the metrics that all of them have.

    ``n`` and the denominator are means as well: the questions of another seed are not new ones.

    The interval covers questions, seeds and samples together. All answers to a question belong to its group, and
    the options of each question are shuffled, and its replies sampled, independently. The variance between the groups
    therefore contains both the variance between questions and what remains of the others in a mean over them.
    """
    seeds = list(by_seed.values())
    mean = mean_over_seeds(seeds)
    spread = np.std([[seed.value[seed.names.index(name)] for name in mean.names] for seed in seeds], axis=0, ddof=1)
    yield from _with_intervals(blank, mean, statistics, f", mean of {runs_name(list(by_seed))}", spread.tolist())


def _across_runs(
    blank: Metric, runs: Sequence[ScoreTable], groups: np.ndarray, statistics: Statistics
) -> Iterator[Metric]:
    """Metrics that compare the seeds of each sample, and the samples of each seed: rows with seed None, no spread."""
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
        column = np.searchsorted(groups, runs[0].groups)
        found = [
            ratio_estimates(compute([run.arrays[blank.parser] for run in part]), runs[0].categories, column)
            for part in compared
        ]
        for category in found[0]:
            estimated = [each[category] for each in found]
            mean = mean_over_seeds(estimated) if len(estimated) > 1 else estimated[0]
            yield from _with_intervals(
                replace(blank, category=category), mean, statistics, f", over {len(compared[0])} {unit}"
            )


def _across_variants(
    blank: Metric,
    combined: AcrossVariants,
    score_tables: Sequence[ScoreTable],
    groups: np.ndarray,
    statistics: Statistics,
) -> Iterator[Metric]:
    """Metrics that combine several variants: one block per seed, then the means over seeds."""
    if any(table.variant == combined.name for table in score_tables):
        raise ValueError(f"a variant has the name of the metrics across variants: {combined.name!r}")
    common = {seed: CommonQuestions.of(of_seed) for seed, of_seed in _tables_by_seed(combined, score_tables).items()}
    seeds = list(common)
    for parser in score_tables[0].arrays if common else ():
        ratios = {seed: combined.ratios(part.arrays[parser]) for seed, part in common.items()}
        if not all(ratios.values()):
            return
        by_seed = {
            seed: ratio_estimates(ratios[seed], part.categories, np.searchsorted(groups, part.groups))
            for seed, part in common.items()
        }
        for category in by_seed[seeds[0]]:
            row, estimated = replace(blank, parser=parser, category=category), {s: by_seed[s][category] for s in seeds}
            for seed in seeds:
                note = _left_out(combined, category, [common[seed]])
                yield from _noted(_of_seed(replace(row, seed=seed), estimated[seed], statistics), note)
            if len(seeds) > 1:
                note = _left_out(combined, category, list(common.values()))
                yield from _noted(_means_over_seeds(row, estimated, statistics), note)
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


def _noted(metrics: Iterable[Metric], note: str) -> Iterator[Metric]:
    """Append a note to the methods."""
    return (replace(metric, method=metric.method + note) for metric in metrics) if note else iter(metrics)


def _unpaired(blank: Metric, combined: AcrossVariants, common: Mapping[int, CommonQuestions]) -> Iterator[Metric]:
    """The share of questions that a variant lacks, by category: one row per seed, then the mean over seeds."""
    for category in dict.fromkeys(name for part in common.values() for name in part.left_out):
        found = []
        for seed, part in common.items():
            left_out = len(frozenset().union(*part.left_out.get(category, ())))
            both = int(np.count_nonzero(part.categories[category])) if category in part.categories else 0
            if left_out + both:
                method = "counted" + _left_out(combined, category, [part])
                share = Interval(None, None, method)
                row, n = replace(blank, category=category, seed=seed), left_out + both
                found.append(_metric(row, UNPAIRED, left_out / n, share, n=n, denominator=n))
        yield from found
        if len(common) > 1 and len(found) == len(common):
            value, mean_n = (float(np.mean([getattr(row, field) for row in found])) for field in ("value", "n"))
            share = Interval(None, None, "counted" + _left_out(combined, category, list(common.values())))
            yield _metric(
                replace(blank, category=category), UNPAIRED, value, share, n=round(mean_n), denominator=mean_n
            )


def _with_derived(metrics: Iterable[Metric]) -> Iterator[Metric]:
    """Add the metrics computed from those of one category: accuracy less chance, and the benchmark's own.

    Chance is a property of the questions, so the interval of the accuracy is shifted by it.
    """
    known: dict[str, Metric] = {}
    for metric in metrics:
        known[metric.name] = metric
        yield metric
    accuracy, chance = known[ACCURACY], known[CHANCE].value
    if accuracy.value is None or chance is None:
        raise ValueError(f"category {accuracy.category!r} has no questions")
    interval = Interval(accuracy.low, accuracy.high, accuracy.method).shifted(
        -chance, f"{accuracy.method}, less chance"
    )
    above_chance = accuracy.value - chance
    yield _metric(
        accuracy,
        ABOVE_CHANCE,
        above_chance,
        interval,
        n=accuracy.n,
        denominator=accuracy.denominator,
        spread=accuracy.spread,
    )
    yield from registry.get(accuracy.benchmark).metrics().derived(known)


def _metric(
    blank: Metric,
    name: str,
    value: float,
    interval: Interval,
    *,
    n: int,
    denominator: float | None,
    spread: float | None = None,
) -> Metric:
    """``blank`` with the numbers of one metric; NaN becomes None."""
    return replace(
        blank,
        name=name,
        value=None if value != value else float(value),
        low=interval.low,
        high=interval.high,
        n=n,
        method=interval.method,
        spread=spread,
        denominator=None if denominator is None else float(denominator),
    )


def headline(metrics: Iterable[Metric]) -> list[Metric]:
    """Select one row per metric: the mean over seeds if there is one, else the row of the first seed."""
    chosen: dict[tuple[str, ...], Metric] = {}
    for metric in metrics:
        key = (metric.model, metric.benchmark, metric.variant, metric.parser, metric.category, metric.name)
        if key not in chosen or metric.seed is None:
            chosen[key] = metric
    return list(chosen.values())
