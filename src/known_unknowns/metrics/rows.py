"""Rows of the table of metrics: estimates with their intervals, and means over seeds and samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from known_unknowns.metrics.estimates import Estimates, mean_over_seeds
from known_unknowns.metrics.proportions import CHANCE, CONSTANT_ANSWER, LABEL_MASS
from known_unknowns.records import Metric, Repeat, repeats_name
from known_unknowns.tables.confidence_sources import FOLLOWS

UNPAIRED = "unpaired"
"""Share of the questions of any combined variant that another one lacks."""
ALWAYS_DEFINED = frozenset({CHANCE, CONSTANT_ANSWER, UNPAIRED, LABEL_MASS, FOLLOWS})
"""Metrics that do not depend on what the parser finds."""


def rows(
    blank: Metric, estimates: Mapping[Repeat, Mapping[str, Estimates]], confidence: float
) -> Iterator[tuple[Repeat | None, list[Metric]]]:
    """Yield the metrics of each category: those of each repeat, then the means over several seeds and samples.

    The interval of a mean covers questions, seeds and samples together. All answers to a question belong to its group,
    and the options of each question are shuffled, and its replies sampled, independently. The variance between the
    groups therefore contains both the variance between questions and what remains of the others in a mean over them.
    """
    for category in next(iter(estimates.values())):
        repeats = {repeat: found[category] for repeat, found in estimates.items()}
        for repeat, estimated in repeats.items():
            row = replace(blank, **repeat._asdict(), category=category)
            yield repeat, list(with_intervals(row, estimated, confidence))
        if len(repeats) > 1:
            mean = mean_over_seeds(list(repeats.values()))
            values = [[each.value[each.names.index(name)] for name in mean.names] for each in repeats.values()]
            spreads, suffix = np.std(values, axis=0, ddof=1).tolist(), f", mean of {repeats_name(repeats)}"
            row = replace(blank, category=category)
            yield None, list(with_intervals(row, mean, confidence, suffix=suffix, spreads=spreads))


def with_intervals(
    blank: Metric, estimated: Estimates, confidence: float, *, suffix: str = "", spreads: Sequence[float] | None = None
) -> Iterator[Metric]:
    """Yield the metrics with their intervals. NaN becomes None.

    ``suffix`` is added to the method of a defined interval.
    """
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
            reason=estimated.reason(name) if np.isnan(values[place]) else None,
        )


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else value


def without_undefined(metrics: Iterable[Metric], reasons: Mapping[Repeat, str]) -> list[Metric]:
    """Return the metrics, of which those whose parser is undefined have no values.

    ``reasons`` says why the parser is undefined in a repeat, or is "". A mean is undefined if it is in any of them.
    """
    of_mean = next((reason for reason in reasons.values() if reason), "")
    if not of_mean:
        return list(metrics)
    found = []
    for metric in metrics:
        reason = of_mean if metric.repeat is None else reasons[metric.repeat]
        if reason and metric.name not in ALWAYS_DEFINED:
            metric = metric.undefined(reason)
        found.append(metric)
    return found
