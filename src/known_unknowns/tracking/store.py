"""The MLflow store: its database, the lock for writers, and error messages that name the remedy."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from filelock import FileLock

from known_unknowns.config import Tracking, without_password
from known_unknowns.errors import ConfigError, DataError, KnownUnknownsError, MachineError

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

LOCK_SECONDS = 60.0
"""How long to wait for another writer."""

_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_CONFIGURE_LOGGING": "false",  # its information about each new database
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # two lines per run
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",  # MLflow's own limits are 7 retries of 120 seconds each, without a message
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
}
_EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}  # model training, not traces
_REMEDIES: dict[type[KnownUnknownsError], dict[str, str]] = {
    MachineError: {
        "max retries exceeded|failed with exception": "the MLflow server cannot be reached; start it, correct "
        "tracking.uri, or set tracking.enabled to false,",
        "could not be acquired": "another run is writing to it; wait for that run, or stop it,",
        "is locked": "another program is writing to it; close it",
        "disk is full|no space left|quota exceeded": "the disk is full; free some space",
        "readonly|unable to open": "it or its folder cannot be written; change its permissions",
    },
    DataError: {
        "not a database|malformed": "not a valid SQLite database; move it away (its runs are lost)",
        "out-of-date database schema|can't locate revision": "made by another version of MLflow; install that version, "
        "or copy the file, run  mlflow db upgrade {uri}",
    },
}
"""The error to raise for parts of the messages of MLflow, SQLAlchemy, SQLite and the system, and the remedy."""


@dataclass(frozen=True)
class Store:
    """An open store."""

    client: MlflowClient
    experiment_id: str

    def search(self, where: str) -> Iterator[Run]:
        """Yield the experiment's runs, the latest first."""
        token: str | None = ""
        while token is not None:
            page = self.client.search_runs([self.experiment_id], where, page_token=token or None)
            yield from page
            token = page.token or None

    def has_artifacts(self, run: Run) -> bool:
        """Whether the run's folder of artifacts has any. `MlflowClient.list_artifacts` would read the run once more."""
        from mlflow.artifacts import list_artifacts

        return bool(list_artifacts(artifact_uri=run.info.artifact_uri, tracking_uri=self.client.tracking_uri))


@contextmanager
def open_store(tracking: Tracking) -> Iterator[Store]:
    """Open the store that ``tracking`` (of params.yaml) describes; create the database and experiment if needed.

    A relative SQLite path is relative to the working directory. Only one process at a time can have an SQLite store
    open. Errors of MLflow inside the context are raised as errors of this package that name the database.

    Raises
    ------
    ConfigError
        If MLflow is not installed.
    DataError
        If the database is not a valid one of MLflow.
    MachineError
        If the database is locked or cannot be written, or the server cannot be reached.
    """
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        from mlflow import MlflowClient
    except ImportError as error:
        message = "mlflow is not installed; install known-unknowns[workflow], or set this to false"
        raise ConfigError(message, path="tracking.enabled") from error

    uri, database, artifacts = tracking.uri, None, None
    if uri.startswith("sqlite:///"):
        database, artifacts = Path(uri.removeprefix("sqlite:///")).absolute(), Path(tracking.artifacts).absolute()
        database.parent.mkdir(parents=True, exist_ok=True)
        uri = f"sqlite:///{database}"
    lock = FileLock(f"{database}.lock", timeout=LOCK_SECONDS) if database else nullcontext()
    with _translate_errors(str(database or without_password(uri)), uri), lock:
        if database and artifacts:
            _create_if_absent(database, artifacts)
            follow_artifacts(database, artifacts)
        client = MlflowClient(tracking_uri=uri, registry_uri=uri)
        yield Store(client, _experiment(client, tracking.experiment, artifacts, without_password(uri)))


def _create_if_absent(database: Path, artifacts: Path) -> None:
    """Create the database unless it is there. DataError for one of another program, to which MLflow would add tables.

    MLflow's migrations are many transactions, and a database that was left between two of them cannot be opened again.
    So it is created under a temporary name and renamed.
    """
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    if database.exists():
        with closing(sqlite3.connect(database, timeout=2.0, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")  # MLflow waits 20 seconds for a locked one
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if {"alembic_version", "experiments", "runs"} <= names:
            return
        if names:
            found = ", ".join(sorted(names)[:5])
            message = f"a database of another program, with the tables {found}; set tracking.uri to another file"
            raise DataError(message, file=database)
    partial = database.with_name(f".{database.name}.part")
    for path in (partial, partial.with_name(f"{partial.name}-journal")):  # left by a killed run
        path.unlink(missing_ok=True)
    SqlAlchemyStore(f"sqlite:///{partial}", artifacts.as_uri()).engine.dispose()
    partial.replace(database)


def follow_artifacts(database: Path, artifacts: Path) -> None:
    """Correct the places of artifacts in the database of a project that was moved or copied, whose paths are absolute.

    MLflow makes every place absolute. It is corrected if the runs' folders are those below ``artifacts``.
    """
    new = artifacts.as_uri()
    with closing(sqlite3.connect(database, timeout=2.0)) as connection, connection:
        for (old,) in connection.execute("SELECT DISTINCT artifact_location FROM experiments").fetchall():
            inside = (f"{old}/", len(old) + 1)
            runs = connection.execute("SELECT run_uuid FROM runs WHERE substr(artifact_uri, 1, ?2) = ?1", inside)
            if old == new or not any((artifacts / run).is_dir() for (run,) in runs):
                continue
            connection.execute("UPDATE experiments SET artifact_location = ? WHERE artifact_location = ?", (new, old))
            connection.execute(
                "UPDATE runs SET artifact_uri = ?3 || substr(artifact_uri, ?2) WHERE substr(artifact_uri, 1, ?2) = ?1",
                (*inside, new),
            )


def _experiment(client: MlflowClient, name: str, artifacts: Path | None, store: str) -> str:
    """Return the id of the experiment; create it if there is none. DataError if it cannot be used."""
    from mlflow.utils.file_utils import local_file_uri_to_path

    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        location = None if artifacts is None else artifacts.as_uri()
        return client.create_experiment(name, location, _EXPERIMENT_TAGS)
    if experiment.lifecycle_stage != "active":
        restore = f"MLFLOW_TRACKING_URI={quote(store)} mlflow experiments restore"
        raise DataError(
            f"the experiment {name!r} was deleted in MLflow; set tracking.experiment to another name, or restore it "
            f"with\n  {restore} --experiment-id {experiment.experiment_id}",
            file=store,
        )
    stored = local_file_uri_to_path(experiment.artifact_location)
    if artifacts and Path(stored).resolve() != artifacts.resolve():
        raise DataError(
            f"the experiment {name!r} keeps its artifacts in {stored}, not in {artifacts}; set tracking.artifacts to "
            "that folder, or tracking.experiment to another name",
            file=store,
        )
    return experiment.experiment_id


@contextmanager
def _translate_errors(name: str, uri: str) -> Iterator[None]:
    """Raise errors of MLflow, SQLAlchemy, SQLite and the file system as errors of this package."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (OSError, MlflowException, SQLAlchemyError, sqlite3.Error) as error:
        message = str(error).strip()
        remedy = f"MLflow failed ({message.partition(chr(10))[0].replace(uri, name)}); correct this"
        kind: type[KnownUnknownsError] = MachineError
        for of_kind, remedies in _REMEDIES.items():
            for pattern, text in remedies.items():
                if re.search(pattern, message, re.IGNORECASE):
                    remedy, kind = text.format(uri=without_password(uri)), of_kind
        remedy += " and run the same command again"
        raise DataError(remedy, file=name) if kind is DataError else kind(f"{name}: {remedy}") from error
