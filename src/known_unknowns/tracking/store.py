"""The MLflow store: its database, the lock for writers, and error messages that name the remedy."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import warnings
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns.config import without_password
from known_unknowns.errors import ConfigError, DataError, KnownUnknownsError, MachineError
from known_unknowns.tables import atomic_path

if TYPE_CHECKING:
    from mlflow import MlflowClient

LOCK_SECONDS = 60.0
"""How long to wait for another writer. A whole tracking step takes less."""

_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SQLALCHEMYSTORE_POOLCLASS": "NullPool",  # a pooled connection outlives a deleted database
}
_EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}  # model training, not traces
_AGAIN = "and run the same command again: it continues where it stopped"
_REMEDIES: tuple[tuple[tuple[str, ...], type[KnownUnknownsError], str], ...] = (
    (("is locked",), MachineError, f"another program is writing to this database; close it, {_AGAIN}"),
    (("disk is full", "no space left"), MachineError, f"the disk is full; free some space {_AGAIN}"),
    (
        ("readonly", "unable to open"),
        MachineError,
        f"this file or its folder cannot be written; change its permissions {_AGAIN}",
    ),
    (
        ("not a database", "malformed"),
        DataError,
        "not a valid SQLite database; move it away (its runs are lost) and run again: a new one is created from the "
        "tables",
    ),
    (
        ("out-of-date database schema", "can't locate revision"),
        DataError,
        "made by another version of MLflow; make a copy and run  mlflow db upgrade {uri}  "
        "(or install the version of MLflow that made it)",
    ),
)
"""Parts of the messages of MLflow, SQLAlchemy and SQLite, the error to raise for them, and its message."""


@dataclass(frozen=True)
class Store:
    """An open store. ``uri`` is MLflow's, with an absolute path; ``name`` names the store in messages."""

    client: MlflowClient
    experiment_id: str
    uri: str
    name: str


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
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        from mlflow import MlflowClient
    except ImportError as error:
        message = "mlflow is not installed; install known-unknowns[workflow], or set this to false"
        raise ConfigError(message, path="tracking.enabled") from error
    uri, database = _absolute(tracking["uri"])
    name = str(database or without_password(uri))
    with _silence(), _translate_errors(name, uri), _lock(database):
        artifacts = None if database is None else Path(tracking["artifacts"]).absolute()
        if database and artifacts and _is_empty(database):
            _create(database, artifacts)
        client = MlflowClient(tracking_uri=uri, registry_uri=uri)
        yield Store(client, _experiment(client, tracking["experiment"], artifacts, store=name, uri=uri), uri, name)


def _absolute(uri: str) -> tuple[str, Path | None]:
    """Return the URI with an absolute path, and that path; (uri, None) if the store is not SQLite."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    if not uri.startswith("sqlite:"):
        return uri, None
    try:
        url = make_url(uri)
    except ArgumentError as error:
        raise ConfigError(f"{uri!r} is not an SQLite URI ({error})", path="tracking.uri") from error
    if not url.database or url.database == ":memory:":
        raise ConfigError(f"{uri!r} names no file: write sqlite:///mlflow.db", path="tracking.uri")
    path = Path(url.database).absolute()
    return url.set(database=str(path)).render_as_string(hide_password=False), path


@contextmanager
def _silence() -> Iterator[None]:
    """Disable log messages of MLflow and its migrations. Errors are raised anyway."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@contextmanager
def _lock(database: Path | None) -> Iterator[None]:
    """Exclude other writers: two could both find a run missing and create it twice."""
    from filelock import FileLock, Timeout

    if database is None:
        yield
        return
    database.parent.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(f"{database}.lock").acquire(timeout=LOCK_SECONDS)
    except Timeout as error:
        raise MachineError(
            f"{database}: another run has been writing to it for {LOCK_SECONDS:.0f} seconds; "
            "wait for that run, or stop it, and run the same command again"
        ) from error
    with lock:
        yield


def _is_empty(database: Path) -> bool:
    """Whether the database has no tables yet. DataError for a database of another program.

    Without this check, MLflow adds its tables to any database, and waits 20 seconds for a locked one.
    """
    if not database.exists() or (database.is_file() and database.stat().st_size == 0):
        return True
    with closing(sqlite3.connect(database, timeout=2.0, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        connection.execute("ROLLBACK")
    if names and not {"alembic_version", "experiments", "runs"} <= names:
        raise DataError(
            f"a database of another program (it has the tables {', '.join(sorted(names)[:5])}); "
            "set tracking.uri in params.yaml to another file",
            file=database,
        )
    return not names


def _create(database: Path, artifacts: Path) -> None:
    """Create the database under a temporary name and rename it.

    MLflow's migrations are many transactions. A database that was left between two of them cannot be opened again.
    """
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    for partial in database.parent.glob(f".{escape(database.name)}.*.part*"):  # left by a killed run
        partial.unlink()
    with atomic_path(database) as partial:
        SqlAlchemyStore(_absolute(f"sqlite:///{partial}")[0], artifacts.as_uri())


def _experiment(client: MlflowClient, name: str, artifacts: Path | None, *, store: str, uri: str) -> str:
    """Return the id of the experiment; create it if there is none. DataError if it cannot be used."""
    from mlflow.utils.file_utils import local_file_uri_to_path

    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        location = None if artifacts is None else artifacts.as_uri()
        return client.create_experiment(name, artifact_location=location, tags=_EXPERIMENT_TAGS)
    if experiment.lifecycle_stage != "active":
        raise DataError(
            f"the experiment {name!r} was deleted in MLflow; restore it with\n"
            f"  MLFLOW_TRACKING_URI={uri} mlflow experiments restore --experiment-id {experiment.experiment_id}\n"
            "or set tracking.experiment in params.yaml to another name",
            file=store,
        )
    # MLflow stores an absolute path: after the project was moved, artifacts would go to the old place.
    if artifacts is not None:
        stored = Path(local_file_uri_to_path(experiment.artifact_location))
        if stored.resolve() != artifacts.resolve():
            raise DataError(
                f"the experiment {name!r} keeps its artifacts in {stored}, not in {artifacts}; set tracking.artifacts "
                "in params.yaml to that folder, or tracking.experiment to another name (if the project was moved, its "
                "old runs are still listed, without their files)",
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
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = f"the disk is full; free some space {_AGAIN}" if full else error.strerror or str(error)
        raise MachineError(f"{error.filename or name}: {reason}") from error
    except (MlflowException, SQLAlchemyError, sqlite3.Error) as error:
        message = str(error).strip()
        for parts, kind, remedy in _REMEDIES:
            if any(part in message.lower() for part in parts):
                remedy = remedy.format(uri=without_password(uri))
                raise DataError(remedy, file=name) if kind is DataError else kind(f"{name}: {remedy}") from error
        first = message.partition("\n")[0].replace(uri, name) or "no message"
        raise MachineError(f"{name}: MLflow failed ({first}); correct the cause {_AGAIN}") from error
