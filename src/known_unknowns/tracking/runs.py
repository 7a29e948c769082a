"""Update the MLflow store, including what a killed or older run left incomplete."""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns import tables
from known_unknowns.config import Params
from known_unknowns.data.provenance import Provenance, collect
from known_unknowns.progress import progress
from known_unknowns.tracking.contents import PinnedData, RunContents, read_cells, read_contents, read_pinned_data
from known_unknowns.tracking.store import Store, open_store

if TYPE_CHECKING:
    from mlflow.entities import DatasetInput, Run


def track(params: Params, metrics: list[Path], *, results: Path, data: Path, out: Path) -> None:
    """Log one MLflow run per model, benchmark, variant and seed.

    A run holds all parameters, the metrics that `contents.metric_values` selects, the data set under its DVC hash, and
    the artifacts questions.json, metrics.csv and engine.json. A rerun finds the run by its tag ``job_key`` and updates
    it only if its contents have changed. Changed parameters make a new run; the former run of that cell gets the tag
    ``superseded`` "true". The same call completes the store after a kill at any moment. A metric that has become
    undefined is set to NaN, because MLflow cannot delete one.

    Parameters
    ----------
    params : Params
        The configuration. With tracking.enabled false nothing is logged.
    metrics : list of Path
        Tables of metrics.
    results, data : Path
        The edition's folders.
    out : Path
        The JSON file to write: ``enabled``, ``uri``, ``experiment``, and ``runs``, a list of {job_key, run_id, model,
        benchmark, variant, seed} in the order of params.yaml.

    Raises
    ------
    DataError
        If the tables do not fit together, or the database is not a valid one of MLflow.
    MachineError
        If the database is locked or cannot be written.
    """
    tracking = params.tracking
    runs: list[dict[str, Any]] = []
    if tracking["enabled"]:
        cells = read_cells(params, metrics)
        pinned = {name: read_pinned_data(params, name, data=data) for name in {c.benchmark for c, _, _ in cells}}
        with open_store(tracking) as store, progress("Tracking", len(cells)) as advance:
            writer = _RunWriter(store, params.edition, collect())
            for cell, file, of_cell in cells:
                contents = read_contents(
                    params, cell, file, of_cell, pinned[cell.benchmark], results=results, data=data
                )
                runs.append(
                    {"job_key": contents.job_key, "run_id": writer.write(contents), "model": cell.model}
                    | {"benchmark": cell.benchmark, "variant": cell.variant, "seed": cell.seed}
                )
                advance()
    else:
        print("tracking is off (tracking.enabled in params.yaml): no runs were logged", file=sys.stderr)
    listing = {name: tracking[name] for name in ("enabled", "uri", "experiment")}
    tables.write_text(out, json.dumps({**listing, "runs": runs}, indent=2) + "\n")


class _RunWriter:
    """Writes runs into a store. It knows the edition's runs that existed when it was created."""

    def __init__(self, store: Store, edition: str, provenance: Provenance) -> None:
        self._client, self._experiment_id = store.client, store.experiment_id
        self._runs = sorted(self._search(edition), key=lambda run: (run.info.start_time, run.info.run_id))
        self._provenance_tags = _provenance_tags(provenance)
        self._dataset_input = cache(_dataset_input)

    def _search(self, edition: str) -> Iterator[Run]:
        token: str | None = ""
        while token is not None:
            page = self._client.search_runs(
                [self._experiment_id], f"tags.edition = '{edition}'", max_results=500, page_token=token or None
            )
            yield from page
            token = page.token or None

    def write(self, contents: RunContents) -> str:
        """Create or update the run of the contents' cell; return its id."""
        run = next((run for run in self._runs if run.data.tags.get("job_key") == contents.job_key), None)
        run_id = run.info.run_id if run and self._is_current(run, contents) else self._rewrite(run, contents)
        if run and "superseded_by" in run.data.tags:  # the parameters were changed, and changed back
            self._client.set_tag(run_id, "superseded", "false")
            self._client.delete_tag(run_id, "superseded_by")
        for other in self._runs:
            tags = other.data.tags
            if tags.get("cell") != contents.cell.name or other.info.run_id == run_id:
                continue
            if (tags.get("superseded"), tags.get("superseded_by")) != ("true", run_id):
                self._client.set_tag(other.info.run_id, "superseded_by", run_id)
                self._client.set_tag(other.info.run_id, "superseded", "true")
        return run_id

    def _is_current(self, run: Run, contents: RunContents) -> bool:
        if run.info.status != "FINISHED" or run.data.tags.get("content") != contents.digest:
            return False
        return {file.path for file in self._client.list_artifacts(run.info.run_id)} >= set(contents.artifacts)

    def _rewrite(self, run: Run | None, contents: RunContents) -> str:
        """Create the run or reopen it, and fill it. Its status is FINISHED only once it is complete."""
        if run is None:
            cell = contents.cell
            tags = {"job_key": contents.job_key, "cell": cell.name, "edition": cell.edition}
            name = f"{cell.model} {cell.benchmark} {cell.variant} seed {cell.seed}"
            run = self._client.create_run(self._experiment_id, run_name=name, tags=tags)
        else:
            self._client.update_run(run.info.run_id, status="RUNNING")
        try:
            self._fill(run, contents)
        except BaseException:
            with suppress(Exception):  # report the first error
                self._client.set_terminated(run.info.run_id, "FAILED")
            raise
        self._client.set_terminated(run.info.run_id, "FINISHED")
        return run.info.run_id

    def _fill(self, run: Run, contents: RunContents) -> None:
        from mlflow.entities import Metric, Param, RunTag

        run_id, now = run.info.run_id, time.time_ns() // 1_000_000
        tags = {
            **contents.tags,
            **self._provenance_tags,
            "superseded": "false",
            "content": contents.digest,
            "mlflow.note.content": contents.description,
            "mlflow.source.name": "known-unknowns track",
            "mlflow.source.type": "LOCAL",
            "mlflow.loggedArtifacts": json.dumps([{"path": "questions.json", "type": "table"}]),
        }
        self._client.log_batch(
            run_id,
            [Metric(name, value, now, 0) for name, value in _changed(run.data.metrics, contents.metrics)],
            [Param(*item) for item in contents.parameters.items()],
            [RunTag(*item) for item in tags.items()],
        )
        self._client.log_inputs(run_id, [self._dataset_input(contents.data)])
        with tempfile.TemporaryDirectory() as folder:
            for name, content in contents.artifacts.items():
                Path(folder, name).write_bytes(content)
            self._client.log_artifacts(run_id, folder)


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
