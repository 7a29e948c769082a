"""Lists of files and rules that follow from the configuration: which cells exist, and which models answer them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from known_unknowns.benchmark import registry
from known_unknowns.config import Params


@dataclass(frozen=True)
class Targets:
    """The files of one edition's run. Patterns may hold other wildcards than those that are filled in."""

    params: Params

    @property
    def asked_models(self) -> list[str]:
        """Models that are asked here, unlike those with imported replies."""
        return [model for model in self.params.models if not self.params.is_imported(model)]

    @property
    def variants(self) -> set[str]:
        """Variants of all benchmarks."""
        return {variant for benchmark in self.params.benchmarks for variant in self.params.variants(benchmark)}

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Every model with every benchmark that it answers."""
        return [
            (model, benchmark)
            for benchmark in self.params.benchmarks
            for model in self.params.models
            if self.params.cells(benchmark, model)
        ]

    def per_pair(self, pattern: str, benchmark: str | None = None) -> list[str]:
        """Return ``pattern`` for every model and benchmark; for one benchmark, if given."""
        return [
            _filled(pattern, model=model, benchmark=of_pair)
            for model, of_pair in self.pairs
            if benchmark in (None, of_pair)
        ]

    def per_question_set(self, pattern: str, benchmark: str, model: str | None = None) -> list[str]:
        """Return ``pattern`` for every variant and seed of a benchmark; of those that ``model`` answered, if given."""
        return [
            _filled(pattern, benchmark=benchmark, variant=variant, seed=str(seed))
            for variant, seed in self.params.cells(benchmark, model)
        ]

    def per_cell(self, pattern: str, benchmark: str | None = None) -> list[str]:
        """Return ``pattern`` for every model, benchmark, variant and seed; of one benchmark, if given.

        A path without the model is returned once.
        """
        paths = (
            _filled(path, model=model)
            for model, of_pair in self.pairs
            if benchmark in (None, of_pair)
            for path in self.per_question_set(pattern, of_pair, model)
        )
        return list(dict.fromkeys(paths))

    def deleted(self, pattern: str, *, made: str) -> list[str]:
        """Return the files ``pattern`` of every cell that are absent, although ``made`` of their model exists.

        A file that was deleted is a target, so that it is made again. The others need not be: what is made of them
        names them, and thousands of targets take seconds to plan.
        """
        return [
            path
            for model, benchmark in self.pairs
            if Path(_filled(made, model=model, benchmark=benchmark)).exists()
            for path in self.per_question_set(_filled(pattern, model=model), benchmark, model)
            if not Path(path).exists()
        ]


def plot_file(pattern: str) -> str:
    """Return ``pattern`` for the first benchmark that defines columns of the plot of stress tests."""
    named = (name for name in registry.names() if registry.get(name).plot)
    return _filled(pattern, benchmark=next(named, "stress_tests"))


def any_of(names: Iterable[str]) -> str:
    """Return a regular expression for one of the names."""
    return "|".join(re.escape(name) for name in names)


def _filled(pattern: str, **values: str) -> str:
    for name, value in values.items():
        pattern = pattern.replace(f"{{{name}}}", value)
    return pattern
