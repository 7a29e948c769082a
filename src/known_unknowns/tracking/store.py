"""The MLflow store: its database, the lock for writers, and error messages that name the remedy."""

from __future__ import annotations

import logging
import os
import re
import socket
import sqlite3
import warnings
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from known_unknowns.config import without_password
from known_unknowns.errors import ConfigError, DataError, KnownUnknownsError, MachineError
from known_unknowns.tables import atomic_path

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

CONNECT_SECONDS = 10.0
LOCK_SECONDS = 60.0
"""How long to wait for another writer."""

_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # two lines per run
    "MLFLOW_SQLALCHEMYSTORE_POOLCLASS": "NullPool",  # a pooled connection outlives a deleted database
}
_SERVER_ENVIRONMENT = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}
"""MLflow's own limits are 7 retries and 120 seconds each, without a message."""
_EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}  # model training, not traces
_REMEDIES: dict[str, tuple[type[KnownUnknownsError], str]] = {
    "could not be acquired": (MachineError, "another run is writing to it; wait for that run, or stop it,"),
    "is locked": (MachineError, "another program is writing to it; close it"),
    "disk is full|no space left|quota exceeded": (MachineError, "the disk is full; free some space"),
    "readonly|unable to open": (MachineError, "it or its folder cannot be written; change its permissions"),
    "not a database|malformed": (DataError, "not a valid SQLite database; move it away (its runs are lost)"),
    "out-of-date database schema|can't locate revision": (
        DataError,
        "made by another version of MLflow; install that version, or copy the file, run  mlflow db upgrade {uri}",
    ),
}
"""Parts of the messages of MLflow, SQLAlchemy, SQLite and the system; the error to raise for them, and its remedy."""


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


@contextmanager
def open_store(tracking: Mapping[str, Any]) -> Iterator[Store]:
    """Open the store that ``tracking`` (of params.yaml) describes; create the database and experiment if needed.

    A relative SQLite path is relative to the working directory. Only one process at a time can have an SQLite store
    open. Errors of MLflow inside the context are raised as errors of this package that name the database.

    Raises
    ------
    ConfigError
        If MLflow is not installed, or if ``tracking.uri`` names no file.
    DataError
        If the database is not a valid one of MLflow.
    MachineError
        If the database is locked or cannot be written.
    """
    uri, artifacts = tracking["uri"], None
    is_server = uri.startswith(("http://", "https://"))
    for name, value in {**_ENVIRONMENT, **(_SERVER_ENVIRONMENT if is_server else {})}.items():
        os.environ.setdefault(name, value)
    if is_server:
        _connect(uri)
    try:
        from mlflow import MlflowClient
    except ImportError as error:
        message = "mlflow is not installed; install known-unknowns[workflow], or set this to false"
        raise ConfigError(message, path="tracking.enabled") from error
    from filelock import FileLock

    if database := _database(uri):
        database.parent.mkdir(parents=True, exist_ok=True)
        uri, artifacts = f"sqlite:///{database}", Path(tracking["artifacts"]).absolute()
    lock = FileLock(f"{database}.lock", timeout=LOCK_SECONDS) if database else nullcontext()
    with _silence(), _translate_errors(str(database or without_password(uri)), uri), lock:
        if database and artifacts and _is_empty(database):
            _create(database, artifacts)
        client = MlflowClient(tracking_uri=uri, registry_uri=uri)
        yield Store(client, _experiment(client, tracking["experiment"], artifacts, uri))


def _connect(uri: str) -> None:
    """Raise MachineError unless the server accepts a connection. MLflow would try for minutes."""
    parts = urlsplit(uri)
    if getproxies().get(parts.scheme) and not proxy_bypass(parts.hostname or ""):
        return
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        raise MachineError(
            f"{without_password(uri)}: the MLflow server cannot be reached ({error}); start it, correct tracking.uri, "
            "or set tracking.enabled to false, and run the same command again"
        ) from None


def _database(uri: str) -> Path | None:
    """Return the absolute path of an SQLite database; None for another store."""
    if not uri.startswith("sqlite:"):
        return None
    match = re.fullmatch(r"sqlite:///(?!:memory:)([^?]+)", uri)
    if match is None:
        raise ConfigError(f"{uri!r} names no file: write sqlite:///mlflow.db", path="tracking.uri")
    return Path(match[1]).absolute()


@contextmanager
def _silence() -> Iterator[None]:
    """Disable warnings and log messages of MLflow and its migrations. Errors are raised anyway."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(before)


def _is_empty(database: Path) -> bool:
    """Whether the database has no tables yet. DataError for a database of another program.

    Without this check, MLflow adds its tables to any database, and waits 20 seconds for a locked one.
    """
    if not database.exists():
        return True
    with closing(sqlite3.connect(database, timeout=2.0, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if names and not {"alembic_version", "experiments", "runs"} <= names:
        found = ", ".join(sorted(names)[:5])
        message = f"a database of another program, with the tables {found}; set tracking.uri to another file"
        raise DataError(message, file=database)
    return not names


def _create(database: Path, artifacts: Path) -> None:
    """Create the database under a temporary name and rename it.

    MLflow's migrations are many transactions. A database that was left between two of them cannot be opened again.
    """
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    for path in database.parent.iterdir():
        if path.name.startswith(f".{database.name}.") and ".part" in path.name:  # left by a killed run
            path.unlink()
    with atomic_path(database) as partial:
        SqlAlchemyStore(f"sqlite:///{partial}", artifacts.as_uri())


def _experiment(client: MlflowClient, name: str, artifacts: Path | None, uri: str) -> str:
    """Return the id of the experiment; create it if there is none. DataError if it cannot be used."""
    from mlflow.utils.file_utils import local_file_uri_to_path

    location = artifacts.as_uri() if artifacts else None
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        return client.create_experiment(name, location, _EXPERIMENT_TAGS)
    store, other = without_password(uri), "tracking.experiment to another name"
    if experiment.lifecycle_stage != "active":
        raise DataError(
            f"the experiment {name!r} was deleted in MLflow; set {other}, or restore it with\n  MLFLOW_TRACKING_URI="
            f"{quote(store)} mlflow experiments restore --experiment-id {experiment.experiment_id}",
            file=store,
        )
    # MLflow stores an absolute path: after the project was moved, artifacts would go to the old place.
    stored = local_file_uri_to_path(experiment.artifact_location)
    if artifacts and Path(stored).resolve() != artifacts.resolve():
        message = (
            f"keeps its artifacts in {stored}, not in {artifacts}; set tracking.artifacts to that folder, or {other}"
        )
        raise DataError(f"the experiment {name!r} {message}", file=store)
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
        kind, remedy = MachineError, f"MLflow failed ({message.partition(chr(10))[0].replace(uri, name)}); correct this"
        for pattern, (of_pattern, text) in _REMEDIES.items():
            if re.search(pattern, message, re.IGNORECASE):
                kind, remedy = of_pattern, text.format(uri=without_password(uri))
        remedy += " and run the same command again"
        raise DataError(remedy, file=name) if kind is DataError else kind(f"{name}: {remedy}") from error
