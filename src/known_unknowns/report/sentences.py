"""The sentences of the first screen: which model is best, whether the tests distinguish it, and how often models guess.

The template ``sentences.txt.j2`` has their words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from known_unknowns.benchmark.headline import HeadlineNumber
from known_unknowns.comparison.paired_rows import PairedRow
from known_unknowns.records import Metric
from known_unknowns.report.formatting import DASH, counted, interval, percent
from known_unknowns.report.overview import Overview
from known_unknowns.report.tables import ACCURACY

_LISTED = 4
"""The largest number of models that are all named."""


@dataclass(frozen=True)
class Facts:
    """What the sentences say of one benchmark. Numbers are texts, empty if they were not measured.

    Attributes
    ----------
    title : str
        The benchmark.
    models, ranked : sequence of str
        All models, and those without too many unusable replies, the best one first.
    baselines : int
        The number of scripted baselines.
    label, number, n : str
        The number that models are sorted by, that of the best model, and of how many questions.
    is_dual, is_zero, lower_is_better : bool
        Whether it is a dual accuracy, is 0, and is better if it is lower.
    equal : sequence of str
        The models with the best number, the best one included.
    is_tested : bool
        Whether models are compared by this number.
    tests : int
        With how many models the best one was compared.
    same : sequence of str
        The models from which the tests do not distinguish it.
    closest, difference : str
        The first of them, or the next best model, and the difference to it with its test.
    refused, recognised, right : str
        Ranges over the ranked models: refused without a right option, recognised without content, and right.
    chance : str
        How often a uniform guess is right.
    """

    title: str
    models: Sequence[str]
    ranked: Sequence[str]
    baselines: int
    label: str = ""
    number: str = ""
    n: str = ""
    is_dual: bool = False
    is_zero: bool = False
    lower_is_better: bool = False
    equal: Sequence[str] = ()
    is_tested: bool = False
    tests: int = 0
    same: Sequence[str] = ()
    closest: str = ""
    difference: str = ""
    refused: str = ""
    recognised: str = ""
    right: str = ""
    chance: str = ""

    @property
    def best(self) -> str:
        return self.ranked[0]


def sentences(overview: Overview) -> tuple[str, ...]:
    """Return three sentences with numbers, or fewer if no model can be compared."""
    facts, macros = facts_of(overview), module()
    found = [macros.first(facts)]
    if facts.number:
        found += [macros.distance(facts), macros.guesses(facts)]
    return tuple(filter(None, found))


def facts_of(overview: Overview) -> Facts:
    """Return what the sentences say of a benchmark."""
    facts = Facts(overview.title, overview.models, overview.ranked, len(overview.baselines))
    best = overview.leading(overview.ranked[0]) if overview.ranked else None
    if overview.primary is None or best is None or best.value is None:
        return facts
    number = overview.primary
    tests = _tests_of(overview, overview.ranked[0])
    level = 1 - overview.run.confidence
    same = [name for name in overview.ranked[1:] if name in tests and (tests[name].p_holm or 0.0) > level]
    closest = next((name for name in (*same, *overview.ranked[1:]) if name in tests), "")
    return Facts(
        title=overview.title,
        models=overview.models,
        ranked=overview.ranked,
        baselines=len(overview.baselines),
        label=number.label,
        number=_shown(best),
        n=f"{best.n if best.denominator is None else best.denominator:,.0f}",
        is_dual=overview.pair is not None and best.value > 0,
        is_zero=best.value == 0,
        lower_is_better=number.lower_is_better,
        equal=[name for name in overview.ranked if (m := overview.leading(name)) and m.value == best.value],
        is_tested=overview.tested == overview.primary,
        tests=len(tests),
        same=same if overview.tested == overview.primary else [],
        closest=closest,
        difference=_difference(tests[closest], overview.ranked[0]) if closest else "",
        refused=_range(overview, overview.named("refused")),
        recognised=_range(overview, overview.named("recognised")),
        right=_range(overview, number) if number.metric == ACCURACY else "",
        chance=_shown(overview.run.chance(overview.ranked[0], overview.numbers[number])),
    )


def _tests_of(overview: Overview, model: str) -> Mapping[str, PairedRow]:
    """The paired tests of a model, by the other one."""
    rows = [row for row in overview.tests if model in (row.model_a, row.model_b) and row.difference is not None]
    return {row.model_b if row.model_a == model else row.model_a: row for row in rows}


def _difference(row: PairedRow, best: str) -> str:
    """Return a difference as text: "+3.0 [+0.8, +5.3] points, p = 0.0210 (Holm, 3 pairs)"."""
    sign = 1 if row.model_a == best else -1
    bounds = ""
    if row.low is not None and row.high is not None:
        bounds = " " + interval(*sorted((sign * row.low, sign * row.high)), signed=True)
    p = row.p_holm or 0.0
    corrected = "" if row.pairs == 1 else f" (Holm, {row.pairs} pairs)"
    value = "< 0.0001" if p < 0.0001 else f"= {p:.4f}"
    return f"{percent(sign * (row.difference or 0.0), signed=True)}{bounds} points, p {value}{corrected}"


def _range(overview: Overview, number: HeadlineNumber | None) -> str:
    """Return the lowest and the highest number of all ranked models; empty if none has it."""
    if number is None:
        return ""
    metrics = (overview.value(model, number) for model in overview.ranked)
    values = [metric.value for metric in metrics if metric is not None and metric.value is not None]
    if not values:
        return DASH
    return f"{' to '.join(dict.fromkeys(percent(value) for value in (min(values), max(values))))}%"


def _shown(metric: Metric | None) -> str:
    """Return a metric as text: "72.2% [67.0, 77.4]"."""
    if metric is None or metric.value is None:
        return DASH
    return f"{percent(metric.value)}% {interval(metric.low, metric.high)}".rstrip()


def _listed(names: Sequence[str]) -> str:
    """Name models, the first three of a long list: "a, b, c and 2 more"."""
    return ", ".join(names) if len(names) <= _LISTED else f"{', '.join(names[:3])} and {len(names) - 3} more"


@cache
def module() -> Any:
    """Return the macros of the template, which give text: the pages escape it."""
    folder = Path(__file__).parent / "templates"
    environment = Environment(  # noqa: S701 -- plain text
        loader=FileSystemLoader(folder), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"listed": _listed, "counted": counted}
    return environment.get_template("sentences.txt.j2").module
