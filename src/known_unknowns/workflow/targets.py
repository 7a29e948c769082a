"""Lists of files and rules that follow from the configuration: which cells exist, and which models answer them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from known_unknowns.config import Params


@dataclass(frozen=True)
class Targets:
    """The files of one edition's run."""

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
            pattern.replace("{model}", model).replace("{benchmark}", of_pair)
            for model, of_pair in self.pairs
            if benchmark in (None, of_pair)
        ]

    def variant_tables(self, benchmark: str | None = None) -> list[str]:
        """Return the tables of all variants; of those of one benchmark, if given."""
        benchmarks = self.params.benchmarks if benchmark is None else [benchmark]
        return [variant_table(name, variant) for name in benchmarks for variant in self.params.variants(name)]


def variant_table(benchmark: str, variant: str) -> str:
    """Return the table of a variant."""
    return f"<results>/variants/{benchmark}/{variant}.parquet"


def any_of(names: Iterable[str]) -> str:
    """Return a regular expression for one of the names; without names, for nothing."""
    return "|".join(re.escape(name) for name in names) or "(?!)"
