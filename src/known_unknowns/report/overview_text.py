"""The sentences of the first screen: the best model, its distance from the others, and the range of guesses."""

from __future__ import annotations

from collections.abc import Sequence

from known_unknowns.benchmark.headline import HeadlineNumber
from known_unknowns.comparison.pairs import PairedRow
from known_unknowns.records import Metric
from known_unknowns.report.formatting import DASH, interval, percent
from known_unknowns.report.overview import Overview
from known_unknowns.report.tables import ACCURACY

_NAMED = 3
"""Number of models that a sentence names."""


def sentences(overview: Overview) -> tuple[str, ...]:
    """Return three sentences with numbers, or fewer if no model can be compared."""
    if not overview.models:
        return (f"No model answered {overview.title}; the rows are scripted baselines.",)
    if not overview.ranked:
        return (f"No model is ranked on {overview.title}: too many of their replies are unusable.",)
    best = overview.leading(overview.ranked[0])
    if overview.primary is None or best is None or best.value is None:
        return (f"No ranked model has a number on {overview.title} that models are sorted by.",)
    return tuple(filter(None, [_best(overview), _distance(overview), _guesses(overview)]))


def _highest(overview: Overview) -> list[str]:
    """Return the models with the best number."""
    best = overview.leading(overview.ranked[0])
    equal = [name for name in overview.ranked[1:] if best and (m := overview.leading(name)) and m.value == best.value]
    return [overview.ranked[0], *equal]


def _best(overview: Overview) -> str:
    best, *equal = _highest(overview)
    number, metric = overview.primary, overview.leading(best)
    label = number.label if number else ""
    shown, n = _shown(metric), DASH if metric is None else f"{metric.n:,}"
    if equal:
        return f"{_listed([best, *equal])} have the same {label} on {overview.title}: {shown}, n = {n}."
    what = f"answers {shown} of {n} {overview.title} questions correctly, and refuses them without their right option"
    if overview.pair is None or not (metric and metric.value):
        kind = "lowest" if number and number.lower_is_better else "highest"
        several = overview.ranked[1:] and metric and metric.value
        if several:
            return f"{best} has the {kind} {label} on {overview.title}: {shown}, n = {n}."
        return f"{best} has {'an' if label[:1] in 'aeiou' else 'a'} {label} of {shown} on {overview.title}, n = {n}."
    if not overview.ranked[1:]:
        return f"{best} {what} ({label})."
    if not _is_distinguished(overview):
        return f"{best} has the highest {label}: it {what}."
    return f"{best} knows best what it does not know: it {what} ({label})."


def _distance(overview: Overview) -> str:
    """Return whether the paired tests distinguish the best model from the others."""
    best, others = overview.ranked[0], overview.ranked[1:]
    it = best if _highest(overview)[1:] else "It"
    if not others:
        excluded = overview.models[1:]
        count = len(overview.baselines)
        beside = f", beside {count} scripted baseline{'' if count == 1 else 's'}" if count else ""
        return f"It is the only model of this run{' with usable replies' if excluded else ''}{beside}."
    if overview.tested != overview.primary:
        return "There is no paired test of this number."
    tests = _tests(overview)
    if not tests:
        return "The models were not compared with each other."
    same = _same(overview)
    closest = next(name for name in (*same, *others) if name in tests)
    test = _test(tests[closest], best)
    if len(same) > 1:
        return f"{it} cannot be distinguished from {len(same)} other models ({_listed(same)}); {closest}: {test}."
    if same:
        return f"{it} cannot be distinguished from {closest}: {test}."
    number = len(tests)  # models without a number are not compared
    count = {1: "the other model", 2: "both other models"}.get(number, f"all {number} other models")
    if number < len(others):
        count = "the other model with this number" if number == 1 else f"all {number} other models with this number"
    return f"The paired tests distinguish it from {count}; {closest}: {test}."


def _listed(names: Sequence[str]) -> str:
    """Name models, the first ones of a long list: "a, b, c and 2 more"."""
    if len(names) > _NAMED + 1:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return ", ".join(names)


def _tests(overview: Overview) -> dict[str, PairedRow]:
    """Return the paired tests of the best model by the other model."""
    best = overview.ranked[0]
    return {
        row.model_b if row.model_a == best else row.model_a: row
        for row in overview.tests
        if best in (row.model_a, row.model_b) and row.difference is not None
    }


def _same(overview: Overview) -> list[str]:
    """Return the models that the tests do not distinguish from the best one."""
    tests, level = _tests(overview), 1 - overview.run.confidence
    return [name for name in overview.ranked[1:] if name in tests and (tests[name].p_holm or 0.0) > level]


def _is_distinguished(overview: Overview) -> bool:
    """Return whether the tests distinguish the best model from every other model that has the number."""
    return bool(_tests(overview)) and not _same(overview)


def _test(row: PairedRow, best: str) -> str:
    """Return a difference as text: "+3.0 [+0.8, +5.3] points, p = 0.0210 (Holm, 3 pairs)"."""
    sign = 1 if row.model_a == best else -1
    bounds = ""
    if row.low is not None and row.high is not None:
        low, high = sorted((sign * row.low, sign * row.high))
        bounds = f" [{percent(low, signed=True)}, {percent(high, signed=True)}]"
    p = row.p_holm or 0.0
    corrected = "" if row.pairs == 1 else f" (Holm, {row.pairs} pairs)"
    value = "< 0.0001" if p < 0.0001 else f"= {p:.4f}"
    return f"{percent(sign * (row.difference or 0.0), signed=True)}{bounds} points, p {value}{corrected}"


def _guesses(overview: Overview) -> str:
    parts = []
    several = bool(overview.ranked[1:])
    if refused := overview.named("refused"):
        parts.append(
            f"{'refuse' if several else 'refuses'} {_range(overview, refused)} of the questions without a right option"
        )
    if recognised := overview.named("recognised"):
        verb = "recognise" if several else "recognises"
        share, of = _range(overview, recognised), "those" if refused else "the questions"
        parts.append(f"{verb} that {share} of {of} without content in the image cannot be answered")
    if parts:
        return f"{'The models' if several else 'It'} {' and '.join(parts)}."
    if overview.primary is None or overview.primary.metric != ACCURACY:
        return ""
    accuracy = _range(overview, overview.primary)
    chance = _shown(overview.run.chance(overview.ranked[0], overview.numbers[overview.primary]))
    who = "The models answer" if several else "It answers"
    return f"{who} {accuracy} of the questions correctly; a uniform guess is right in {chance}."


def _range(overview: Overview, number: HeadlineNumber) -> str:
    """Return the lowest and the highest number of all ranked models."""
    metrics = (overview.value(model, number) for model in overview.ranked)
    values = [metric.value for metric in metrics if metric is not None and metric.value is not None]
    if not values:
        return DASH
    shown = dict.fromkeys(percent(value) for value in (min(values), max(values)))
    return f"{' to '.join(shown)}%"


def _shown(metric: Metric | None) -> str:
    """Return a metric as text: "72.2% [67.0, 77.4]"."""
    if metric is None or metric.value is None:
        return DASH
    bounds = interval(metric.low, metric.high)
    return f"{percent(metric.value)}%{' ' if bounds else ''}{bounds}"
