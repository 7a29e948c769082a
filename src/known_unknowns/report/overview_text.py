"""The sentences of the first screen: the best model, its distance from the others, and the range of guesses."""

from __future__ import annotations

from collections.abc import Callable

from known_unknowns.comparison.models import PairedRow
from known_unknowns.records import Metric
from known_unknowns.report.formatting import DASH, interval, percent
from known_unknowns.report.overview import NO_CONTENT, NO_RIGHT_OPTION, Overview
from known_unknowns.report.tables import ACCURACY

_NAMED = 3
"""Number of models that a sentence names."""


def sentences(overview: Overview) -> tuple[str, ...]:
    """Return three sentences with numbers, or one if there are only baselines."""
    if not overview.models:
        return (f"No model answered {overview.title}; the rows are scripted baselines.",)
    return _best(overview), _distance(overview), _guesses(overview)


def _best(overview: Overview) -> str:
    best = overview.models[0]
    metric = overview.leading(best)
    shown, n = _shown(metric), DASH if metric is None else f"{metric.n:,}"
    if overview.pair is None:
        accuracy = f"an accuracy of {shown} on {overview.title}"
        if overview.models[1:]:
            accuracy = f"the highest accuracy on {overview.title}: {shown}"
        return f"{best} has {accuracy}, n = {n}. {_without_pair(overview, best)}"
    what = f"answers {shown} of {n} {overview.title} questions correctly, and refuses them without their right option"
    if not overview.models[1:]:
        return f"{best} {what} (dual accuracy)."
    if not _is_distinguished(overview):
        return f"{best} has the highest dual accuracy{_equal(overview)}: it {what}."
    return f"{best} knows best what it does not know: it {what} (dual accuracy)."


def _without_pair(overview: Overview, best: str) -> str:
    """Return the number of the benchmark's own metric, or why there is no dual accuracy."""
    if overview.own_metric is None:
        return (
            "There is no dual accuracy: the questions have no refusal option, or were not asked without their right "
            "option."
        )
    name, label = overview.own_metric
    own = overview.number(best, overview.main, name)
    return f"The benchmark's own metric is {label}: {_shown(own)}, n = {DASH if own is None else f'{own.n:,}'}."


def _distance(overview: Overview) -> str:
    """Return whether the paired tests distinguish the best model from the others."""
    best, others = overview.models[0], overview.models[1:]
    if not others:
        count = len(overview.baselines)
        beside = f", beside {count} scripted baseline{'' if count == 1 else 's'}" if count else ""
        return f"It is the only model of this run{beside}."
    tests = _tests(overview)
    if not tests:
        return "The models were not compared with each other."
    same = _same(overview)
    closest = next(name for name in (*same, *others) if name in tests)
    test = _test(tests[closest], best)
    if len(same) > 1:
        names = ", ".join(same)
        if len(same) > _NAMED + 1:
            names = f"{', '.join(same[:_NAMED])} and {len(same) - _NAMED} more"
        return f"It cannot be distinguished from {len(same)} other models ({names}); {closest}: {test}."
    if same:
        return f"It cannot be distinguished from {closest}: {test}."
    number = len(tests)  # models without a number are not compared
    count = {1: "the other model", 2: "both other models"}.get(number, f"all {number} other models")
    if number < len(others):
        count = "the other model with this number" if number == 1 else f"all {number} other models with this number"
    return f"The paired tests distinguish it from {count}; {closest}: {test}."


def _tests(overview: Overview) -> dict[str, PairedRow]:
    """Return the paired tests of the best model by the other model."""
    best = overview.models[0]
    return {
        row.model_b if row.model_a == best else row.model_a: row
        for row in overview.tests
        if best in (row.model_a, row.model_b) and row.difference is not None
    }


def _same(overview: Overview) -> list[str]:
    """Return the models that the tests do not distinguish from the best one."""
    tests, level = _tests(overview), 1 - overview.run.confidence
    return [name for name in overview.models[1:] if name in tests and (tests[name].p_holm or 0.0) > level]


def _is_distinguished(overview: Overview) -> bool:
    """Return whether the tests distinguish the best model from every other model that has the number."""
    return bool(_tests(overview)) and not _same(overview)


def _equal(overview: Overview) -> str:
    """Name the models with the number of the best one."""
    best, *others = [(name, overview.leading(name)) for name in overview.models]
    equal = [name for name, metric in others if metric and best[1] and metric.value == best[1].value]
    return f", equal to that of {', '.join(equal)}" if equal else ""


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
    several = bool(overview.models[1:])
    if overview.unanswerable(NO_RIGHT_OPTION):
        share = _range(overview, overview.refused)
        parts.append(f"{'refuse' if several else 'refuses'} {share} of the questions without a right option")
    if overview.unanswerable(NO_CONTENT):
        share = _range(overview, overview.recognised)
        verb = "recognise" if several else "recognises"
        parts.append(f"{verb} that {share} of those without content in the image cannot be answered")
    if not parts:
        accuracy = _range(overview, lambda model: overview.number(model, overview.main, ACCURACY))
        chance = _shown(overview.run.chance(overview.models[0], overview.main))
        who = "The models answer" if several else "It answers"
        return f"{who} {accuracy} of the questions correctly; a uniform guess is right in {chance}."
    return f"{'The models' if several else 'It'} {' and '.join(parts)}."


def _range(overview: Overview, number: Callable[[str], Metric | None]) -> str:
    """Return the lowest and the highest number of all models."""
    metrics = (number(model) for model in overview.models)
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
