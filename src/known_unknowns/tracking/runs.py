"""Write the runs of each model into the MLflow store, and replace what a killed or older call left there."""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from known_unknowns import json_files
from known_unknowns.benchmark.caveats import caveat
from known_unknowns.config import Params, without_password
from known_unknowns.data.provenance import collect
from known_unknowns.edition_files import benchmark_of, model_of
from known_unknowns.progress import progress
from known_unknowns.scoring.reply_rows import reply_rows
from known_unknowns.tracking.contents import ModelResults, RunContents, table, texts
from known_unknowns.tracking.page import describe, note_of
from known_unknowns.tracking.store import Store, open_store

if TYPE_CHECKING:
    from mlflow.entities import Run


def track(
    params: Params, metrics: Sequence[Path], *, results: Path, data: Path, out: Path, figures: Sequence[Path] = ()
) -> None:
    """Log one MLflow run per model, and below it one per benchmark and seed (and sample).

    The runs of a model are written together. If the store has finished runs with the same contents, only the figures
    are logged again. Finished runs with other contents, and those of models that are no longer in the edition, get the
    tag ``superseded`` "true". Unfinished runs are deleted, so the same call completes the store after a kill at any
    moment. With tracking.enabled false nothing is logged.

    Parameters
    ----------
    metrics : sequence of Path
        Tables of metrics, <model>/<benchmark>/metrics.parquet.
    results, data : Path
        The edition's folders.
    out : Path
        The JSON file to write: ``enabled``, ``uri``, ``experiment``, ``page`` (the address of the table of models
        below that of the MLflow server), and ``runs``, a list of {run_id, model, benchmark, seed, sample} in the order
        of params.yaml.
    figures : sequence of Path, optional
        The figures of the report, logged to the run of each model.

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
    files = {(model_of(file), benchmark_of(file)): file for file in metrics}
    names = [name for name in params.models if any(name == model for model, _ in files)]
    if not tracking.enabled:
        print("tracking is off (tracking.enabled in params.yaml): no runs were logged", file=sys.stderr)
        return json_files.write(out, listing)
    models: list[RunContents] = []
    with open_store(tracking) as store, progress("Tracking", len(names)) as advance:
        writer = _Writer(store, params)
        for name in names:
            of_model = {key: files[name, key] for key in params.benchmarks if (name, key) in files}
            model = ModelResults(params, name, of_model, results, data).contents()
            ids = writer.write(model)
            for figure in figures:
                store.client.log_artifact(ids[name], str(figure), "figures")
            for run in model.below:
                listing["runs"].append({"run_id": ids[run.name], "model": name, **run.place})
            models.append(model)
            advance(1)
        writer.supersede_all_but(params.models)
        listing["page"] = describe(store, params, models)
    json_files.write(out, listing)


class _Writer:
    """Writes runs into a store. It knows the edition's runs that existed when it was created."""

    def __init__(self, store: Store, params: Params) -> None:
        self._store, self._client, self._parsers = store, store.client, params.parsers
        self._trees: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
        for run in store.search(f"tags.edition = '{params.edition}'"):
            model = run.data.params.get("model", "")  # also of the runs of earlier versions, which had other levels
            self._trees[model][run.data.tags.get("tree", "")].append(run)
        found = collect()
        tags = texts({"git": {"commit": found.commit, "dirty": found.dirty}, "python": found.python})
        tags |= texts({"package": found.packages, "hardware": found.hardware()})
        self._provenance = {name: value for name, value in tags.items() if value != "null"}
        self._caveat = caveat(params)
        self._start_times = count(time.time_ns() // 1_000_000, -1)

    def write(self, model: RunContents) -> dict[str, str]:
        """Write the runs of a model unless the store has them; return their ids by name."""
        digest, trees = model.digest(), self._trees[model.name]
        for tree, runs in list(trees.items()):
            complete = any(run.data.tags.get("level") == "model" and run.info.status == "FINISHED" for run in runs)
            if tree == digest:  # runs and artifacts may have been deleted since
                complete &= len(runs) == 1 + len(model.below)
                complete &= all(map(self._store.has_artifacts, runs))
            if not complete:
                for run in trees.pop(tree):
                    self._client.delete_run(run.info.run_id)
        ids = {run.info.run_name: run.info.run_id for run in trees[digest]} or self._create(model, digest)
        self._supersede(model.name, digest)
        return ids

    def supersede_all_but(self, models: Iterable[str]) -> None:
        """Tag the runs of all other models, which were removed from the edition, as superseded."""
        for model in set(self._trees) - set(models):
            self._supersede(model)

    def _supersede(self, model: str, current: str | None = None) -> None:
        """Tag the earlier runs of a model, but those of the tree ``current``, as superseded."""
        for tree, runs in self._trees[model].items():
            for run in runs:
                if run.data.tags.get("superseded") != (superseded := str(tree != current).lower()):
                    self._client.set_tag(run.info.run_id, "superseded", superseded)

    def _create(self, contents: RunContents, tree: str, parent: str = "") -> dict[str, str]:
        """Create a run and those below it; return their ids by name. It is FINISHED after those below it, or FAILED."""
        from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param

        artifacts = contents.artifacts
        if contents.replies:
            artifacts = {"questions.json": self._questions(contents), **artifacts}
        tags = self._tags(contents, artifacts, tree)
        tags |= {"mlflow.parentRunId": parent} if parent else self._provenance
        now = next(self._start_times)
        # The UI shows the latest runs first: the models, then those below them.
        start_time = now - 60_000 if parent else now
        run_id = self._client.create_run(self._store.experiment_id, start_time, tags, contents.name).info.run_id
        ids = {contents.name: run_id}
        try:
            metrics = [Metric(name, value, now, 0) for name, value in contents.metrics.items()]
            self._client.log_batch(run_id, metrics, [Param(*item) for item in contents.parameters.items()])
            with TemporaryDirectory() as folder:
                for name, content in artifacts.items():
                    Path(folder, name).write_text(content, encoding="utf-8")
                self._client.log_artifacts(run_id, folder)
            if contents.dataset:
                used = DatasetInput(Dataset(**contents.dataset), [InputTag("mlflow.data.context", "evaluation")])
                self._client.log_inputs(run_id, [used])
            for below in contents.below:
                ids |= self._create(below, tree, run_id)
        except BaseException:
            with suppress(Exception):  # report the first error
                self._client.set_terminated(run_id, "FAILED")
            raise
        self._client.set_terminated(run_id)
        return ids

    def _questions(self, contents: RunContents) -> str:
        """Return the table of all questions, replies and answers of a run, of every variant."""
        columns: list[str] = []
        rows: list[list[Any]] = []
        for variant, (questions, replies, answers) in contents.replies.items():
            columns, of_variant = reply_rows(questions, replies, answers, self._parsers)
            rows += [[variant, *row] for row in of_variant]
        return table(["variant", *columns], rows)

    def _tags(self, contents: RunContents, artifacts: Iterable[str], tree: str) -> dict[str, str]:
        tables = [{"path": name, "type": "table"} for name in artifacts if name != "engine.json"]
        tags = {
            **contents.tags,
            "tree": tree,
            "edition": contents.parameters["edition"],
            "level": contents.level,
            "superseded": "false",
            "mlflow.source.name": "snakemake track",
            "mlflow.source.type": "LOCAL",
            "mlflow.loggedArtifacts": json.dumps(tables),
        }
        if "git.commit" in self._provenance:
            tags["mlflow.source.git.commit"] = self._provenance["git.commit"]
        if self._caveat:
            tags["caveat"] = self._caveat
        if note := note_of(contents, self._caveat):
            tags["mlflow.note.content"] = note
        return tags
