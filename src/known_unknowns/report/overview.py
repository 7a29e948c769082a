"""The first screen: which model knows best what it does not know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from known_unknowns.comparison import UNJUDGED, ComparisonRow
from known_unknowns.comparison.models import PairedRow, correct_for_pairs
from known_unknowns.comparison.summary import leading_rows
from known_unknowns.metrics import dual
from known_unknowns.records import Metric
from known_unknowns.report.tables import ACCURACY, Run

NO_RIGHT_OPTION, NO_CONTENT = ("nota_only",), ("blank", "noise", "gaussian", "text_only")
"""Functions of variants: the right option is removed; the images have no content. The first one of a run is used."""
AREA = "aurc"


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
        """The models from best to worst, by the dual accuracy or, if it is not defined, by the accuracy."""
        return self.sorted(name for name in self.run.models if name not in self.baselines)

    def sorted(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return models from best to worst; those without a number come last."""

        def order(name: str) -> tuple[bool, float]:
            metric = self.leading(name)
            return (metric is None or metric.value is None, -(metric.value or 0.0) if metric else 0.0)

        return tuple(sorted(names, key=order))

    @cached_property
    def pair(self) -> str | None:
        """The pair of variants of the dual accuracy, without a right option; None without a pair.

        A pair with a variant without content ranks no models.
        """
        measured = {m.variant for m in self.run.numbers if (m.benchmark, m.name) == (self.run.benchmark, dual.DUAL)}
        found = dual.combinations(self.run.params, self.run.benchmark)
        return next((c.name for c in found if c.name in measured and not self.run.content_free & set(c.variants)), None)

    @cached_property
    def main(self) -> str:
        """The variant of the published questions; empty if nothing with content was measured."""
        if self.pair:
            return self.pair.split(dual.SEPARATOR)[0]
        return next((name for name in self.run.headline if name not in self.run.content_free), "")

    def unanswerable(self, functions: Sequence[str]) -> str | None:
        """Return the variant with one of these functions in which no option but the refusal is right, or None."""
        if not self.main:
            return None
        protocol = self.run.params.protocol(self.run.benchmark, self.main)
        for function in functions:
            for name in self.run.variants:
                same = self.run.params.protocol(self.run.benchmark, name) == protocol
                if same and self.run.params.variant(name).function == function and self._is_defined(name):
                    return name
        return None

    def _is_defined(self, variant: str) -> bool:
        name = "recognised" if variant in self.run.content_free else "refusal_recall"
        found = (self.number(model, variant, name) for model in self.run.models)
        return any(metric is not None and metric.value is not None for metric in found)

    def number(self, model: str, variant: str | None, name: str) -> Metric | None:
        """Return a metric under the main parser; None without the variant."""
        return None if variant is None else self.run.get(model, variant, self.run.main_parser, name)

    def leading(self, model: str) -> Metric | None:
        """Return the number that models are sorted by."""
        return self.number(model, self.pair, dual.DUAL) if self.pair else self.number(model, self.main, ACCURACY)

    @cached_property
    def own_metric(self) -> tuple[str, str] | None:
        """The benchmark's own metric and its label, if it has one besides accuracy and there is no pair."""
        name, label = self.run.section.measured
        if self.pair or name == ACCURACY or not any(self.number(model, self.main, name) for model in self.run.models):
            return None
        return name, label.removesuffix(" in percent")

    def refused(self, model: str) -> Metric | None:
        """Return the share of refusals without a right option."""
        return self.number(model, self.unanswerable(NO_RIGHT_OPTION), ACCURACY)

    def recognised(self, model: str, name: str = "recognised") -> Metric | None:
        """Return the share that recognised that nothing can be answered without content, or a part of it."""
        return self.number(model, self.unanswerable(NO_CONTENT), name)

    def area(self, model: str) -> Metric | None:
        """Return the area under the risk-coverage curve, of the parser that has one."""
        found = (self.run.get(model, self.main, parser, AREA) for parser in self.run.parsers)
        return next((metric for metric in found if metric is not None), None)

    @cached_property
    def tests(self) -> tuple[PairedRow, ...]:
        """The pairs of models by the number that they are sorted by, corrected for these pairs."""
        wanted = (self.pair or self.main, self.run.main_parser)
        rows = [
            row
            for row in self.pairs
            if (row.variant_a, row.parser_a) == wanted and {row.model_a, row.model_b} <= set(self.models)
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
