from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from known_unknowns.config import Tracking

from . import world as worlds


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with MLflow's tables and no experiment of ours: its migrations take seconds, so once a session."""
    from known_unknowns.tracking.store import open_store

    folder = tmp_path_factory.mktemp("template")
    uri, artifacts = f"sqlite:///{folder}/t.db", str(folder / "a")
    tracking = Tracking(enabled=True, uri=uri, artifacts=artifacts, experiment="another")
    with open_store(tracking):
        pass
    return folder / "t.db"


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> worlds.World:
    """The tables, in a folder with a name that needs quoting; no database. It is the working directory."""
    folder = tmp_path / "my project 100%"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    return worlds.build(folder)


@pytest.fixture
def world(fresh: worlds.World, empty_database: Path) -> worlds.World:
    shutil.copy(empty_database, fresh.folder / "mlflow.db")
    return fresh
