"""Inputs, parameters and resources of rules that follow from an entry of the configuration."""

from __future__ import annotations

from pathlib import Path

from known_unknowns.config import Params, TransformersModel
from known_unknowns.data import lock_file
from known_unknowns.inference.shards import Shard, record_path, shards_of
from known_unknowns.variants import corrections
from known_unknowns.workflow.code_digest import code_of

_ADAPTER_SETTINGS = "adapter_config.json"


def engine_code(params: Params, model: str, *benchmarks: str) -> str:
    """Return the digest of the code that asks a model the questions of benchmarks."""
    engine = params.model(model).implementation.partition(":")[0]
    return code_of("infer", benchmarks, engine)


def weights(params: Params, model: str) -> list[str]:
    """Return the files of a model in a local folder, without adapters that it does not use."""
    entry = params.model(model).as_dict()
    folder = Path(entry.get("source", ""))
    own = lock_file.adapter_folder(entry.get("source", ""), entry.get("adapter"))
    adapter = sorted(path.as_posix() for path in own.iterdir() if path.is_file()) if own else []
    if not folder.parts or not folder.is_dir():
        return adapter
    others = {file.parent for file in folder.rglob(_ADAPTER_SETTINGS)} - {folder, folder / (entry.get("adapter") or "")}
    files = (path for path in folder.rglob("*") if path.is_file() and others.isdisjoint(path.parents))
    return sorted(path.as_posix() for path in files if path.suffix != ".dvc") + adapter


def shards(params: Params, model: str) -> int | None:
    """Return the number of shards of a model; None if one job asks all questions."""
    return shards_of(params.model(model))


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
