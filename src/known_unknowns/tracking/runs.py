"""Write the runs: bring the store in line with the tables, whatever a killed or an older run has left in it."""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from known_unknowns import tables
from known_unknowns.config import Params
from known_unknowns.data.provenance import Provenance, gather
from known_unknowns.progress import progress
from known_unknowns.tracking.cells import Entry, Pin, cells_of, read_entry, read_pin, read_tables
from known_unknowns.tracking.store import Store, opened

if TYPE_CHECKING:
    from mlflow.entities import DatasetInput, Run

T = TypeVar("T")

_METRICS_A_CALL = 800  # MLflow takes 1000 things a call,
_PARAMETERS_A_CALL = 100  # of them 100 parameters and 100 tags
_RUNS_A_PAGE = 500


def track(params: Params, metrics: list[Path], *, results: Path, data: Path, out: Path) -> None:
    """Log one MLflow run per model, benchmark, variant and seed of the tables ``metrics``.

    ``results`` and ``data`` are the edition's folders. ``out`` is a JSON file: ``enabled``, ``uri``, ``experiment``,
    and ``runs``, a list of {job_key, run_id, model, benchmark, variant, seed} in the order of params.yaml; with
    tracking.enabled false nothing is logged and the list is empty.

    Each run holds all parameters, the metrics that `contents.metric_values` chooses, the data set under its DVC hash,
    and three artifacts (questions.json, metrics.csv, engine.json). A rerun finds its run by the tag ``job_key``: it
    leaves a run alone that already holds the same, and updates it otherwise. A changed parameter makes a new run, and
    the former run of that cell is kept with the tag ``superseded`` "true". Killed at any moment, the same call
    completes what is there. A metric that has become undefined is set to NaN, for MLflow deletes none.

    Raises DataError for tables that do not fit together and for a database that is not a sound one of MLflow's,
    MachineError when the database is locked or cannot be written.
    """
    tracking = params.tracking
    listing = {"enabled": tracking["enabled"], "uri": tracking["uri"], "experiment": tracking["experiment"]}
    if not tracking["enabled"]:
        _write_listing(out, listing, [])
        print("tracking is off (tracking.enabled in params.yaml): no runs were logged", file=sys.stderr)
        return
    cells = cells_of(params, read_tables(metrics))
    pins = {name: read_pin(params, name, data=data) for name in dict.fromkeys(c.benchmark for c, _ in cells)}
    runs = []
    with opened(tracking) as store, progress("Tracking", len(cells)) as advance:
        writer = _Writer(store, params.edition, gather())
        for cell, table in cells:
            entry = read_entry(params, cell, table, pins[cell.benchmark], results=results, data=data)
            runs.append(
                {"job_key": entry.job_key, "run_id": writer.write(entry), "model": cell.model}
                | {"benchmark": cell.benchmark, "variant": cell.variant, "seed": cell.seed}
            )
            advance()
    _write_listing(out, listing, runs)


def _write_listing(out: Path, listing: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> None:
    tables.write_text(out, json.dumps({**listing, "runs": runs}, indent=2) + "\n")


class _Writer:
    """Writes entries into a store. It knows the edition's runs as they were when it was made."""

    def __init__(self, store: Store, edition: str, provenance: Provenance) -> None:
        self._client, self._experiment_id = store.client, store.experiment_id
        self._runs = sorted(self._search(edition), key=lambda run: (run.info.start_time, run.info.run_id))
        self._machine_tags = _provenance_tags(provenance)
        self._datasets: dict[str, DatasetInput] = {}

    def _search(self, edition: str) -> Iterator[Run]:
        token = None
        while True:
            page = self._client.search_runs(
                [self._experiment_id], f"tags.edition = '{edition}'", max_results=_RUNS_A_PAGE, page_token=token
            )
            yield from page
            token = page.token
            if not token:
                return

    def write(self, entry: Entry) -> str:
        """Make the run of the entry hold what the entry says, and give its id."""
        same = [run for run in self._runs if run.data.tags.get("job_key") == entry.job_key]
        run = same[0] if same else None
        sound = run is not None and self._holds(run, entry)
        run_id = run.info.run_id if sound else self._rewrite(run, entry)
        if run is not None and "superseded_by" in run.data.tags:  # its parameters were changed, and changed back
            self._client.set_tag(run_id, "superseded", "false")
            self._client.delete_tag(run_id, "superseded_by")
        self._supersede(entry, run_id)
        return run_id

    def _holds(self, run: Run, entry: Entry) -> bool:
        if run.info.status != "FINISHED" or run.data.tags.get("content") != entry.content:
            return False
        return {file.path for file in self._client.list_artifacts(run.info.run_id)} >= set(entry.artifacts)

    def _rewrite(self, run: Run | None, entry: Entry) -> str:
        """Make the run, or open it again. It counts as finished only once everything is in it."""
        if run is None:
            tags = {"job_key": entry.job_key, "cell": entry.cell.name, "edition": entry.cell.edition}
            run = self._client.create_run(self._experiment_id, run_name=_run_name(entry), tags=tags)
        else:
            self._client.update_run(run.info.run_id, status="RUNNING")
        try:
            self._fill(run, entry)
        except BaseException:
            with suppress(Exception):  # the first error is the one to show
                self._client.set_terminated(run.info.run_id, "FAILED")
            raise
        self._client.set_terminated(run.info.run_id, "FINISHED")
        return run.info.run_id

    def _fill(self, run: Run, entry: Entry) -> None:
        from mlflow.entities import Metric, Param, RunTag

        run_id, now = run.info.run_id, time.time_ns() // 1_000_000
        changed = _changed(run.data.metrics, entry.metrics)
        calls = zip_longest(  # each call is several transactions, so as few of them as MLflow's limits allow
            _chunks([Metric(name, value, now, 0) for name, value in changed], _METRICS_A_CALL),
            _chunks([Param(*item) for item in entry.parameters.items()], _PARAMETERS_A_CALL),
            _chunks([RunTag(*item) for item in self._tags(entry).items()], _PARAMETERS_A_CALL),
            fillvalue=(),
        )
        for metrics, parameters, tags in calls:
            self._client.log_batch(run_id, metrics, parameters, tags)
        self._client.log_inputs(run_id, [self._dataset(entry.pin)])
        with tempfile.TemporaryDirectory() as folder:
            for name, content in entry.artifacts.items():
                Path(folder, name).write_bytes(content)
                self._client.log_artifact(run_id, str(Path(folder, name)))

    def _tags(self, entry: Entry) -> dict[str, str]:
        return {
            **entry.tags,
            **self._machine_tags,
            "superseded": "false",
            "content": entry.content,
            "mlflow.note.content": entry.description,
            "mlflow.source.name": "known-unknowns track",
            "mlflow.source.type": "LOCAL",
            "mlflow.loggedArtifacts": json.dumps([{"path": "questions.json", "type": "table"}]),
        }

    def _dataset(self, pin: Pin) -> DatasetInput:
        if pin.benchmark not in self._datasets:
            self._datasets[pin.benchmark] = _dataset_input(pin)
        return self._datasets[pin.benchmark]

    def _supersede(self, entry: Entry, run_id: str) -> None:
        """Tag the other runs of the cell. They stay, but ``tags.superseded = 'false'`` leaves them out."""
        for run in self._runs:
            tags = run.data.tags
            if tags.get("cell") != entry.cell.name or run.info.run_id == run_id:
                continue
            if (tags.get("superseded"), tags.get("superseded_by")) != ("true", run_id):
                self._client.set_tag(run.info.run_id, "superseded_by", run_id)
                self._client.set_tag(run.info.run_id, "superseded", "true")


def _run_name(entry: Entry) -> str:
    cell = entry.cell
    return f"{cell.model} {cell.benchmark} {cell.variant} seed {cell.seed}"


def _changed(logged: Mapping[str, float], wanted: Mapping[str, float]) -> list[tuple[str, float]]:
    """What to log so that the latest values are the wanted ones; NaN for what is wanted no more."""
    changed = [(name, value) for name, value in wanted.items() if logged.get(name) != value]
    gone = [(name, math.nan) for name, value in logged.items() if name not in wanted and not math.isnan(value)]
    return changed + gone


def _chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _dataset_input(pin: Pin) -> DatasetInput:
    """The pinned data as MLflow's data set: its digest is the DVC hash, its rows are the original questions."""
    import mlflow.data
    import pandas as pd
    from mlflow.entities import Dataset, DatasetInput, InputTag

    questions = tables.read_questions(pin.questions)
    frame = pd.DataFrame(
        {
            "id": [q.id for q in questions],
            "category": [q.category for q in questions],
            "group": [q.group for q in questions],
            "text": [q.text for q in questions],
            "answer": ["" if q.answer is None else q.labels[q.answer] for q in questions],
        }
    )
    source: Any = pin.source
    if pin.hub_revision is not None:
        from mlflow.data.huggingface_dataset_source import HuggingFaceDatasetSource

        source = HuggingFaceDatasetSource(path=pin.source, revision=pin.hub_revision)
    dataset = mlflow.data.from_pandas(frame, source=source, targets="answer", name=pin.benchmark, digest=pin.digest)
    return DatasetInput(Dataset(**dataset.to_dict()), [InputTag("mlflow.data.context", "evaluation")])


def _provenance_tags(provenance: Provenance) -> dict[str, str]:
    """What is not known has no tag."""
    tags = {
        "git.commit": provenance.commit,
        "mlflow.source.git.commit": provenance.commit,
        "git.dirty": None if provenance.dirty is None else str(provenance.dirty).lower(),
        "python": provenance.python,
        "hardware.system": provenance.system,
        "hardware.cpu": provenance.cpu,
        "hardware.cores": str(provenance.cores),
        "hardware.memory_gib": None if provenance.memory_gib is None else str(provenance.memory_gib),
        "hardware.gpus": ", ".join(provenance.gpus) or "none",
    }
    tags |= {f"package.{name}": version for name, version in provenance.packages.items()}
    return {name: value for name, value in tags.items() if value is not None}
