"""What was measured of one benchmark: the metrics of a run, and the names and settings that pages need beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from known_unknowns.benchmark import caveats
from known_unknowns.benchmark.section import OfficialMetric, Section
from known_unknowns.metrics.dual import SEPARATOR
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.metrics.proportions import CHANCE
from known_unknowns.metrics.summary import main_parser
from known_unknowns.records import OVERALL, Metric
from known_unknowns.variants.of_benchmark import content_free

if TYPE_CHECKING:
    from known_unknowns.config import Params

OFFICIAL = "official"
_DIGITS = 9
"""Of a difference of shares, so that no share is -0.0."""


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

    @classmethod
    def of(cls, params: Params, numbers: MetricIndex, benchmark: str, section: Section) -> Run:
        """Return what was measured of one benchmark, in the order of params.yaml, scripted baselines after models."""
        measured = [metric for metric in numbers if metric.benchmark == benchmark]
        models, variants = {m.model for m in measured}, {m.variant for m in measured}
        return cls(
            benchmark=benchmark,
            section=section,
            numbers=numbers,
            models=tuple(sorted((m for m in params.models if m in models), key=lambda m: is_baseline(params, m))),
            variants=tuple(variant for variant in params.variants(benchmark) if variant in variants),
            parsers=tuple(params.parsers),
            seeds={variant: tuple(params.seeds_of(benchmark, variant)) for variant in params.variants(benchmark)},
            params=params,
        )

    def get(self, model: str, variant: str, parser: str, name: str, category: str = OVERALL) -> Metric | None:
        return self.numbers.get(model, self.benchmark, variant, parser, name, category)

    def score(self, model: str, variant: str, parser: str, name: str, category: str = OVERALL) -> Metric | None:
        """Return a score of right answers; None without content in the images, except as the benchmark publishes it."""
        if variant in self.content_free and parser != OFFICIAL:
            return None
        return self.get(model, variant, parser, name, category)

    def official(self, model: str, variant: str, metric: OfficialMetric) -> Metric | None:
        """Return a metric of the official parser, or the share that others leave."""
        if not metric.rest_of:
            return self.get(model, variant, OFFICIAL, metric.name)
        shares = [self.get(model, variant, OFFICIAL, name) for name in metric.rest_of]
        values = [share.value for share in shares if share is not None and share.value is not None]
        if shares[0] is None or len(values) < len(shares):
            return None
        rest = round(1 - sum(values), _DIGITS)
        method = f"what {', '.join(metric.rest_of)} leave"
        return replace(shares[0], name=metric.name, value=rest, low=None, high=None, spread=None, method=method)

    @property
    def table_parser(self) -> str:
        """The parser of the papers' tables: the official parser, unless a table has its own."""
        return OFFICIAL if OFFICIAL in self.parsers else self.parsers[0]

    def names_of(self, variants: str, joined: str = " and ") -> str:
        """Display names of a variant, or of the variants of a pair."""
        return joined.join(map(self.section.name, variants.split(SEPARATOR)))

    @property
    def content_free(self) -> frozenset[str]:
        """The variants without content, in which only the share that recognised it counts."""
        return content_free(self.params, self.benchmark)

    def known(self, model: str, variant: str, name: str, category: str = OVERALL) -> Metric | None:
        """Return a number that the questions decide alone, so that it is the same for every parser."""
        found = (self.get(model, variant, parser, name, category) for parser in self.parsers)
        return next((metric for metric in found if metric is not None), None)

    def chance(self, model: str, variant: str, category: str = OVERALL) -> Metric | None:
        """Return the chance level."""
        return self.known(model, variant, CHANCE, category)

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
        return self.section.official_name if parser == OFFICIAL else parser

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
