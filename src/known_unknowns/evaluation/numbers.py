"""The numbers of a trial: which metrics they are, and their text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from known_unknowns.benchmark.headline import DUAL
from known_unknowns.evaluation.trial import CHANGED
from known_unknowns.metrics.dual import SEPARATOR
from known_unknowns.metrics.summary import main_parser
from known_unknowns.records import OVERALL, UNUSABLE, Metric
from known_unknowns.tables.aligned_text import align

_OF_BOTH = (("abstained", "share_abstained"), *((name, f"share_{name}") for name in UNUSABLE))
CLASSES = frozenset(label for label, _ in _OF_BOTH)
"""The names of the shares of replies that choose no option."""


@dataclass(frozen=True, slots=True)
class Number:
    """A metric with the name and the variant that a summary shows."""

    name: str
    variant: str
    metric: Metric


def numbers_of(metrics: Sequence[Metric], variants: Sequence[str]) -> list[Number]:
    """Return the numbers of a trial: accuracies, abstention and unusable replies, by the parser that compares models.

    ``metrics`` is the table of a model and a benchmark; ``variants`` are the main one, then `CHANGED` if it was asked.
    """
    overall = [metric for metric in metrics if metric.category == OVERALL and metric.seed is not None]
    parser = main_parser(dict.fromkeys(metric.parser for metric in overall))
    found = {(metric.variant, metric.name): metric for metric in overall if metric.parser == parser}
    main = variants[0]
    wanted = [
        ("accuracy", main, "accuracy"),
        (DUAL.label, f"{main}{SEPARATOR}{CHANGED}", DUAL.metric),
        ("refused", CHANGED, "recognised_refused"),
        *((label, variant, name) for variant in variants for label, name in _OF_BOTH),
    ]
    return [Number(label, variant, found[variant, name]) for label, variant, name in wanted if (variant, name) in found]


def table(numbers: Sequence[Number]) -> str:
    """Return the numbers as lines of text: value, interval, n, the denominator if it differs, and variant."""
    rows = [("", "value", "interval", "n", "variant")]
    for each in numbers:
        metric = each.metric
        rows.append((each.name, percent(metric.value), interval(metric), count(metric), each.variant))
    return "\n".join(align(rows, right={1, 3}))


def percent(value: float | None) -> str:
    """Return a share in percent; a dash if it is undefined."""
    return "-" if value is None else f"{100 * value:.1f}%"


def count(metric: Metric) -> str:
    """Return the number of questions, and the denominator of the share if it is another number."""
    if metric.denominator is None or metric.denominator == metric.n:
        return f"{metric.n:,}"
    return f"{metric.n:,}, denominator {metric.denominator:,.1f}".removesuffix(".0")


def interval(metric: Metric) -> str:
    """Return the interval of a share in percent; a dash if there is none."""
    if metric.low is None or metric.high is None:
        return "-"
    return f"{100 * metric.low:.1f} to {100 * metric.high:.1f}"


def method(numbers: Sequence[Number], confidence: float) -> str:
    """Return the sentence on the intervals of the numbers."""
    methods = dict.fromkeys(each.metric.method for each in numbers if each.metric.low is not None)
    parser = numbers[0].metric.parser if numbers else ""
    return f"Intervals: {100 * confidence:g}% ({'; '.join(methods)}). Parser: {parser}."


def caveat(asked: int, total: int, *, rendered: bool) -> str:
    """Return why the numbers cannot be compared with published ones; empty if they can."""
    reasons = []
    if asked < total:
        reasons.append(f"a sample of {asked:,} of {total:,} questions")
    if rendered:
        reasons.append("rendered questions, not the published ones")
    return f"Not comparable with published numbers: {'; '.join(reasons)}." if reasons else ""
