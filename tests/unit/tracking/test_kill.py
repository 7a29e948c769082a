"""SIGKILL at every stage of tracking, and two writers at once."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient
from mlflow.store.artifact.local_artifact_repo import LocalArtifactRepository

from .world import RAW, World, build

CALLS = ("create_experiment", "create_run", "delete_run", "log_batch", "log_inputs", "set_terminated", "set_tag")
CALLS += ("set_experiment_tag",)


@pytest.fixture(scope="module")
def processes() -> Any:
    """Processes that start in milliseconds, because the server they are forked from has imported MLflow."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["mlflow.data.pandas_dataset", "mlflow.store.tracking.sqlalchemy_store", "known_unknowns.tracking.runs"]
    )
    return context


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _track_and_die_at(folder: Path, at: int) -> None:
    """Track, and be killed just before the ``at``-th call (from 1) that writes."""
    count = 0

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count == at:
                _die()
            return call(*args, **kwargs)

        return wrapper

    for name in CALLS:
        setattr(MlflowClient, name, counted(getattr(MlflowClient, name)))
    setattr(LocalArtifactRepository, "log_artifacts", counted(LocalArtifactRepository.log_artifacts))  # noqa: B010
    _track(folder)


def _track_and_die_in_the_migrations(folder: Path) -> None:
    def watch() -> None:
        while not any(path.stat().st_size for path in folder.glob(".mlflow.db.part")):
            time.sleep(0.001)
        _die()

    threading.Thread(target=watch, daemon=True).start()
    _track(folder)


def _track(folder: Path) -> None:
    os.chdir(folder)
    os.environ["GIT_CEILING_DIRECTORIES"] = str(folder.parent)
    World(folder, RAW).track()


def run_in(processes: Any, target: Callable[..., None], *args: Any) -> int:
    process = processes.Process(target=target, args=args)
    process.start()
    process.join(120)
    return process.exitcode


def snapshot(folder: Path) -> dict[str, Any]:
    """All that is in the store, by the names of runs, without the identifiers and times that differ from run to run."""
    client = MlflowClient(f"sqlite:///{folder}/mlflow.db")
    (experiment,) = [e for e in client.search_experiments() if e.name == "known-unknowns"]
    found: dict[str, Any] = {}
    runs = {run.info.run_id: run for run in client.search_runs([experiment.experiment_id])}
    for run in runs.values():
        name = run.info.run_name
        assert name not in found, f"two runs {name}"
        files = Path(folder, "mlartifacts", run.info.run_id, "artifacts").iterdir()
        parent = runs.get(run.data.tags.pop("mlflow.parentRunId", ""))
        found[name] = {
            "status": run.info.status,
            "parent": parent and parent.info.run_name,
            "data": run.data.to_dictionary(),
            "inputs": [
                (i.dataset.name, i.dataset.digest, [t.value for t in i.tags]) for i in run.inputs.dataset_inputs
            ],
            "artifacts": {file.name: file.read_bytes() for file in files},
        }
    return found


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory, empty_database: Path, processes: Any) -> dict[str, Any]:
    world = build(tmp_path_factory.mktemp("unbroken"))
    shutil.copy(empty_database, world.folder / "mlflow.db")
    assert run_in(processes, _track, world.folder) == 0
    return snapshot(world.folder)


def test_repeated_kills_end_with_the_same_store(
    tmp_path: Path, empty_database: Path, processes: Any, unbroken: dict[str, Any]
) -> None:
    world = build(tmp_path)
    shutil.copy(empty_database, tmp_path / "mlflow.db")
    # 1: no experiment; 2: no run; 3: below the first model; then within the first run below it, and at the end of
    # both. Each resumes the one before.
    for at in (1, 2, 3, 5, 7, 9, 12, 4):
        assert run_in(processes, _track_and_die_at, tmp_path, at) == -signal.SIGKILL
        assert not world.out.exists()
    assert run_in(processes, _track, tmp_path) == 0
    assert snapshot(tmp_path) == unbroken
    assert {run["status"] for run in unbroken.values()} == {"FINISHED"}
    assert len(unbroken) == 2 + 2


def test_kill_during_creation_leaves_no_database(tmp_path: Path, processes: Any, unbroken: dict[str, Any]) -> None:
    build(tmp_path)
    assert run_in(processes, _track_and_die_in_the_migrations, tmp_path) == -signal.SIGKILL
    assert not (tmp_path / "mlflow.db").exists()
    assert list(tmp_path.glob(".mlflow.db.part*"))
    assert run_in(processes, _track, tmp_path) == 0
    assert snapshot(tmp_path) == unbroken
    assert not list(tmp_path.glob(".mlflow.db.part*"))


def test_two_writers_create_each_run_once(
    tmp_path: Path, empty_database: Path, processes: Any, unbroken: dict[str, Any]
) -> None:
    build(tmp_path)
    shutil.copy(empty_database, tmp_path / "mlflow.db")
    both = [processes.Process(target=_track, args=(tmp_path,)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(120)
    assert [process.exitcode for process in both] == [0, 0]
    assert snapshot(tmp_path) == unbroken
