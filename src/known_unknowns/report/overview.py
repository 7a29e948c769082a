"""The first screen: which model knows best what it does not know. Its tables, its sentences and its figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from known_unknowns.benchmark import caveats, registry
from known_unknowns.benchmark.headline import HeadlineNumber
from known_unknowns.comparison import UNJUDGED, VERDICT, ComparisonRow
from known_unknowns.comparison.paired_rows import RANK, PairedRow, rank_series
from known_unknowns.comparison.published import load
from known_unknowns.comparison.summary import leading_rows
from known_unknowns.config import RespondentModel, catalogue
from known_unknowns.config.models import Card
from known_unknowns.metrics import dual, unusable_replies
from known_unknowns.metrics.proportions import RECOGNISED
from known_unknowns.metrics.run import Run
from known_unknowns.metrics.summary import HeadlineValue, definition_of, headline_of, numbers_of
from known_unknowns.metrics.unusable_replies import Unusable
from known_unknowns.records import Definition, Metric
from known_unknowns.report import charts
from known_unknowns.report import confidence as confidences
from known_unknowns.report.charts import Axis, Coordinate, Dot, Point
from known_unknowns.report.drawing import Figure, figure, placeholder
from known_unknowns.report.figures import kind, own_models, published_values
from known_unknowns.report.formatting import (
    DASH,
    Cell,
    Head,
    Row,
    Table,
    counted,
    metric_cell,
    move_n_to_heading,
    sentence_case,
    unbroken,
)
from known_unknowns.report.shell import QUESTIONS
from known_unknowns.report.tables import ACCURACY, confidence
from known_unknowns.report.verdict_tables import link_to_verdict
from known_unknowns.variants.of_benchmark import removes_options

if TYPE_CHECKING:
    from known_unknowns.config import Params

_TESTED = (ACCURACY, dual.ANSWERABLE)
"""Metrics by which models are compared in pairs."""
_COUNTED = {ACCURACY: "right", **dict(zip(RECOGNISED, ("recognised", "refused", "abstained"), strict=True))}
"""Outcomes that a metric counts, as the question browser names them."""
_BEHAVIOURS = {
    "oracle": "always answers correctly",
    "always_refuse": "always refuses",
    "always_a": "always chooses the first label",
    "uniform": "guesses uniformly",
    "calibrated": "is right as often as its confidence says",
    "overconfident": "is right 25 points less often than its confidence says",
    "uninformative": "is right half of the time, whatever its confidence",
}
"""What scripted respondents do, by their behaviour."""


_MODEL = Head(
    "Model",
    definition=Definition("An entry of models in params.yaml; scripted baselines are grey.", "docs/concepts.md"),
)


def _fact(name: str, note: str = "") -> Head:
    """Return the heading of a fact that the catalogue knows of a model, with the first sentence of its description."""
    sentence, *_ = (Card.model_fields[name].description or "").split(". ")
    return Head(name, note=note, definition=Definition(f"{sentence.rstrip('.')}.", "docs/models.md#adding-a-model"))


_FACTS = (_fact("parameters", "billions"), _fact("family"), _fact("licence"))
"""The columns of `_facts`."""


@dataclass(frozen=True)
class Overview:
    """What the first screen reads of one benchmark: the run, its verdicts, and its pairs of models, if compared."""

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
        return self.numbers[self.primary] if self.primary and self.primary.metric == dual.ANSWERABLE else None

    @cached_property
    def main(self) -> str:
        """The first variant of the primary number; empty if nothing was measured."""
        return self.numbers[self.primary].split(dual.SEPARATOR)[0] if self.primary else ""

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
        """The pairs of ranked models by the number `tested`, with the p-values of model_comparison.parquet.

        These are corrected for all pairs of models. The ranks are those among the ranked models.
        """
        wanted = (self.numbers[self.tested] if self.tested else "", self.run.main_parser)
        rows = [
            row
            for row in self.pairs
            if (row.variant_a, row.parser_a) == wanted and {row.model_a, row.model_b} <= set(self.ranked)
        ]
        return tuple(rank_series(rows, confidence=self.run.confidence)) if rows else ()

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

    def link_to_counted(self, model: str, number: HeadlineNumber) -> str:
        """Return the address of the replies that a headline number counts.

        Those to all questions if it counts none, or if the question browser has no filter for the metric.
        """
        metric = self.value(model, number)
        variant = self.numbers[number]
        if metric is None or metric.value is None:
            return ""
        filters = {} if metric.parser == self.run.main_parser else {"parser": metric.parser}
        if not metric.value:
            return self.link(model, self.main, **filters)
        if number.metric == dual.ANSWERABLE:
            return self.link(model, variant.split(dual.SEPARATOR)[1], relation=variant, **filters)
        if variant in self.run.variants and number.metric in _COUNTED:
            return self.link(model, variant, outcome=_COUNTED[number.metric], **filters)
        return self.link(model, self.main, **filters)


def baselines_in_words(params: Params) -> list[tuple[list[str], str]]:
    """Return the scripted respondents of an edition, and what they do."""
    named: dict[str, list[str]] = {}
    for name in params.models:
        entry = None if params.is_imported(name) else params.model(name)
        if isinstance(entry, RespondentModel):
            named.setdefault(entry.behaviour, []).append(name)
    return [(names, _BEHAVIOURS[behaviour]) for behaviour, names in named.items()]


def table(overview: Overview) -> tuple[Table, Mapping[str, str]]:
    """Return the table of models, best first and baselines last, and the reasons of the columns that are undefined."""
    run, numbers = overview.run, list(overview.numbers)
    has_verdicts = any(overview.verdicts(model)[0] for model in overview.models)
    heads = [Head(number.label, note=_note(overview, number), definition=definition_of(number)) for number in numbers]
    heads.insert(1, Head("unusable", note="unparsed, cut, failed", definition=unusable_replies.DEFINITION))
    if overview.ranks:
        tested = f"by {overview.tested.label}" if overview.tested and overview.tested != overview.primary else ""
        heads.insert(0, Head("rank", note=tested, definition=RANK))
    if has_verdicts:
        heads.append(Head("verdicts", note="published numbers", definition=VERDICT))
    rows = []
    for model, kind_ in _order([overview]).items():
        cells = [_linked(overview, model, number) for number in numbers]
        cells.insert(1, _unusable(overview, model))
        if overview.ranks:
            cells.insert(0, _rank(overview, model))
        if has_verdicts:
            cells.append(_verdicts(overview, model))
        rows.append(Row((Head(model, note=kind_),), tuple(cells), kind_))
    columns, body = _with_n(heads, rows)
    caption = f"{overview.title}: percent of questions with {confidence(run)} intervals, {run.main_parser} parser"
    if overview.primary:
        caption += f", sorted by {overview.primary.label}"
    return Table(caption, (_MODEL,), columns, body), _undefined(overview)


def _with_n(heads: Sequence[Head], rows: Sequence[Row]) -> tuple[tuple[Head, ...], tuple[Row, ...]]:
    """Move n from the cells into the headings, after their notes."""
    counted_heads, body = move_n_to_heading([replace(head, note="") for head in heads], rows)
    notes = (", ".join(filter(None, [h.note, c.note])) for h, c in zip(heads, counted_heads, strict=True))
    return tuple(replace(head, note=note) for head, note in zip(heads, notes, strict=True)), body


def matrix(overviews: Sequence[Overview]) -> Table | None:
    """Return the primary number of every model on every benchmark, with what the catalogue knows of the models.

    None if there is one benchmark only, and the catalogue has none of its models.
    """
    models = _order(overviews)
    cards = {name: card for name in models for o in overviews if (card := _card(o, name)) is not None}
    if len(overviews) < 2 and not cards:
        return None
    heads = [_head_of_primary(each) for each in overviews]
    cells = {name: tuple(_primary(o, name) for o in overviews) for name in models}
    if known := confidences.column([o.run for o in overviews], list(models)):
        heads.append(known[0])
        cells = {name: (*cells[name], cell) for name, cell in zip(models, known[1], strict=True)}
    columns, rows = _with_n(heads, [Row((Head(name, note=k),), cells[name], k) for name, k in models.items()])
    if cards:
        columns = (*columns, *_FACTS)
        rows = tuple(replace(row, cells=(*row.cells, *_facts(cards.get(row.heads[0].text)))) for row in rows)
    first = next((o for o in overviews if o.primary), overviews[0])
    caption = f"Headline number of each benchmark in percent, with {confidence(first.run)} intervals"
    if first.primary:
        caption += f", sorted by {first.primary.label} on {first.title}"
    return Table(caption, (_MODEL,), columns, rows)


def definitions(tables: Iterable[Table]) -> list[tuple[str, Definition]]:
    """Return the headings of the columns of tables and what the columns are, each definition once."""
    found: dict[Definition, str] = {}
    for each in tables:
        for head in each.columns:
            if head.definition is not None:
                found.setdefault(head.definition, head.text if head.verbatim else sentence_case(head.text))
    return [(text, definition) for definition, text in found.items()]


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


def _head_of_primary(overview: Overview) -> Head:
    """Return the heading of a benchmark in the matrix: its title, with its primary number."""
    number = overview.primary
    if number is None:
        return Head(overview.title, verbatim=True)
    return Head(overview.title, note=number.label, verbatim=True, definition=definition_of(number))


def _short(metric: Metric | None) -> Cell:
    """Return a cell with the interval below the value."""
    return replace(metric_cell(metric), kind="number stacked")


def _linked(overview: Overview, model: str, number: HeadlineNumber) -> Cell:
    """Return a headline number of a model, linked to the replies that it counts."""
    return replace(_short(overview.value(model, number)), link=overview.link_to_counted(model, number))


def _primary(overview: Overview, model: str) -> Cell:
    """Return the primary number of a model."""
    if overview.primary is None or model not in overview.run.models or overview.leading(model) is None:
        return Cell(DASH, title="not measured")
    found = overview.unusable(model)
    note = f"{found.share:.1%} unusable" if found and found.excludes else ""
    return replace(_linked(overview, model, overview.primary), note=note)


def _unusable(overview: Overview, model: str) -> Cell:
    found = overview.unusable(model)
    if found is None:
        return Cell(DASH, title="not measured")
    is_changed = found.variant in overview.run.variants and removes_options(overview.run.params, found.variant)
    outcome = "no_label" if is_changed else "unusable"
    link = overview.link(model, found.variant, outcome=outcome) if found.replies else ""
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
    if not found:
        return Cell(DASH, title=reason)
    links = [
        (f"{number} {verdict}", link_to_verdict(overview.run.benchmark, verdict)) for verdict, number in found.items()
    ]
    return Cell(", ".join(text for text, _ in links), kind="plain", links=tuple(links))


_SIZE = (330, 215)
"""Size of the plot in pixels, small enough for a phone."""


def draw_figure(overview: Overview, name: str) -> Figure:
    """Draw the models, and the scripted baselines in grey. Without refusals, only the accuracy is drawn."""
    run, refused = overview.run, overview.named("refused")
    accuracy = "accuracy"
    if not refused and overview.primary and overview.primary.metric == ACCURACY:
        accuracy = overview.primary.label
    title = f"{overview.title}: {accuracy}"
    if refused:
        title += " and refusals without a right option"
    points = []
    for model in (*overview.models, *overview.sorted(overview.baselines)):
        x = Coordinate.of(run.get(model, overview.main, run.main_parser, ACCURACY))
        y = Coordinate.of(overview.value(model, refused)) if refused else x
        if x is not None and y is not None:
            points.append(Point(model, "", x, y, kind(run, model)))
    if not points:
        return placeholder(name, title, "not drawn: nothing was measured")
    x_axis = Axis.around(f"{accuracy} (%)", [end for point in points for end in point.x.ends])
    if refused:
        y_axis = Axis.around("refused, no right option (%)", [end for point in points for end in point.y.ends])
        chart = charts.points(points, x_axis, y_axis, own_models(run), size=_SIZE)
    else:
        found = [Dot(point.model, "", point.x, point.kind) for point in points]
        chart = charts.dots(found, x_axis, own_models(run), width=_SIZE[0])
    baselines = sum(point.kind == charts.SCRIPTED for point in points)
    axes = "accuracy (horizontal) and refusals without a right option (vertical)" if refused else accuracy
    models = counted(len(points) - baselines, "model")
    alt_text = (
        f"Plot of {axes} on {overview.title}, in percent with intervals, for {models} of this run and "
        f"{counted(baselines, 'scripted baseline')} in grey. The table beside it has the numbers."
    )
    notes = [
        "The ideal is the upper right corner." if refused else "",
        "Grey: scripted baselines." if baselines else "",
    ]
    return figure(name, title, chart, alt_text, note=" ".join(filter(None, notes)), caveat=run.caveat)


PRIMARY_FIGURE = "primary_numbers"
_PANEL = 240
"""Width of a panel in pixels. With the names of models, the figure fits a phone."""


def draw_primary(overviews: Sequence[Overview]) -> Figure:
    """Draw the primary number of every model: a panel for each benchmark, in it a row for each model.

    Published numbers are drawn where the questions are the published ones: neither rendered nor a sample of them.
    """
    names = _order(overviews)
    found: list[Dot] = []
    labels, counts, methods = [], [], []
    for overview in overviews:
        metrics = {name: overview.leading(name) for name in names if name in overview.run.models}
        measured = [metric for metric in metrics.values() if metric is not None and metric.value is not None]
        if overview.primary is None or not measured:
            continue
        label, title = overview.primary.label, overview.title
        for name, metric in metrics.items():
            if (at := Coordinate.of(metric)) is not None:
                found.append(Dot(name, label, at, kind(overview.run, name), title))
        for name, value in _published(overview).items():
            found.append(Dot(name, label, Coordinate(value), charts.PUBLISHED, title))
        labels.append(label)
        counts.append(f"{_questions(measured)} ({title})")
        # What follows the method is on the mean over seeds of one number; the table's cells have it as their titles.
        methods += [metric.method.partition(", ")[0] for metric in measured]
    is_one_number = len(set(labels)) == 1
    title = sentence_case(labels[0]) if is_one_number else "Headline number of each benchmark"
    if not found:
        return placeholder(PRIMARY_FIGURE, title, "not drawn: nothing was measured")
    run = overviews[0].run
    kinds = {dot.kind for dot in found}
    greys = {
        charts.PUBLISHED: "published models, which are named at the pointer",
        charts.SCRIPTED: "scripted baselines",
    }
    grey = " and ".join(text for of_kind, text in greys.items() if of_kind in kinds)
    note = [
        f"Percent with {confidence(run)} intervals, {' or '.join(dict.fromkeys(methods))}.",
        f"n = {', '.join(counts)}.",
        f"Grey: {grey}." if grey else "",
    ]
    models = dict.fromkeys(name for overview in overviews for name in own_models(overview.run))
    chart = charts.dots(found, Axis("percent of questions"), list(models), width=_PANEL, most_columns=1)
    alt_text = (
        f"Dot plot of the headline number in percent: {counted(len(labels), 'panel')}, one for each benchmark, in each "
        f"a dot with its {confidence(run)} interval for each of {counted(len(names), 'model')}. The table of models "
        "has the numbers."
    )
    text = caveats.caveat(run.params)
    caveat = f"{sentence_case(text)}." if text else ""
    return figure(PRIMARY_FIGURE, title, chart, alt_text, note=unbroken(" ".join(filter(None, note))), caveat=caveat)


def _published(overview: Overview) -> Mapping[str, float]:
    """Return the published values of the primary number; none if the questions are not the published ones."""
    if overview.primary is None or overview.run.caveat:
        return {}
    variant = overview.numbers[overview.primary]
    return published_values(load(overview.run.benchmark), variant, overview.primary.metric)


def _questions(metrics: Iterable[Metric]) -> str:
    """Return the number of questions that metrics are shares of, or the lowest and the highest."""
    numbers = [metric.n if metric.denominator is None else metric.denominator for metric in metrics]
    return " to ".join(dict.fromkeys(f"{number:,.0f}" for number in (min(numbers), max(numbers))))
