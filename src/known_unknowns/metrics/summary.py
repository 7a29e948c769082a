"""The headline numbers of an edition, and the tables and records that are made of them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.caveats import caveat
from known_unknowns.benchmark.headline import HeadlineNumber
from known_unknowns.metrics.dual import DUAL, SEPARATOR, combinations
from known_unknowns.metrics.proportions import RECOGNISED, SHARE
from known_unknowns.records import UNPARSED, UNUSABLE, Metric
from known_unknowns.variants.of_benchmark import content_free

if TYPE_CHECKING:
    from known_unknowns.config import Params

HEADLINE_PARSERS = ("official", "robust")
HEADLINE_METRICS = (
    "above_chance",
    "accuracy_answered",
    "refusal_recall",
    "refusal_precision",
    *RECOGNISED,
    "share_abstained",
    "share_unparsed",
    "share_cut",
    "share_failed",
    DUAL,
)
"""Metrics of every variant's row in headline.csv, besides the accuracy; a benchmark adds its own
(`BenchmarkMetrics.headline`)."""
UNUSABLE_LIMIT = 0.2
"""A model with a larger share of unusable replies has no rank, no test and no sentence."""
_REMOVES_OPTIONS = "nota_only"
"""Function of variants in which an unparsed reply can be a choice: that of the removed option."""
COLUMNS = (
    *("model", "benchmark", "number", "label", "metric", "variant", "parser", "value", "low", "high", "n", "method"),
    *("unusable", "unusable_replies", "caveat"),
)
"""Columns of the leaderboard. ``n`` counts questions; ``unusable`` is the share of unusable replies to them."""
_OF_INTERVAL = ("low", "high", "n", "method")
_INTERVALS = {"accuracy": "", DUAL: f"{DUAL}_"}
"""Prefixes of the columns of intervals in the headline table, by metric."""
_DIGITS = 6

Lookup = Callable[[str, str, str], Metric | None]
"""Returns the metric of one model and benchmark over all questions, by variant, parser and name."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """Unusable replies to a variant: their share of ``n`` questions, and their number by outcome."""

    variant: str
    n: int
    share: float
    counts: Mapping[str, int]

    @property
    def replies(self) -> int:
        return sum(self.counts.values())

    @property
    def excludes(self) -> bool:
        """Whether there are too many to rank the model."""
        return self.share > UNUSABLE_LIMIT

    def text(self) -> str:
        """Return "100.0% of 300 replies are unusable (290 unparsed, 10 failed)"."""
        kinds = ", ".join(f"{number:,} {outcome}" for outcome, number in self.counts.items() if number)
        return f"{self.share:.1%} of {self.n:,} replies are unusable ({kinds})"


@dataclass(frozen=True, slots=True)
class HeadlineValue:
    """A headline number of one model on one benchmark."""

    number: HeadlineNumber
    variant: str
    metric: Metric
    unusable: Unusable | None


def main_parser(parsers: Iterable[str]) -> str:
    """Return the parser of numbers that compare models: the robust one, else the first."""
    parsers = list(parsers)
    return "robust" if "robust" in parsers else parsers[0]


def numbers_of(params: Params, benchmark: str) -> list[tuple[HeadlineNumber, str]]:
    """Return the headline numbers that a benchmark declares and an edition asks for, each with its variant.

    Parameters
    ----------
    params : Params
        The configuration.
    benchmark : str

    Returns
    -------
    list of (HeadlineNumber, str)
        In the declared order.
    """
    declared = registry.get(benchmark)
    names, free = params.variants(benchmark), content_free(params, benchmark)
    function = {name: params.variant(name).function for name in names}
    across = [each.name for each in declared.metrics().across_variants if set(each.variants) <= set(names)]
    pairs = [each.name for each in combinations(params, benchmark) if not free & set(each.variants)]
    found = []
    for number in declared.headline:
        known = pairs if number.metric == DUAL else [name for name in names if name not in free]
        if number.variants:
            known = [
                variant
                for wanted in number.variants
                for variant in sorted((*names, *across), key=lambda name: name != wanted)  # the name before functions
                if wanted in (variant, function.get(variant)) and (variant not in free or number.metric in RECOGNISED)
            ]
        found += [(number, known[0])] if known else []
    return found


def headline_of(params: Params, benchmark: str, lookup: Lookup) -> list[HeadlineValue]:
    """Return the measured headline numbers of a model, the primary one first.

    They are those of the main parser, or of the first parser that has the metric.

    Parameters
    ----------
    params : Params
        The configuration.
    benchmark : str
    lookup : callable
        The model's metrics.

    Returns
    -------
    list of HeadlineValue
        In the declared order.
    """
    found = []
    for number, variant in numbers_of(params, benchmark):
        of_parsers = (lookup(variant, p, number.metric) for p in (main_parser(params.parsers), *params.parsers))
        metric = next((metric for metric in of_parsers if metric is not None), None)
        if metric is not None:
            found.append(HeadlineValue(number, variant, metric, unusable_of(params, benchmark, lookup, variant)))
    return found


def unusable_of(params: Params, benchmark: str, lookup: Lookup, variant: str) -> Unusable | None:
    """Return the unusable replies to a variant; of a combination of variants, to the one with the largest share.

    Without its right option, a question has an option to choose that is not offered. Such a reply is unparsed and not
    unusable, so that of these variants only cut and failed replies count.

    Parameters
    ----------
    params : Params
        The configuration.
    benchmark : str
    lookup : callable
        The model's metrics.
    variant : str

    Returns
    -------
    Unusable or None
        None if their share was not measured.
    """
    across = [*combinations(params, benchmark), *registry.get(benchmark).metrics().across_variants]
    parser, found = main_parser(params.parsers), []
    for part in next((each.variants for each in across if each.name == variant), (variant,)):
        chosen = part in params.variants(benchmark) and params.variant(part).function == _REMOVES_OPTIONS
        kinds = [outcome for outcome in UNUSABLE if not (chosen and outcome == UNPARSED)]
        measured = {outcome: lookup(part, parser, f"{SHARE}{outcome}") for outcome in kinds}
        shares = {name: (m.value, m.n) for name, m in measured.items() if m is not None and m.value is not None}
        if shares:
            counts = {name: round(share * n) for name, (share, n) in shares.items()}
            found.append(Unusable(part, max(n for _, n in shares.values()), sum(s for s, _ in shares.values()), counts))
    return max(found, key=lambda each: each.share, default=None)


def lookup_in(metrics: Iterable[Metric]) -> Lookup:
    """Return the lookup in metrics over all questions, one row each."""
    found = {(m.variant, m.parser, m.name): m for m in metrics}
    return lambda *key: found.get(key)


def leaderboard_rows(params: Params, model: str, benchmark: str, metrics: Iterable[Metric]) -> list[dict[str, Any]]:
    """Return the rows of the leaderboard of a model and a benchmark, one for each headline number.

    Parameters
    ----------
    params : Params
        The configuration.
    model, benchmark : str
    metrics : iterable of Metric
        Their metrics over all questions, one row each.

    Returns
    -------
    list of dict
        Values of `COLUMNS`.
    """
    rows = []
    for each in headline_of(params, benchmark, lookup_in(metrics)):
        number, metric, unusable = each.number, each.metric, each.unusable
        values: tuple[Any, ...] = (
            *(model, benchmark, number.name, number.label, number.metric, each.variant, metric.parser),
            *(*map(rounded, (metric.value, metric.low, metric.high)), metric.n, metric.method),
            *((rounded(unusable.share), unusable.replies) if unusable else (None, None)),
            caveat(params),
        )
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def by_benchmark(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float | None]]:
    """Return the values of a model's rows of the leaderboard, and the share of unusable replies of its primary one."""
    found: dict[str, dict[str, float | None]] = {}
    for row in rows:
        found.setdefault(row["benchmark"], {})[row["number"]] = row["value"]
    shares = {row["benchmark"]: row["unusable"] for row in reversed(rows)}
    return {benchmark: values | {"unusable": shares[benchmark]} for benchmark, values in found.items()}


def read_leaderboard(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a leaderboard in CSV. An empty cell is None."""
    with path.open(newline="", encoding="utf-8") as lines:
        rows: list[dict[str, Any]] = [
            {name: value or None for name, value in row.items()} for row in csv.DictReader(lines)
        ]
    kinds = dict.fromkeys(("value", "low", "high", "unusable"), float) | dict.fromkeys(("n", "unusable_replies"), int)
    return [row | {name: kind(row[name]) for name, kind in kinds.items() if row.get(name)} for row in rows]


def shows(metric: Metric, free: Collection[str]) -> bool:
    """Return whether a summary shows a metric: of variants without content, only the share that recognised it.

    Parameters
    ----------
    metric : Metric
    free : collection of str
        The variants without content.

    Returns
    -------
    bool
    """
    return metric.name in RECOGNISED or not set(free) & set(metric.variant.split(SEPARATOR))


def variant_headline(metrics: Iterable[Metric], parser: str, free: Collection[str]) -> dict[str, Metric]:
    """Return the headline metrics of one variant.

    Parameters
    ----------
    metrics : iterable of Metric
        The metrics of a model and a variant over all questions, of one seed or over seeds.
    parser : str
        The parser whose metrics have names without a prefix (``accuracy``). Of the others, only the accuracy is
        returned (``likelihood.accuracy``), and of those of `HEADLINE_PARSERS` the benchmark's own headline metrics.
    free : collection of str
        The variants without content (`shows`).

    Returns
    -------
    dict from str to Metric
        By name.
    """
    found, general = {}, set(HEADLINE_METRICS)
    for m in metrics:
        names = set(_headline_metrics(m.benchmark))
        if not shows(m, free):
            continue
        if m.parser == parser and m.name in names:
            found[m.name] = m
        elif m.parser != parser and m.name in ({"accuracy"} if m.parser not in HEADLINE_PARSERS else names - general):
            found[f"{m.parser}.{m.name}"] = m
    return found


def headline_rows(params: Params, metrics: Iterable[Metric]) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the columns and rows of the headline table: one row per model, benchmark, variant and parser.

    ``low``, ``high``, ``n`` and ``method`` are those of the accuracy. A pair of variants has rows of its own, with the
    dual accuracy and its interval in columns that begin with its name; the other columns are empty there.

    Parameters
    ----------
    params : Params
        The configuration.
    metrics : iterable of Metric
        The metrics of all models over all questions, one row each.

    Returns
    -------
    (list of str, list of dict)
    """
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    of_dual = (f"{_INTERVALS[DUAL]}{column}" for column in _OF_INTERVAL)
    columns = ["model", "benchmark", "variant", "parser", "accuracy", *_OF_INTERVAL, *HEADLINE_METRICS, *of_dual]
    free = {benchmark: content_free(params, benchmark) for benchmark in params.benchmarks}
    for metric in metrics:
        known = metric.parser in HEADLINE_PARSERS and metric.name in _headline_metrics(metric.benchmark)
        if not known or not shows(metric, free.get(metric.benchmark, ())):
            continue
        key = (metric.model, metric.benchmark, metric.variant, metric.parser)
        row = rows.setdefault(key, dict(zip(columns, key, strict=False)) | {"caveat": caveat(params)})
        row[metric.name] = rounded(metric.value)
        if (prefix := _INTERVALS.get(metric.name)) is not None:
            numbers = (rounded(metric.low), rounded(metric.high), metric.n, metric.method)
            row |= {prefix + column: number for column, number in zip(_OF_INTERVAL, numbers, strict=True)}
        elif metric.name not in columns:
            columns.append(metric.name)
    return [*columns, "caveat"], list(rows.values())


def _headline_metrics(benchmark: str) -> tuple[str, ...]:
    declared = registry.get(benchmark)
    own = (*declared.metrics().headline, *(number.metric for number in declared.headline))
    return tuple(dict.fromkeys(["accuracy", *HEADLINE_METRICS, *own]))


def rounded(value: Any) -> Any:
    """Return a number of a summary with six digits; other values as they are."""
    return round(value, _DIGITS) if isinstance(value, float) else value
