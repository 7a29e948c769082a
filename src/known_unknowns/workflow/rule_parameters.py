"""Inputs, parameters and resources of rules that follow from an entry of the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from known_unknowns import inference
from known_unknowns.benchmark import registry
from known_unknowns.config import OpenAIModel, Params, TransformersModel
from known_unknowns.data import lock_file
from known_unknowns.data.revision import data_revision
from known_unknowns.inference import bound_protocols
from known_unknowns.inference.shards import Shard, record_path
from known_unknowns.scoring.judge import JUDGE
from known_unknowns.variants import corrections
from known_unknowns.workflow.code_digest import code_of

_ADAPTER_SETTINGS = "adapter_config.json"


def reply_settings(params: Params, model: str) -> dict[str, Any]:
    """Return the keys of a model's entry that can change a reply, and the commit that params.lock.yaml gives it."""
    entry = params.model(model)
    locked = lock_file.model_entry(entry)
    commit = {"commit": locked.commit} if locked else {}
    return commit | {key: value for key, value in sorted(entry.items()) if key not in entry.not_in_the_reply}


def engine_code(params: Params, model: str, *benchmarks: str) -> str:
    """Return the digest of the code that asks a model the questions of benchmarks."""
    engine = params.model(model).implementation.partition(":")[0]
    return code_of("infer", benchmarks, engine)


def weights(params: Params, model: str) -> list[str]:
    """Return the files of a model in a local folder, without adapters that it does not use."""
    entry = params.model(model).as_dict()
    folder = Path(entry.get("source", ""))
    if not folder.parts or not folder.is_dir():
        return []
    others = {file.parent for file in folder.rglob(_ADAPTER_SETTINGS)} - {folder, folder / (entry.get("adapter") or "")}
    files = (path for path in folder.rglob("*") if path.is_file() and others.isdisjoint(path.parents))
    return sorted(path.as_posix() for path in files if path.suffix != ".dvc")


def shards(params: Params, model: str) -> int | None:
    """Return the number of shards of a model; None if one job asks all questions."""
    return inference.shards_of(params.model(model))


def shard_records(params: Params, model: str, benchmark: str) -> list[str]:
    """Return the records of a model's shards of a benchmark."""
    count, folder = shards(params, model) or 0, Path("<results>", "shards", model, benchmark)
    return [record_path(folder, Shard(number, count)).as_posix() for number in range(1, count + 1)]


def threads(params: Params, model: str) -> int:
    """Return the CPU threads of a model. Snakemake tells them to the numeric libraries."""
    entry = params.model(model)
    return (entry.threads or 2) if isinstance(entry, TransformersModel) else 1


def table_threads(params: Params, benchmark: str) -> int:
    """Return the processes that convert a benchmark. One is enough for rendered scenes."""
    return 1 if params.data(benchmark).source == "scenes" else 2


def gpus(params: Params, model: str) -> int:
    """Return 1 for a job of a model that may use a GPU. It counts only if a profile limits the resource."""
    entry = params.model(model)
    return int(isinstance(entry, TransformersModel) and entry.device != "cpu")


def gpus_besides_shards(params: Params, model: str) -> int:
    """Return the same for the job that writes the tables: after shards it loads no model."""
    return 0 if shards(params, model) else gpus(params, model)


def needs_endpoint_check(params: Params, model: str, *, check: Path, journal: Path) -> bool:
    """Whether the endpoint is checked before a model is asked.

    It is not with ``check_served: false``, and if the model has a journal already, for example another user's: all
    replies may be there.
    """
    entry = params.model(model)
    if not isinstance(entry, OpenAIModel) or not entry.check_served:
        return False
    return check.is_file() or not any(journal.glob("*.jsonl"))


def protocols(params: Params, benchmark: str) -> dict[str, dict[str, Any]]:
    """Return the protocol of each variant of a benchmark."""
    return {variant: params.protocol(benchmark, variant).as_dict() for variant in params.variants(benchmark)}


def variant_files(params: Params, variant: str) -> list[str]:
    """Return the files that a variant reads, such as corrections."""
    return sorted(corrections.files(params.variant(variant)))


def error_tables(params: Params, root: Path = Path()) -> list[str]:
    """Return the tables of errors of the edition: those of the cells whose wrong answers reviewers tagged."""
    cells = {
        (model, benchmark, f"{variant}-seed{seed}")
        for benchmark in params.benchmarks
        for model in params.models
        for variant, seed in params.cells(benchmark, model)
    }
    files = sorted((root / "reviews" / params.edition / "errors").glob("*/*/*.jsonl"))
    tagged = [(path.parts[-3], path.parts[-2], path.stem) for path in files]
    return [f"<results>/errors/{'/'.join(cell)}.csv" for cell in tagged if cell in cells]


def refusal_parsers(params: Params, benchmark: str) -> list[str]:
    """Return the parsers that decide whether a question is asked again; none if no protocol of the benchmark does."""
    known = bound_protocols.protocols_of(registry.get(benchmark))
    names = {params.protocol(benchmark, variant).name for variant in params.variants(benchmark)}
    parsers = sorted(name for name in params.parsers if name != JUDGE)  # the judge is asked after all replies
    return parsers if any(known[name].parses_refusals for name in names) else []


def comparison_conditions(params: Params) -> dict[str, Any]:
    """Return the part of the configuration that decides whether numbers are comparable with published ones."""
    return {
        name: {
            "source": params.data(name).source,
            "revision": data_revision(name, params.data(name)),
            "protocols": protocols(params, name),
        }
        for name in params.benchmarks
    }


def reported(params: Params) -> dict[str, Any]:
    """Return the part of the configuration that the report shows and that describes a run in MLflow."""
    return {
        "edition": params.edition,
        "parsers": params.parsers,
        "statistics": params.statistics.as_dict(),
        "models": {name: params.model(name).as_dict() for name in params.models},
        "benchmarks": {
            name: {
                "data": params.data(name).as_dict(),
                "protocols": protocols(params, name),
                "variants": {variant: params.variant(variant).as_dict() for variant in params.variants(name)},
            }
            for name in params.benchmarks
        },
    }
