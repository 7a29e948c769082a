"""Functions of wildcards, for the inputs, parameters and resources of rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from known_unknowns.config import Params
from known_unknowns.data import rerun_stamp
from known_unknowns.workflow import rule_parameters, selection
from known_unknowns.workflow.code_digest import code_of

OfWildcards = Callable[[Any], Any]
"""A function that Snakemake calls with the wildcards of a job."""


@dataclass(frozen=True)
class RuleFunctions:
    """The functions of one run.

    Attributes
    ----------
    params : Params
        The configuration.
    data, results, journal : str
        The edition's folders.
    """

    params: Params
    data: str
    results: str
    journal: str

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

    def data_entry(self, wildcards: Any) -> dict[str, Any]:
        """Return the entry of a benchmark's data."""
        return self.params.data(wildcards.benchmark).as_dict()

    def data_lock(self, wildcards: Any) -> Any:
        """Return what changes if params.lock.yaml has another state of the benchmark's source."""
        entry = self.params.data(wildcards.benchmark)
        return rerun_stamp.rule_parameter(Path(self.data, "raw", wildcards.benchmark), entry)

    def table_threads(self, wildcards: Any) -> int:
        """Return the processes that convert, score or measure a benchmark."""
        return rule_parameters.table_threads(self.params, wildcards.benchmark)

    def own_questions(self, wildcards: Any) -> list[str]:
        """Return the benchmark's own questions, if they are there: released replies get their images."""
        folder = self.data_entry(wildcards).get("questions")
        return _existing([f"{folder}/questions.parquet"] if folder else [])

    def pin(self, wildcards: Any) -> list[str]:
        """Return the .dvc file that pins a benchmark's published files, if there is one."""
        return _existing([f"{self.data}/raw/{wildcards.benchmark}.dvc"])

    def weights(self, wildcards: Any) -> list[str]:
        """Return the files of a model in a local folder."""
        return rule_parameters.weights(self.params, wildcards.model)

    def compared(self, step: str) -> OfWildcards:
        """Return what Snakemake compares of the configuration for a step, as a function of the wildcards."""
        return lambda wildcards: selection.compared(
            self.params, step, **{name: value for name, value in wildcards.items() if name in selection.NAMES}
        )

    def of_model(self, function: Callable[..., Any], *arguments: Any) -> OfWildcards:
        """Return a function of a model's entry as a function of the wildcards."""
        return lambda wildcards: function(self.params, wildcards.model, *arguments)

    def of_attempt(self, function: Callable[..., Any]) -> Callable[[Any, int], Any]:
        """Return a function of a model's entry and the attempt, which is 1 unless a job of a cluster failed before."""
        return lambda wildcards, attempt: function(self.params, wildcards.model, attempt)

    def of_construction(self, function: Callable[..., Any], *arguments: Any) -> OfWildcards:
        """Return a function of an entry of the section construction as a function of the wildcards."""
        return lambda wildcards: function(self.params, wildcards.construction, *arguments)


def folder_of(name: str, levels: int) -> Callable[[Any, Mapping[str, Sequence[str]]], str]:
    """Return the folder that many levels above the first of the input files ``name``."""
    return lambda wildcards, input: Path(input[name][0]).parents[levels - 1].as_posix()


def _existing(paths: Sequence[str]) -> list[str]:
    """Return the files that exist."""
    return [path for path in paths if Path(path).is_file()]
