"""Functions of wildcards, for the inputs, parameters and resources of rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from known_unknowns.config import Params, RespondentModel
from known_unknowns.data import released_cells, rerun_stamp
from known_unknowns.workflow import rule_parameters, selection
from known_unknowns.workflow.code_digest import code_of
from known_unknowns.workflow.targets import Targets, variant_table

OfWildcards = Callable[[Any], Any]
"""A function that Snakemake calls with the wildcards of a job."""


@dataclass(frozen=True)
class RuleFunctions:
    """The functions of one run.

    Attributes
    ----------
    params : Params
        The configuration.
    data : str
        The edition's folder of data.
    """

    params: Params
    data: str

    def code(self, step: str) -> OfWildcards:
        """Return the digest of the code that does a step for a benchmark, as a function of the wildcards."""
        return lambda wildcards: code_of(step, [wildcards.benchmark])

    def code_of_source(self, wildcards: Any) -> str:
        """Return the code of rendered data; nothing for downloaded data, which depend on their revision only."""
        rendered = self.params.data(wildcards.benchmark).source == "scenes"
        return code_of("render", [wildcards.benchmark]) if rendered else ""

    def code_of_construction(self, wildcards: Any) -> str:
        """Return the digest of the code of construction, with the benchmark's generators and format."""
        return code_of("construct", [self.params.construction(wildcards.construction).benchmark])

    def data_lock(self, wildcards: Any) -> Any:
        """Return what changes if params.lock.yaml has another state of the benchmark's source."""
        entry = self.params.data(wildcards.benchmark)
        return rerun_stamp.rule_parameter(Path(self.data, "raw", wildcards.benchmark), entry)

    def table_threads(self, wildcards: Any) -> int:
        """Return the processes that convert a benchmark."""
        return rule_parameters.table_threads(self.params, wildcards.benchmark)

    def variants(self, wildcards: Any) -> list[str]:
        """Return the tables of a benchmark's variants."""
        return Targets(self.params).variant_tables(wildcards.benchmark)

    def answered_variants(self, wildcards: Any) -> list[str]:
        """Return the tables of the variants that a model answered, and of those whose released replies count for them.

        Released replies have some of the variants only.
        """
        benchmark = wildcards.benchmark
        found = dict.fromkeys(variant for variant, _ in self.params.cells(benchmark, wildcards.model))
        if released_cells.is_imported_from(self.params, wildcards.model, benchmark):
            found |= {released_cells.answered_as(self.params, benchmark, variant): None for variant in found}
        return [variant_table(benchmark, variant) for variant in found]

    def own_questions(self, wildcards: Any) -> list[str]:
        """Return the benchmark's own questions, if they are there: released replies get their images."""
        folder = self.params.data(wildcards.benchmark).get("questions")
        return _existing([f"{folder}/questions.parquet"] if folder else [])

    def pin(self, wildcards: Any) -> list[str]:
        """Return the .dvc file that pins a benchmark's published files, if there is one."""
        return _existing([f"{self.data}/raw/{wildcards.benchmark}.dvc"])

    def weights(self, wildcards: Any) -> list[str]:
        """Return the files of a model in a local folder."""
        return rule_parameters.weights(self.params, wildcards.model)

    def probe(self, wildcards: Any) -> list[str]:
        """Return the record that a model can answer; nothing for a scripted respondent, which always can."""
        scripted = isinstance(self.params.model(wildcards.model), RespondentModel)
        return [] if scripted else [f"<results>/probe/{wildcards.model}.json"]

    def read(self, step: str) -> OfWildcards:
        """Return what a step reads of the configuration, for Snakemake to compare, as a function of the wildcards."""
        return lambda wildcards: selection.compared(
            self.params, step, **{name: value for name, value in wildcards.items() if name in selection.NAMES}
        )

    def of_model(self, function: Callable[..., Any], *arguments: Any) -> OfWildcards:
        """Return a function of a model's entry as a function of the wildcards."""
        return lambda wildcards: function(self.params, wildcards.model, *arguments)

    def of_pair(self, function: Callable[..., Any], *arguments: Any) -> OfWildcards:
        """Return a function of a model's entry and a benchmark as a function of the wildcards."""
        return lambda wildcards: function(self.params, wildcards.model, wildcards.benchmark, *arguments)

    def of_attempt(self, function: Callable[..., Any]) -> Callable[[Any, int], Any]:
        """Return a function of a model's entry and the attempt, which is 1 unless a job of a cluster failed before."""
        return lambda wildcards, attempt: function(self.params, wildcards.model, attempt)

    def of_construction(self, function: Callable[..., Any], *arguments: Any) -> OfWildcards:
        """Return a function of an entry of the section construction as a function of the wildcards."""
        return lambda wildcards: function(self.params, wildcards.construction, *arguments)


def _existing(paths: Sequence[str]) -> list[str]:
    """Return the files that exist."""
    return [path for path in paths if Path(path).is_file()]
