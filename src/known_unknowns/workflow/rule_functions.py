"""Files, parameters and resources of rules: functions of the configuration and of wildcards."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from known_unknowns.benchmark.registry import pocket_of
from known_unknowns.config import ModelEntry, Params, ReleasedData, RespondentModel, TransformersModel, locked_commits
from known_unknowns.data import released_cells, rerun_stamp
from known_unknowns.inference.shards import Shard, record_path, shards_of
from known_unknowns.workflow.code_digest import code_of
from known_unknowns.workflow.rule_settings import plain


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


_ADAPTER_SETTINGS = "adapter_config.json"


def with_shards(params: Params, gpus: int | None) -> Params:
    """Return the configuration with a number of shards for each model that has none and that jobs can share.

    There are as many as can ask at the same time on the ``gpus`` GPUs of the run; None is an unknown number.
    """
    models = {}
    for name in params.models:
        entry = params.model(name)
        if shards_of(entry) is None and entry.takes_any_gpus and (count := (gpus or 0) // entry.gpus) > 1:
            models[name] = entry.model_copy(update={"shards": count})
    return params.with_entries("models", models)


def source(params: Params, benchmark: str) -> dict[str, Any]:
    """Return the source of a benchmark's data, and the name that editions with the same data share.

    The form is that of all earlier versions, whose records a parameter of another form would not equal: the data would
    be fetched again.
    """
    name, entry = params.data_name, params.data(benchmark)
    data = {"benchmarks": {benchmark: {"data": {name: entry.plain()}}}}
    return plain(data | {"edition": name, "editions": {name: {"data": name}}})


def weights(params: Params, model: str) -> list[str]:
    """Return the files of a model in a local folder, without adapters that it does not use."""
    entry = params.model(model)  # of an engine of another distribution, perhaps with other keys
    source, name = getattr(entry, "source", ""), getattr(entry, "adapter", None)
    folder, own = Path(source), locked_commits.adapter_folder(source, name)
    adapter = sorted(path.as_posix() for path in own.iterdir() if path.is_file()) if own else []
    if not source or not folder.is_dir():
        return adapter
    others = {file.parent for file in folder.rglob(_ADAPTER_SETTINGS)} - {folder, folder / (name or "")}
    files = (path for path in folder.rglob("*") if path.is_file() and others.isdisjoint(path.parents))
    return sorted(path.as_posix() for path in files if path.suffix != ".dvc") + adapter


def shard_records(params: Params, model: str, benchmark: str) -> list[str]:
    """Return the records of a model's shards of a benchmark."""
    count, folder = shards_of(params.model(model)) or 0, Path("<results>", "shards", model, benchmark)
    return [record_path(folder, Shard(number, count)).as_posix() for number in range(1, count + 1)]


def threads(params: Params, model: str) -> int:
    """Return the CPU threads of a model. Snakemake tells them to the numeric libraries."""
    entry = params.model(model)
    if launch := getattr(entry, "launch", None):
        return int(2 + launch.tensor_parallel_size)  # vLLM has a process for each GPU and two more
    return (entry.threads or 2) if isinstance(entry, TransformersModel) else 1


def error_tables(params: Params, root: Path = Path()) -> list[str]:
    """Return the tables of errors of the edition: those of the cells whose wrong answers reviewers tagged."""
    cells = {
        (model, benchmark, f"{cell.variant}-seed{cell.seed}")
        for benchmark in params.benchmarks
        for model in params.models
        for cell in params.cells(benchmark, model)
    }
    files = sorted((root / "reviews" / params.edition / "errors").glob("*/*/*.jsonl"))
    tagged = [(path.parts[-3], path.parts[-2], path.stem) for path in files]
    return [f"<results>/errors/{'/'.join(names)}.csv" for names in tagged if names in cells]


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
    gpus_of_run : int, optional
        The number of GPUs of this run, if it is known.
    scripts : Path
        The folder of the rules' scripts.
    """

    params: Params
    data: str
    gpus_of_run: int | None = None
    scripts: Path = Path("rules/scripts")

    def asked(self, wildcards: Any) -> ModelEntry:
        """Return the entry of a model as a benchmark's questions are asked."""
        return self.params.model(wildcards.model).asked_in(wildcards.benchmark)

    def probed(self, wildcards: Any) -> dict[str, Any]:
        """Return the keys of a model's entry on which its probe depends: without those of single benchmarks."""
        return self.params.model(wildcards.model).asked_in("").reply_keys()

    def kept(self, wildcards: Any) -> str | None:
        """Return what is kept of a model's replies to a benchmark (``kept`` of its entry)."""
        return getattr(self.asked(wildcards), "kept", None)

    def code(self, step: str, script: str) -> OfWildcards:
        """Return the digest of the code that does a step for a benchmark, or else for all of the edition."""

        def of_wildcards(wildcards: Any) -> str:
            return code_of(step, self._benchmarks(wildcards), script=self.scripts / script)

        return of_wildcards

    def code_of_asking(self, script: str, model: str | None = None) -> OfWildcards:
        """Return the digest of the code that asks a model, the wildcard's by default, the questions of benchmarks."""

        def of_wildcards(wildcards: Any) -> str:
            engine = self.params.model(model or wildcards.model).implementation.partition(":")[0]
            return code_of("infer", self._benchmarks(wildcards), engine, script=self.scripts / script)

        return of_wildcards

    def _benchmarks(self, wildcards: Any) -> list[str]:
        return [wildcards.benchmark] if hasattr(wildcards, "benchmark") else self.params.benchmarks

    def code_of_source(self, wildcards: Any) -> str:
        """Return the code of rendered data; nothing for downloaded data, which depend on their revision only."""
        rendered = self.params.data(wildcards.benchmark).source == "scenes"
        pocket = pocket_of(wildcards.benchmark) if rendered else None
        return "" if pocket is None else code_of("render", (), *pocket.code)

    def data_lock(self, wildcards: Any) -> Any:
        """Return what changes if params.lock.yaml has another state of the benchmark's source."""
        entry = self.params.data(wildcards.benchmark)
        return rerun_stamp.rule_parameter(Path(self.data, "raw", wildcards.benchmark), entry)

    def answered_variants(self, wildcards: Any) -> list[str]:
        """Return the tables of the variants that a model answered, and of those whose released replies count for them.

        Released replies have some of the variants only.
        """
        benchmark = wildcards.benchmark
        found = dict.fromkeys(cell.variant for cell in self.params.cells(benchmark, wildcards.model))
        if released_cells.is_imported_from(self.params, wildcards.model, benchmark):
            found |= {released_cells.answered_as(self.params, benchmark, variant): None for variant in found}
        return [variant_table(benchmark, variant) for variant in found]

    def own_questions(self, wildcards: Any) -> list[str]:
        """Return the benchmark's own questions, if they are there: released replies get their images."""
        entry = self.params.data(wildcards.benchmark)
        folder = entry.questions if isinstance(entry, ReleasedData) else None
        return _existing([f"{folder}/questions.parquet"] if folder else [])

    def pin(self, wildcards: Any) -> list[str]:
        """Return the .dvc file that pins a benchmark's published files, if there is one."""
        return _existing([f"{self.data}/raw/{wildcards.benchmark}.dvc"])

    def probe(self, wildcards: Any) -> list[str]:
        """Return the record that a model can answer; nothing for a scripted respondent, which always can."""
        scripted = isinstance(self.params.model(wildcards.model), RespondentModel)
        return [] if scripted else [f"<results>/probe/{wildcards.model}.json"]

    def of_model(self, function: Callable[..., Any], *arguments: Any) -> OfWildcards:
        """Return a function of a model's entry as a function of the wildcards."""
        return lambda wildcards: function(self.params, wildcards.model, *arguments)

    def of_pair(self, function: Callable[..., Any], *arguments: Any) -> OfWildcards:
        """Return a function of a model's entry and a benchmark as a function of the wildcards."""
        return lambda wildcards: function(self.params, wildcards.model, wildcards.benchmark, *arguments)

    def gpus(self, model: str) -> int:
        """Return the number of GPUs of a model's job: at most all of the run.

        If they are too few for the model, it can still have all of its replies in the journal. The number counts only
        if a profile limits the resource.
        """
        needed = self.params.model(model).gpus
        return needed if self.gpus_of_run is None else min(needed, self.gpus_of_run)

    def gpus_besides_shards(self, model: str) -> int:
        """Return the same for the job that writes the tables: after shards it loads no model."""
        return 0 if shards_of(self.params.model(model)) else self.gpus(model)

    def of_attempt(self, function: Callable[..., Any]) -> Callable[[Any, int], Any]:
        """Return a function of a model's entry and the attempt, which is 1 unless a job of a cluster failed before."""
        return lambda wildcards, attempt: function(self.params, wildcards.model, attempt)

    def of_construction(self, function: Callable[..., Any], *arguments: Any) -> OfWildcards:
        """Return a function of an entry of the section construction as a function of the wildcards."""
        return lambda wildcards: function(self.params, wildcards.construction, *arguments)


def _existing(paths: Sequence[str]) -> list[str]:
    """Return the files that exist."""
    return [path for path in paths if Path(path).is_file()]
