"""The report's tables of metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from known_unknowns.benchmark import caveats
from known_unknowns.benchmark.section import Section
from known_unknowns.comparison import MetricIndex
from known_unknowns.metrics.proportions import RECOGNISED
from known_unknowns.metrics.summary import main_parser
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report.formatting import DASH, Cell, Head, Row, Table, metric_cell, move_n_to_heading, percent
from known_unknowns.variants.of_benchmark import content_free

if TYPE_CHECKING:
    from known_unknowns.config import Params

PARSER_NAMES = {
    "official": "as released",
    "robust": "robust",
    "likelihood": "likelihood",
    "judge": "judge",
}
"""Headings of parsers."""
ACCURACY = "accuracy"
OFFICIAL = "official"
RECOGNISED_HEADINGS = dict(zip(RECOGNISED, ("recognised", "of it refused", "of it abstained"), strict=True))
"""Headings of the share that recognised that nothing can be answered, and of its two parts."""


@dataclass(frozen=True, slots=True)
class Run:
    """The metrics of one benchmark. ``variants`` and ``models`` are the measured ones, ``seeds`` are by variant."""

    benchmark: str
    section: Section
    numbers: MetricIndex
    models: tuple[str, ...]
    variants: tuple[str, ...]
    parsers: tuple[str, ...]
    seeds: Mapping[str, tuple[int, ...]]
    params: Params

    def get(self, model: str, variant: str, parser: str, name: str, category: str = OVERALL) -> Metric | None:
        return self.numbers.get(model, self.benchmark, variant, parser, name, category)

    def score(self, model: str, variant: str, parser: str, name: str, category: str = OVERALL) -> Metric | None:
        """Return a score of right answers; None without content in the images, except as the benchmark publishes it."""
        if variant in self.content_free and parser != OFFICIAL:
            return None
        return self.get(model, variant, parser, name, category)

    @property
    def content_free(self) -> frozenset[str]:
        """The variants without content, in which only the share that recognised it counts."""
        return content_free(self.params, self.benchmark)

    def chance(self, model: str, variant: str, category: str = OVERALL) -> Metric | None:
        """Return the chance level, which is the same for every parser that has it."""
        found = (self.get(model, variant, parser, "chance", category) for parser in self.parsers)
        return next((metric for metric in found if metric is not None), None)

    @property
    def baselines(self) -> tuple[str, ...]:
        """The scripted respondents among the models."""
        return tuple(model for model in self.models if is_baseline(self.params, model))

    @property
    def is_rendered(self) -> bool:
        """Whether the questions are rendered, so that no number is comparable with published ones."""
        return self.params.data(self.benchmark).source == "scenes"

    @property
    def caveat(self) -> str:
        """What a figure or table must say wherever it is shown alone; empty for the published questions."""
        text = caveats.caveat(self.params, self.benchmark)
        return f"{text[:1].upper()}{text[1:]}." if text else ""

    def parser_name(self, parser: str) -> str:
        """Heading of a parser."""
        return self.section.official_name if parser == "official" else parser_name(parser)

    @property
    def confidence(self) -> float:
        return self.params.statistics.confidence

    @property
    def headline(self) -> tuple[str, ...]:
        return tuple(v for v in self.section.headline if v in self.variants) or self.variants[:1]

    @property
    def main_parser(self) -> str:
        """The parser of the figures and of the comparison of models."""
        return main_parser(self.parsers)


def is_baseline(params: Params, model: str) -> bool:
    """Return whether a model is a scripted respondent."""
    return not params.is_imported(model) and params.model(model).engine == "respondent"


def parser_name(parser: str) -> str:
    """Heading of a parser in a table of published numbers. A table of one benchmark uses `Run.parser_name`."""
    return PARSER_NAMES.get(parser, parser)


def headline(run: Run) -> Table:
    """Return the section's metric per model and headline variant, under the official and the robust parser."""
    measured, label = run.section.measured
    shown = [s for s in ("official", "robust") if s in run.parsers] or list(run.parsers[:1])
    groups, columns, names = [], [], []
    for variant in run.headline:
        free = variant in run.content_free
        names_here = [
            (variant, parser, measured, run.parser_name(parser)) for parser in shown if parser == OFFICIAL or not free
        ]
        if free:
            names_here += [(variant, run.main_parser, name, label) for name, label in RECOGNISED_HEADINGS.items()]
        if "official" in run.parsers:
            names_here += [
                (variant, "official", metric.name, metric.heading)
                for metric in run.section.official_metrics
                if variant in metric.variants
            ]
        groups.append(Head(run.section.name(variant), span=len(names_here)))
        columns += [Head(heading) for *_, heading in names_here]
        names += [(variant, parser, name) for variant, parser, name, _ in names_here]
    rows = [
        Row(
            (Head(model),),
            tuple(
                metric_cell(
                    run.get(model, variant, parser, name),
                    chance=None if name in RECOGNISED else _guessing(run, model, variant),
                    gauge=True,
                )
                for variant, parser, name in names
            ),
        )
        for model in run.models
    ]
    columns, rows = move_n_to_heading(columns, rows)
    chance = tuple(Cell(DASH) if name in RECOGNISED else _chance_cell(run, variant) for variant, _, name in names)
    return Table(
        caption=f"{run.section.title}: {label}, with {confidence(run)} intervals",
        corner=("Model",),
        groups=tuple(groups),
        columns=columns,
        rows=rows,
        foot=(Row((Head("chance"),), chance),) if measured == ACCURACY else (),
    )


def _guessing(run: Run, model: str, variant: str) -> Metric | None:
    """Return the chance level if the section's metric is accuracy."""
    return run.chance(model, variant) if run.section.measured[0] == ACCURACY else None


def _chance_cell(run: Run, variant: str) -> Cell:
    found = (run.chance(model, variant) for model in run.models)
    metric = next((metric for metric in found if metric is not None), None)
    return Cell(percent(None if metric is None else metric.value))


def confidence(run: Run) -> str:
    """Return the confidence level as text: "95%"."""
    return f"{100 * run.confidence:g}%"


def by_category(run: Run) -> Table:
    """Return the section's metric per model, variant and type of question, with n and the method of its interval."""
    names, (measured_name, label) = categories(run), run.section.measured
    variants = tuple(v for v in run.section.by_type if v in run.variants) or run.headline
    rows = []
    for model in run.models:
        for v, variant in enumerate(variants):
            for c, category in enumerate(names):
                heads = [Head(model, span=len(variants) * len(names))] if v == c == 0 else []
                heads += [Head(run.section.name(variant), span=len(names))] if c == 0 else []
                heads.append(Head(category))
                measured = [run.score(model, variant, s, measured_name, category) for s in run.parsers]
                counts = {m.n for m in measured if m is not None}
                methods = dict.fromkeys(m.method for m in measured if m is not None)
                cells = [Cell(" / ".join(f"{n:,}" for n in sorted(counts)) or DASH, kind="plain")]
                cells += [_quiet(metric_cell(m)) for m in measured]
                if measured_name == ACCURACY:
                    cells.append(_plain(metric_cell(run.chance(model, variant, category))))
                cells.append(Cell("; ".join(methods) or DASH, kind="text"))
                rows.append(Row(tuple(heads), tuple(cells)))
    columns = [Head("n"), *(Head(run.parser_name(s)) for s in run.parsers)]
    columns += [Head("chance")] if measured_name == ACCURACY else []
    columns.append(Head("interval by"))
    return Table(
        caption=f"{run.section.title}: {label} by type of question, with {confidence(run)} intervals",
        corner=("Model", "Variant", "Type"),
        columns=tuple(columns),
        rows=tuple(rows),
    )


def categories(run: Run) -> list[str]:
    """Return the types in the paper's order, then other types, then all questions together."""
    measured = dict.fromkeys(m.category for m in run.numbers if m.benchmark == run.benchmark)
    order = dict.fromkeys((*run.section.categories, *measured))
    return [category for category in order if category in measured and category != OVERALL] + [OVERALL]


def _quiet(cell: Cell) -> Cell:
    """Remove n, which has its own column."""
    return replace(cell, n=None, denominator="")


def _plain(cell: Cell) -> Cell:
    return replace(cell, n=None, denominator="", kind="plain")


_ACCURACIES = {
    "accuracy_answered": "right among answered",
    "accuracy_low_bound": "right, unread all wrong",
    "accuracy_high_bound": "right, unread all right",
}
_DETAILS = {
    **RECOGNISED_HEADINGS,
    "refusal_recall": "refusals found",
    "refusal_precision": "refusals right",
    **_ACCURACIES,
    "share_abstained": "abstained",
    "share_unparsed": "unparsed",
    "share_cut": "cut",
    "share_failed": "failed",
}
_REFUSAL_METRICS = ("refusal_recall", "refusal_precision")
_SCORES = (ACCURACY, *_ACCURACIES)


def has_refusals(run: Run) -> bool:
    """Return whether any question has a refusal option, or any reply was a refusal."""
    return any(
        metric.benchmark == run.benchmark and metric.name in _REFUSAL_METRICS and metric.value is not None
        for metric in run.numbers
    )


def _applies(run: Run, name: str) -> bool:
    """Return whether a detail is of use: refusals need a refusal option, and what was recognised must be defined."""
    if name in (*_REFUSAL_METRICS, "recognised_refused"):
        return has_refusals(run)
    if name in RECOGNISED:
        return any(m.benchmark == run.benchmark and m.name == name and m.value is not None for m in run.numbers)
    return True


def all_variants(run: Run) -> Table:
    """Return accuracy under every parser, refusals, and the other outcomes per model and variant."""
    groups = {
        "right, by parser": [("accuracy", parser, run.parser_name(parser)) for parser in run.parsers],
        run.section.official_name: [
            (metric.name, "official", metric.long_heading) for metric in run.section.official_metrics
        ],
        f"under the {run.parser_name(run.main_parser)} parser": [
            (name, run.main_parser, label) for name, label in _DETAILS.items() if _applies(run, name)
        ],
    }
    if "official" not in run.parsers or not run.section.official_metrics:
        del groups[run.section.official_name]
    columns_of = [column for within in groups.values() for column in within]
    rows = []
    for model in run.models:
        for v, variant in enumerate(run.variants):
            heads = [Head(model, span=len(run.variants))] if v == 0 else []
            heads.append(Head(run.section.name(variant), note=variant))
            chance = run.chance(model, variant)
            cells = [
                metric_cell((run.score if name in _SCORES else run.get)(model, variant, parser, name))
                for name, parser, _ in columns_of
            ]
            rows.append(Row(tuple(heads), (_plain(metric_cell(chance)), *cells)))
    columns, rows = move_n_to_heading([Head("chance"), *(Head(label) for *_, label in columns_of)], rows)
    return Table(
        caption=f"{run.section.title}: every variant, in percent, with {confidence(run)} intervals",
        corner=("Model", "Variant"),
        groups=(Head(""), *(Head(name, span=len(within)) for name, within in groups.items())),
        columns=columns,
        rows=rows,
    )
