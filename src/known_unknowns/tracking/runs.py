"""Update the MLflow store, including what a killed or older run left incomplete."""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns import tables
from known_unknowns.config import Params, without_password
from known_unknowns.data.provenance import Provenance, collect
from known_unknowns.progress import progress
from known_unknowns.tracking.contents import ModelContents, PinnedData, RunContents, files_by_model, read_pinned_data
from known_unknowns.tracking.page import describe
from known_unknowns.tracking.store import Store, open_store

if TYPE_CHECKING:
    from mlflow.entities import DatasetInput, Run
    from mlflow.store.artifact.artifact_repo import ArtifactRepository


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

    A rerun finds each run by its tag ``job_key`` and updates it only if its contents have changed. Changed parameters
    make a new run; the former run gets the tag ``superseded`` "true". The same call completes the store after a kill at
    any moment. A metric that has become undefined is set to NaN, because MLflow cannot delete one.

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
        below that of the MLflow server), and ``runs``, a list of {job_key, run_id, model, benchmark, variant, seed} in
        the order of params.yaml.
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
    listing["experiment"] = tracking.experiment
    runs: list[dict[str, Any]] = []
    if tracking.enabled:
        files = files_by_model(params, metrics)
        pinned = {name: read_pinned_data(params, name, data=data) for of_model in files.values() for name in of_model}
        total = sum(len(params.cells(name, model)) for model, of_model in files.items() for name in of_model)
        folders = {"results": results, "data": data, "figures": figures or {}}
        with open_store(tracking) as store, progress("Tracking", total) as advance:
            writer = _RunWriter(store, params.edition, collect(), total)
            models = []
            for model, of_model in files.items():
                contents = ModelContents(params, model, of_model, pinned, **folders)
                models.append(contents.of_model())
                for run in writer.write_model(contents, models[-1]):
                    runs.append(run)
                    advance()
            listing["page"] = describe(store, params.edition, models)
    else:
        print("tracking is off (tracking.enabled in params.yaml): no runs were logged", file=sys.stderr)
    tables.write_text(out, json.dumps({**listing, "runs": runs}, indent=2) + "\n")


class _RunWriter:
    """Writes runs into a store. It knows the edition's runs that existed when it was created."""

    def __init__(self, store: Store, edition: str, provenance: Provenance, total: int) -> None:
        self._client, self._experiment_id, self._uri = store.client, store.experiment_id, store.uri
        self._runs = sorted(self._search(edition), key=lambda run: (run.info.start_time, run.info.run_id))
        self._by_key = {run.data.tags.get("job_key"): run for run in reversed(self._runs)}
        self._provenance = _provenance_tags(provenance)
        self._dataset_input = cache(_dataset_input)
        self._began, self._total, self._created = time.time_ns() // 1_000_000, total, 0

    def _search(self, edition: str) -> Iterator[Run]:
        token: str | None = ""
        while token is not None:
            page = self._client.search_runs(
                [self._experiment_id], f"tags.edition = '{edition}'", max_results=1000, page_token=token or None
            )
            yield from page
            token = page.token or None

    def write_model(self, model: ModelContents, contents: RunContents) -> Iterator[dict[str, Any]]:
        """Write all runs of a model; yield the rows of the listing. A run is finished after those below it."""
        with self._run(contents, None) as model_run:
            for benchmark in model.files:
                of_benchmark = model.of_benchmark(benchmark, contents.job_key)
                with self._run(of_benchmark, model_run) as benchmark_run:
                    for variant, seed in model.params.cells(benchmark, model.model):
                        cell = model.of_cell(benchmark, variant, seed, of_benchmark.job_key)
                        with self._run(cell, benchmark_run) as run_id:
                            row = {"job_key": cell.job_key, "run_id": run_id, "model": model.model}
                        yield {**row, "benchmark": benchmark, "variant": variant, "seed": seed}

    @contextmanager
    def _run(self, contents: RunContents, parent: str | None) -> Iterator[str]:
        """Find or create the run and yield its id; then update it. It is FINISHED only once it is complete."""
        run = self._by_key.get(contents.job_key)
        if run and self._is_current(run, contents, parent):
            yield run.info.run_id
        else:
            tags = self._tags(contents, parent)
            if run is None:
                run = self._client.create_run(self._experiment_id, self._start_time(contents), tags, contents.name)
            else:
                self._client.update_run(run.info.run_id, "RUNNING", contents.name)
            run_id = run.info.run_id
            try:
                yield run_id
                self._fill(run, contents, tags)
            except BaseException:
                with suppress(Exception):  # report the first error
                    self._client.set_terminated(run_id, "FAILED")
                raise
            self._client.set_terminated(run_id, "FINISHED")
        self._supersede(contents, run.info.run_id)

    def _is_current(self, run: Run, contents: RunContents, parent: str | None) -> bool:
        tags = run.data.tags
        if run.info.status != "FINISHED" or tags.get("content") != contents.digest:
            return False
        if tags.get("mlflow.parentRunId") != parent or tags.get("superseded") != "false":
            return False
        listed = {file.path for file in self._artifacts(run).list_artifacts()}
        return listed >= {name.partition("/")[0] for name in contents.artifacts}

    def _start_time(self, contents: RunContents) -> int:
        """Return a start time, in ms, such that the UI, which shows the latest first, shows the models first."""
        self._created += 1
        depth = ("model", "benchmark", "cell").index(contents.level)
        return self._began - depth * 2 * self._total - self._created

    def _tags(self, contents: RunContents, parent: str | None) -> dict[str, str]:
        shown = [{"path": name, "type": "table"} for name in contents.artifacts if name in _TABLES]
        tags = {
            **contents.tags,
            **(self._provenance if parent is None else {}),
            "level": contents.level,
            "edition": contents.path[0],
            "cell": "/".join(contents.path),
            "job_key": contents.job_key,
            "content": contents.digest,
            "superseded": "false",
            "mlflow.note.content": contents.description,
            "mlflow.source.name": "known-unknowns track",
            "mlflow.source.type": "LOCAL",
            "mlflow.loggedArtifacts": json.dumps(shown),
        }
        commit = self._provenance.get("git.commit")
        return (
            tags
            | ({"mlflow.source.git.commit": commit} if commit else {})
            | ({"mlflow.parentRunId": parent} if parent else {})
        )

    def _fill(self, run: Run, contents: RunContents, tags: Mapping[str, str]) -> None:
        from mlflow.entities import Metric, Param, RunTag

        run_id, now = run.info.run_id, time.time_ns() // 1_000_000
        self._client.log_batch(
            run_id,
            [Metric(name, value, now, 0) for name, value in _changed(run.data.metrics, contents.metrics)],
            [Param(*item) for item in contents.parameters.items() if item[0] not in run.data.params],
            [RunTag(*item) for item in tags.items() if run.data.tags.get(item[0]) != item[1]],
        )
        if "superseded_by" in run.data.tags:  # the parameters were changed, and changed back
            self._client.delete_tag(run_id, "superseded_by")
        if contents.data and not run.inputs.dataset_inputs:
            self._client.log_inputs(run_id, [self._dataset_input(pinned) for pinned in contents.data])
        with tempfile.TemporaryDirectory() as folder:
            for name, content in contents.artifacts.items():
                path = Path(folder, name)
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content)
            self._artifacts(run).log_artifacts(folder)

    def _artifacts(self, run: Run) -> ArtifactRepository:
        """Return the run's artifacts. The client's own functions read the whole run first."""
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        return get_artifact_repository(run.info.artifact_uri, tracking_uri=self._uri)

    def _supersede(self, contents: RunContents, run_id: str) -> None:
        """Mark the other runs of the same model, benchmark or cell as superseded by this one."""
        for other in self._runs:
            tags = other.data.tags
            if tags.get("cell") != "/".join(contents.path) or other.info.run_id == run_id:
                continue
            if (tags.get("superseded"), tags.get("superseded_by")) != ("true", run_id):
                self._client.set_tag(other.info.run_id, "superseded_by", run_id)
                self._client.set_tag(other.info.run_id, "superseded", "true")


_TABLES = {"questions.json", "metrics.json", "headline.json", "combined.json"}


def _changed(logged: Mapping[str, float], values: Mapping[str, float]) -> Sequence[tuple[str, float]]:
    """Return the values that differ from the logged ones, and NaN for what has no value any more."""
    changed = [(name, value) for name, value in values.items() if logged.get(name) != value]
    removed = [(name, math.nan) for name, value in logged.items() if name not in values and not math.isnan(value)]
    return changed + removed


def _dataset_input(pinned: PinnedData) -> DatasetInput:
    """Return the pinned data as an MLflow data set: the digest is the DVC hash, the rows are the questions."""
    import mlflow.data
    import pandas as pd
    from mlflow.data.huggingface_dataset_source import HuggingFaceDatasetSource
    from mlflow.entities import Dataset, DatasetInput, InputTag

    rows = [
        (q.id, q.category, q.group, q.text, "" if q.answer is None else q.labels[q.answer])
        for q in tables.read_questions(pinned.questions)
    ]
    frame = pd.DataFrame(rows, columns=["id", "category", "group", "text", "answer"])
    source: Any = pinned.source
    if pinned.hub_revision is not None:
        source = HuggingFaceDatasetSource(path=pinned.source, revision=pinned.hub_revision)
    dataset = mlflow.data.from_pandas(
        frame, source=source, targets="answer", name=pinned.benchmark, digest=pinned.digest
    )
    return DatasetInput(Dataset(**dataset.to_dict()), [InputTag("mlflow.data.context", "evaluation")])


def _provenance_tags(provenance: Provenance) -> dict[str, str]:
    """Return tags for the code, the packages and the machine. Unknown values have no tag."""
    tags = {
        "git.commit": provenance.commit,
        "mlflow.source.git.commit": provenance.commit,
        "git.dirty": None if provenance.dirty is None else str(provenance.dirty).lower(),
        "python": provenance.python,
        "hardware.system": provenance.system,
        "hardware.cpu": provenance.cpu,
        "hardware.cores": provenance.cores,
        "hardware.memory_gib": provenance.memory_gib,
        "hardware.gpus": ", ".join(provenance.gpus) or "none",
    }
    tags |= {f"package.{name}": version for name, version in provenance.packages.items()}
    return {name: str(value) for name, value in tags.items() if value is not None}
