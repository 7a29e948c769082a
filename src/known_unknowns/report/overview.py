"""The first screen: which model knows best what it does not know. Its tables; `overview_text` has its sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.headline import HeadlineNumber
from known_unknowns.comparison import UNJUDGED, ComparisonRow
from known_unknowns.comparison.pairs import PairedRow, correct_for_pairs
from known_unknowns.comparison.summary import leading_rows
from known_unknowns.config import catalogue
from known_unknowns.metrics import dual
from known_unknowns.metrics.summary import HeadlineValue, Unusable, headline_of, numbers_of
from known_unknowns.records import Metric
from known_unknowns.report.formatting import DASH, Cell, Head, Row, Table, metric_cell, move_n_to_heading, sentence_case
from known_unknowns.report.shell import QUESTIONS
from known_unknowns.report.tables import ACCURACY, Run, confidence

if TYPE_CHECKING:
    from known_unknowns.config.models import Card

_TESTED = (ACCURACY, dual.DUAL)
"""Metrics by which models are compared in pairs."""


@dataclass(frozen=True)
class Overview:
    """What the first screen reads of one benchmark.

    Attributes
    ----------
    run : Run
        The measured run.
    compared : sequence of ComparisonRow
        The verdicts of the benchmark.
    pairs : sequence of PairedRow
        Pairs of models of the benchmark; empty if models were not compared.
    """

    run: Run
    compared: Sequence[ComparisonRow]
    pairs: Sequence[PairedRow]

    @property
    def title(self) -> str:
        return self.run.section.title

    @cached_property
    def baselines(self) -> tuple[str, ...]:
        """The scripted respondents."""
        return self.run.baselines

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The models from best to worst by the primary number. Those with too many unusable replies come last."""
        return self.sorted(name for name in self.run.models if name not in self.baselines)

    @cached_property
    def ranked(self) -> tuple[str, ...]:
        """The models without too many unusable replies."""
        return tuple(name for name in self.models if not self.is_excluded(name))

    def is_excluded(self, model: str) -> bool:
        """Return whether a model has too many unusable replies to be ranked and tested."""
        found = self.unusable(model)
        return found is not None and found.excludes

    def sorted(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return models from best to worst; those without a number come last."""
        sign = 1 if self.primary and self.primary.lower_is_better else -1

        def order(name: str) -> tuple[bool, bool, float]:
            metric = self.leading(name)
            return (
                self.is_excluded(name),
                metric is None or metric.value is None,
                sign * (metric.value or 0.0) if metric else 0.0,
            )

        return tuple(sorted(names, key=order))

    @cached_property
    def values(self) -> Mapping[str, Mapping[HeadlineNumber, HeadlineValue]]:
        """The headline numbers of each model."""
        return {
            model: {v.number: v for v in headline_of(self.run.params, self.run.benchmark, partial(self.run.get, model))}
            for model in self.run.models
        }

    @cached_property
    def numbers(self) -> Mapping[HeadlineNumber, str]:
        """The headline numbers that any model has, the primary one first, and the variant of each."""
        known = dict(numbers_of(self.run.params, self.run.benchmark))
        defined = [v.number for each in self.values.values() for v in each.values() if v.metric.value is not None]
        return {number: variant for number, variant in known.items() if number in defined}

    @cached_property
    def primary(self) -> HeadlineNumber | None:
        """The number that models are sorted by; None if no such number was measured."""
        return next((number for number in self.numbers if number.ranks), None)

    @cached_property
    def tested(self) -> HeadlineNumber | None:
        """The first number by which models are compared in pairs."""
        return next((number for number in self.numbers if number.ranks and number.metric in _TESTED), None)

    @cached_property
    def pair(self) -> str | None:
        """The pair of variants of the primary number; None if it is of one variant."""
        return self.numbers[self.primary] if self.primary and self.primary.metric == dual.DUAL else None

    @cached_property
    def main(self) -> str:
        """The first variant of the primary number; empty if nothing was measured."""
        return self.numbers[self.primary].split(dual.SEPARATOR)[0] if self.primary else ""

    def number(self, model: str, variant: str, name: str) -> Metric | None:
        """Return a metric under the main parser."""
        return self.run.get(model, variant, self.run.main_parser, name)

    def value(self, model: str, number: HeadlineNumber | None) -> Metric | None:
        """Return a headline number of a model."""
        found = self.values[model].get(number) if number else None
        return found.metric if found else None

    def named(self, name: str) -> HeadlineNumber | None:
        """Return the headline number of this name."""
        return next((number for number in self.numbers if number.name == name), None)

    def leading(self, model: str) -> Metric | None:
        """Return the number that models are sorted by."""
        return self.value(model, self.primary)

    def unusable(self, model: str) -> Unusable | None:
        """Return the unusable replies of the primary number."""
        found = self.values[model].get(self.primary) if self.primary else None
        return found.unusable if found else None

    @cached_property
    def tests(self) -> tuple[PairedRow, ...]:
        """The pairs of ranked models by the number `tested`, corrected for these pairs."""
        wanted = (self.numbers[self.tested] if self.tested else "", self.run.main_parser)
        rows = [
            row
            for row in self.pairs
            if (row.variant_a, row.parser_a) == wanted and {row.model_a, row.model_b} <= set(self.ranked)
        ]
        return tuple(correct_for_pairs(rows, confidence=self.run.confidence)) if rows else ()

    @cached_property
    def ranks(self) -> Mapping[str, tuple[int, int]]:
        """The best and worst rank of each model."""
        sides = [(row.model_a, row.rank_a_low, row.rank_a_high) for row in self.tests]
        sides += [(row.model_b, row.rank_b_low, row.rank_b_high) for row in self.tests]
        return {name: (low, high) for name, low, high in sides}

    def verdicts(self, model: str) -> tuple[Mapping[str, int], str]:
        """Return the verdicts of a model by kind, or none and the reason."""
        rows = [row for row in leading_rows(self.compared) if row.model == model]
        judged = Counter(row.verdict for row in rows if row.verdict not in UNJUDGED)
        if judged:
            return judged, ""
        if self.run.is_rendered:
            return {}, "the questions are rendered, so that no published number is comparable"
        if not self.compared:
            return {}, "the benchmark has no published numbers"
        return {}, rows[0].reason if rows else "no published row stands for the model"

    def link(self, model: str, variant: str, **filters: str) -> str:
        """Return the address of a model's replies in the question browser."""
        values = {"benchmark": self.run.benchmark, "model": model, "variant": variant, **filters}
        return f"{QUESTIONS}#{urlencode(values)}"


def table(overview: Overview) -> tuple[Table, Mapping[str, str]]:
    """Return the table of models, best first and baselines last, and the reasons of the columns that are undefined."""
    run, numbers = overview.run, list(overview.numbers)
    undefined = _undefined(overview)
    heads = [Head(number.label, note=_note(overview, number)) for number in numbers]
    heads.insert(1, Head("unusable", note="unparsed, cut, failed"))
    tested = f"by {overview.tested.label}" if overview.tested and overview.tested != overview.primary else ""
    judged = any(overview.verdicts(model)[0] for model in overview.models)
    if overview.ranks:
        heads.insert(0, Head("rank", note=tested))
    if judged:
        heads.append(Head("verdicts", note="published numbers"))
    rows: list[Row] = []
    for model, kind in _order([overview]).items():
        cells = [_short(overview.value(model, number)) for number in numbers]
        cells.insert(1, _unusable(overview, model))
        cells = [*([_rank(overview, model)] if overview.ranks else []), *cells]
        rows.append(Row((Head(model, note=kind),), (*cells, *([_verdicts(overview, model)] if judged else [])), kind))
    counted, counted_rows = move_n_to_heading(heads, rows)
    heads = [
        replace(new, note=", ".join(dict.fromkeys(filter(None, [old.note, new.note]))))
        for old, new in zip(heads, counted, strict=True)
    ]
    caption = f"{overview.title}: percent of questions with {confidence(run)} intervals, {run.main_parser} parser"
    if overview.primary:
        caption += f", sorted by {overview.primary.label}"
    return Table(caption, ("Model",), tuple(heads), counted_rows), undefined


def matrix(overviews: Sequence[Overview]) -> Table | None:
    """Return the primary number of every model on every benchmark, with what the catalogue knows of the models.

    None if there is one benchmark only, and the catalogue has none of its models.
    """
    models = _order(overviews)
    cards = {name: card for name in models for o in overviews if (card := _card(o, name)) is not None}
    if len(overviews) < 2 and not cards:
        return None
    heads = [Head(o.title, note=o.primary.label if o.primary else "", verbatim=True) for o in overviews]
    rows: Sequence[Row] = [
        Row((Head(name, note=kind),), tuple(_linked(overview, name) for overview in overviews), kind)
        for name, kind in models.items()
    ]
    counted, rows = move_n_to_heading(heads, rows)
    heads = [
        replace(h, note=", ".join(filter(None, [h.note, c.note * (c != h)])))
        for h, c in zip(heads, counted, strict=True)
    ]
    if cards:
        heads += [Head("parameters", note="billions"), Head("family"), Head("licence")]
        rows = [replace(row, cells=(*row.cells, *_facts(cards.get(row.heads[0].text)))) for row in rows]
    first = next((o for o in overviews if o.primary), overviews[0])
    caption = f"Headline number of each benchmark in percent, with {confidence(first.run)} intervals"
    if first.primary:
        caption += f", sorted by {first.primary.label} on {first.title}"
    return Table(caption, ("Model",), tuple(heads), tuple(rows))


def _order(overviews: Sequence[Overview]) -> dict[str, str]:
    """Return the models, as the first benchmark that has each sorts them, and then the baselines; and their kinds."""
    names = {name: "" for overview in overviews for name in overview.models}
    return names | {name: "baseline" for o in overviews for name in o.sorted(o.baselines)}


def _undefined(overview: Overview) -> Mapping[str, str]:
    """Return the declared numbers and other columns that are not shown, and why."""
    run, known = overview.run, dict(numbers_of(overview.run.params, overview.run.benchmark))
    found = {}
    for number in registry.get(run.benchmark).headline:
        if number not in overview.numbers:
            measured = [each[number].metric for each in overview.values.values() if number in each]
            why = "undefined for these questions" if number in known else "the variant was not run"
            found[sentence_case(number.label)] = measured[0].method if measured else why
    if not overview.ranks:
        found["Rank"] = "fewer than two models are compared" if overview.tested else "no paired test of these numbers"
    if not any(overview.verdicts(model)[0] for model in overview.models):
        found["Verdicts"] = overview.verdicts(next(iter((*overview.models, *overview.baselines)), ""))[1]
    return found


def _note(overview: Overview, number: HeadlineNumber) -> str:
    section, variant = overview.run.section, overview.numbers[number]
    parsers = {value.metric.parser for each in overview.values.values() if (value := each.get(number))}
    parts = [" and ".join(map(section.name, variant.split(dual.SEPARATOR)))]
    parts += ["lower is better"] if number.lower_is_better else []
    parts += [f"{', '.join(sorted(parsers))} parser"] if parsers != {overview.run.main_parser} else []
    return ", ".join(parts)


def _short(metric: Metric | None) -> Cell:
    """Return a cell with the interval below the value."""
    return replace(metric_cell(metric), kind="number stacked", denominator="")


def _linked(overview: Overview, model: str) -> Cell:
    """Return the primary number of a model, linked to its questions."""
    if model not in overview.run.models or overview.leading(model) is None:
        return Cell(DASH, title="not measured")
    found = overview.unusable(model)
    note = f"{found.share:.1%} unusable" if found and found.excludes else ""
    return replace(_short(overview.leading(model)), link=overview.link(model, overview.main), note=note)


def _unusable(overview: Overview, model: str) -> Cell:
    found = overview.unusable(model)
    if found is None:
        return Cell(DASH, title="not measured")
    link = overview.link(model, found.variant, outcome="unusable") if found.replies else ""
    return Cell(f"{100 * found.share:.1f}", n=found.n, title=found.text(), link=link, kind="number stacked")


def _facts(card: Card | None) -> tuple[Cell, Cell, Cell]:
    if card is None:
        return (Cell(DASH), Cell(DASH), Cell(DASH))
    size = DASH if card.parameters is None else f"{card.parameters:g}"
    return Cell(size, kind="plain"), Cell(card.family, kind="text"), Cell(card.licence, kind="text")


def _card(overview: Overview, model: str) -> Card | None:
    """Return the catalogue's facts about a model: its own, or those of the model that has the same published row."""
    params = overview.run.params
    entry = params.model(model)
    row = params.published(model, overview.run.benchmark)
    known = [entry, *(e for e in catalogue.models().values() if row and e.published_row(overview.run.benchmark) == row)]
    return next((card for each in known if (card := getattr(each, "card", None))), None)


def _rank(overview: Overview, model: str) -> Cell:
    if model in overview.baselines:
        return Cell(DASH, title="a scripted baseline has no rank")
    if overview.is_excluded(model):
        return Cell(DASH, title="too many unusable replies")
    if model not in overview.ranks:
        return Cell(DASH, title="fewer than two models were compared")
    low, high = overview.ranks[model]
    title = f"interval of the rank among {len(overview.ranks)} models, from all paired tests together"
    return Cell(str(low) if low == high else f"{low}\u2013{high}", title=title)


def _verdicts(overview: Overview, model: str) -> Cell:
    found, reason = overview.verdicts(model)
    text = ", ".join(f"{number} {verdict}" for verdict, number in found.items())
    return Cell(text or DASH, title=reason, kind="plain" if found else "number")
