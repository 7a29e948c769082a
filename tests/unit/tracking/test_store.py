from __future__ import annotations

import shlex
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from filelock import FileLock
from mlflow import MlflowClient

from known_unknowns.errors import ConfigError, DataError, MachineError
from known_unknowns.tracking import store as stores
from known_unknowns.tracking.store import open_store
from known_unknowns.workflow import configuration
from tests.paths import ROOT

from .logged import artifact, client, runs, seed_of
from .world import World


def test_a_deleted_experiment_can_be_restored_as_the_error_says(world: World) -> None:
    with open_store(world.params.tracking) as store:
        store.client.delete_experiment(store.experiment_id)
    with (
        pytest.raises(DataError, match=r"mlflow\.db: .*deleted in MLflow") as raised,
        open_store(world.params.tracking),
    ):
        pass
    uri = f"sqlite:///{world.folder}/mlflow.db"
    command = shlex.split(str(raised.value).splitlines()[1])
    assert command[0] == f"MLFLOW_TRACKING_URI={uri}"
    assert command[1:] == ["mlflow", "experiments", "restore", "--experiment-id", store.experiment_id]
    MlflowClient(uri).restore_experiment(store.experiment_id)
    with open_store(world.params.tracking) as again:
        assert again.experiment_id == store.experiment_id


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE recipes (name TEXT)")


def older(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = 'f00dcafe1234'")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (foreign, r"another program.*recipes.*tracking\.uri"),
        (lambda path: path.write_bytes(b"not a database at all" * 100), "not a valid SQLite database"),
        (older, r"made by another version of MLflow.*mlflow db upgrade"),
    ],
)
def test_a_database_that_cannot_be_used_is_unchanged(
    fresh: World, empty_database: Path, change: Callable[[Path], None], message: str
) -> None:
    path = fresh.folder / "mlflow.db"
    if change is older:
        shutil.copy(empty_database, path)
    change(path)
    before = path.read_bytes()
    with pytest.raises(DataError, match=rf"mlflow\.db: .*{message}"):
        fresh.track()
    assert path.read_bytes() == before


def test_locked_database(world: World) -> None:
    with closing(sqlite3.connect(world.folder / "mlflow.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(MachineError, match=r"mlflow\.db: another program is writing"):
            world.track()
    assert len(world.track()) == 2


def test_waiting_for_another_writer_ends_with_an_error(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "LOCK_SECONDS", 0.1)
    with (
        FileLock(f"{world.folder}/mlflow.db.lock"),
        pytest.raises(MachineError, match=r"mlflow\.db: another run is writing to it"),
    ):
        world.track()


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("file:./mlruns", "logs no runs to a folder; write sqlite"),
        ("./mlruns", "not an address of MLflow"),
        ("sqlite:///:memory:", "names no file"),
    ],
)
def test_a_store_that_mlflow_refuses_is_found_by_the_check_of_the_configuration(uri: str, reason: str) -> None:
    """MLflow refuses it when the first run is logged, in the last job of a workflow."""
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    raw["tracking"]["uri"] = uri
    with pytest.raises(ConfigError, match=rf"tracking\.uri: .*{reason}"):
        configuration.check(raw)


@pytest.mark.parametrize(
    ("message", "shown"),
    [("database or disk is full", "the disk is full"), ("Some error\nand details", r"MLflow failed \(Some error\)")],
)
def test_errors_of_the_database_name_it_and_a_remedy(world: World, message: str, shown: str) -> None:
    with pytest.raises(MachineError, match=rf"mlflow\.db: .*{shown}"), open_store(world.params.tracking):
        raise sqlite3.OperationalError(message)


def test_runs_go_on_in_a_copied_folder(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.track()
    before, run = {run.info.artifact_uri for run in runs(world)}, seed_of(world, "oracle")
    place = world.folder.with_name("another name")
    shutil.copytree(world.folder, place)
    monkeypatch.chdir(place)
    moved = replace(world, folder=place)
    moved.track()
    after = {run.info.artifact_uri for run in runs(moved)}
    assert after == {uri.replace(world.folder.as_uri(), place.as_uri()) for uri in before}
    assert artifact(moved, run, "engine.json").is_file()
    assert client(moved).list_artifacts(run.info.run_id)  # MLflow finds them there
    assert {run.info.artifact_uri for run in runs(world)} == before  # the first folder is left alone
    moved.raw["tracking"]["artifacts"] = "elsewhere"
    with pytest.raises(DataError, match="keeps its artifacts in"):
        moved.track()
