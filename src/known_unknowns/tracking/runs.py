"""Write the runs of each model into the MLflow store, and replace what a killed or older call left there."""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns import json_files
from known_unknowns.config import Params, without_password
from known_unknowns.data.provenance import collect
from known_unknowns.progress import progress
from known_unknowns.tracking.contents import ModelResults, RunContents, texts
from known_unknowns.tracking.page import describe
from known_unknowns.tracking.store import Store, open_store

if TYPE_CHECKING:
    from mlflow.entities import DatasetInput, Run


def track(
    params: Params,
    metrics: Sequence[Path],
    *,
    results: Path,
    data: Path,
    out: Path,
    figures: Mapping[str, Sequence[Path]] | None = None,
) -> None:
    """Log one MLflow run per model, below it one per benchmark, below that one per variant and seed.

    The runs of a model are written together. If the store has finished runs with the same contents, only the figures
    are logged again. Finished runs with other contents get the tag ``superseded`` "true". Unfinished runs are deleted,
    so the same call completes the store after a kill at any moment.

    Parameters
    ----------
    params : Params
        The configuration. With tracking.enabled false nothing is logged.
    metrics : sequence of Path
        Tables of metrics, <model>/<benchmark>.parquet.
    results, data : Path
        The edition's folders.
    out : Path
        The JSON file to write: ``enabled``, ``uri``, ``experiment``, ``page`` (the address of the table of models
        below that of the MLflow server), and ``runs``, a list of {run_id, model, benchmark, variant, seed} in the order
        of params.yaml.
    figures : mapping of str to sequence of Path, optional
        The figures of each benchmark.

    Raises
    ------
    DataError
        If the tables do not fit together, or the database is not a valid one of MLflow.
    MachineError
        If the database is locked or cannot be written.
    """
    tracking = params.tracking
    listing: dict[str, Any] = {"enabled": tracking.enabled, "uri": without_password(tracking.uri)}
    listing |= {"experiment": tracking.experiment, "runs": []}
    if tracking.enabled:
        files = {(file.parent.name, file.stem): file for file in metrics}
        models = [name for name in params.models if any(name == model for model, _ in files)]
        with open_store(tracking) as store, progress("Tracking", len(models)) as advance:
            writer = _Writer(store, params.edition, figures or {})
            for name in models:
                of_model = {key: files[name, key] for key in params.benchmarks if (name, key) in files}
                listing["runs"] += writer.write(ModelResults(params, name, of_model, results, data))
                advance(1)
            listing["page"] = describe(store, params.edition)
    else:
        print("tracking is off (tracking.enabled in params.yaml): no runs were logged", file=sys.stderr)
    json_files.write(out, listing)


class _Writer:
    """Writes runs into a store. It knows the edition's runs that existed when it was created."""

    def __init__(self, store: Store, edition: str, figures: Mapping[str, Sequence[Path]]) -> None:
        self._client, self._experiment_id, self._figures = store.client, store.experiment_id, figures
        self._trees: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
        for run in store.search(f"tags.edition = '{edition}'"):
            model = run.data.tags.get("cell", "/").split("/")[1]
            self._trees[model][run.data.tags.get("tree", "")].append(run)
        self._provenance = _provenance()
        self._start_times = count(time.time_ns() // 1_000_000, -1)

    def write(self, results: ModelResults) -> Iterator[dict[str, Any]]:
        """Write the runs of a model unless the store has them; yield the rows of the listing."""
        digest, trees = results.digest(), self._trees[results.model]
        cells = {name: results.params.cells(name, results.model) for name in results.files}
        for tree, runs in list(trees.items()):
            complete = any(run.data.tags.get("level") == "model" and run.info.status == "FINISHED" for run in runs)
            if tree == digest:  # runs and artifacts may have been deleted since
                complete &= len(runs) == 1 + len(cells) + sum(map(len, cells.values()))
                complete &= all(self._client.list_artifacts(run.info.run_id) for run in runs)
            if tree and not complete:  # runs of earlier versions have no digest
                for run in trees.pop(tree):
                    self._client.delete_run(run.info.run_id)
        if digest not in trees:
            trees[digest] = list(self._create(results, digest, cells))
        for tree, runs in trees.items():
            for run in runs:
                if run.data.tags.get("superseded") != (superseded := str(tree != digest).lower()):
                    self._client.set_tag(run.info.run_id, "superseded", superseded)
        ids = {run.data.tags["cell"]: run.info.run_id for run in trees[digest]}
        for benchmark in cells:
            path = f"{results.params.edition}/{results.model}/{benchmark}"
            for figure in self._figures.get(benchmark, ()):
                self._client.log_artifact(ids[path], str(figure), "figures")
            for variant, seed in cells[benchmark]:
                cell = {"model": results.model, "benchmark": benchmark, "variant": variant, "seed": seed}
                yield {"run_id": ids[f"{path}/{variant}/seed{seed}"], **cell}

    def _create(
        self, results: ModelResults, tree: str, cells: Mapping[str, Sequence[tuple[str, int]]]
    ) -> Iterator[Run]:
        """Create the runs of a model. The model's is FINISHED last: only then are all complete."""
        with self._run(results.of_model(), tree) as model:
            yield model
            for benchmark in cells:
                with self._run(results.of_benchmark(benchmark), tree, model) as parent:
                    self._client.log_inputs(parent.info.run_id, [_dataset_input(results, benchmark)])
                    yield parent
                    for variant, seed in cells[benchmark]:
                        with self._run(results.of_cell(benchmark, variant, seed), tree, parent) as cell:
                            yield cell

    @contextmanager
    def _run(self, contents: RunContents, tree: str, parent: Run | None = None) -> Iterator[Run]:
        """Create a run with its contents; end it as FINISHED after the runs below it, or as FAILED."""
        from mlflow.entities import Metric, Param

        now = next(self._start_times)
        # The UI shows the latest runs first: the models, then the benchmarks, then the cells.
        start_time = now - 60_000 * min(len(contents.path), 4)
        run = self._client.create_run(
            self._experiment_id, start_time, self._tags(contents, tree, parent), contents.name
        )
        run_id, status = run.info.run_id, "FAILED"
        try:
            metrics = [Metric(name, value, now, 0) for name, value in contents.metrics.items()]
            self._client.log_batch(run_id, metrics, [Param(*item) for item in contents.parameters.items()])
            for name, content in contents.artifacts.items():
                self._client.log_text(run_id, content, name)
            yield run
            status = "FINISHED"
        finally:
            with suppress(Exception) if status == "FAILED" else nullcontext():  # report the first error
                self._client.set_terminated(run_id, status)

    def _tags(self, contents: RunContents, tree: str, parent: Run | None) -> dict[str, str]:
        shown = [{"path": name, "type": "table"} for name in contents.artifacts if name != "engine.json"]
        commit = self._provenance.get("git.commit")
        return {
            **contents.tags,
            **({"mlflow.source.git.commit": commit} if commit else {}),
            **({"mlflow.parentRunId": parent.info.run_id} if parent else self._provenance),
            "tree": tree,
            "cell": "/".join(contents.path),
            "edition": contents.path[0],
            "level": {2: "model", 3: "benchmark"}.get(len(contents.path), "cell"),
            "superseded": "false",
            "mlflow.source.name": "known-unknowns track",
            "mlflow.source.type": "LOCAL",
            "mlflow.loggedArtifacts": json.dumps(shown),
        }


def _dataset_input(results: ModelResults, benchmark: str) -> DatasetInput:
    """Return the data of a benchmark as an MLflow data set."""
    from mlflow.data.dataset_source_registry import resolve_dataset_source
    from mlflow.data.huggingface_dataset_source import HuggingFaceDatasetSource
    from mlflow.data.meta_dataset import MetaDataset
    from mlflow.entities import Dataset, DatasetInput, InputTag

    entry = results.params.data(benchmark)
    if "repository" in entry:
        source = HuggingFaceDatasetSource(path=entry["repository"], revision=entry["revision"])
    else:
        source = resolve_dataset_source(str(results.data / "raw" / benchmark))
    dataset = MetaDataset(source, name=benchmark, digest=results.pin(benchmark)["digest"])
    return DatasetInput(Dataset(**dataset.to_dict()), [InputTag("mlflow.data.context", "evaluation")])


def _provenance() -> dict[str, str]:
    """Return tags for the code, the packages and the machine. Unknown values have no tag."""
    found = collect()
    hardware = {"system": found.system, "cpu": found.cpu, "cores": found.cores, "memory_gib": found.memory_gib}
    hardware["gpus"] = ", ".join(found.gpus) or "none"
    git = {"commit": found.commit, "dirty": found.dirty}
    tags = texts({"git": git, "python": found.python, "hardware": hardware, "package": found.packages})
    return {name: value for name, value in tags.items() if value != "null"}
