"""The MLflow store: made whole or not at all, one writer at a time, with errors that say what to do."""

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

from known_unknowns.errors import ConfigError, DataError, KnownUnknownsError, MachineError
from known_unknowns.tables import atomic_path

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment

LOCK_SECONDS = 60.0
"""How long another writer is waited for: a whole tracking step takes less."""

_SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SQLALCHEMYSTORE_POOLCLASS": "NullPool",  # an open connection would outlive a deleted database
}
_CHATTY = ("mlflow", "alembic", "sqlalchemy", "git")
_EXPERIMENT_TAGS = {
    "mlflow.note.content": "One run per model, benchmark, variant and seed. "
    "Filter by `tags.superseded = 'false'` to see the present state only.",
    "mlflow.experimentKind": "custom_model_development",  # the UI opens on the table of runs
}


@dataclass(frozen=True)
class Store:
    """``uri`` is MLflow's, with an absolute path; ``where`` names the store in messages."""

    client: MlflowClient
    experiment_id: str
    uri: str
    where: str


@contextmanager
def opened(tracking: Mapping[str, Any]) -> Iterator[Store]:
    """Open the store that ``tracking`` (of params.yaml) describes, and create what is not there yet.

    A relative SQLite path is relative to the working directory. While a SQLite store is open, no other process
    that asks here gets it. Whatever MLflow raises inside comes out as one of our errors, naming the database:
    DataError when it is not (or no longer) a sound one, MachineError when it is locked or cannot be written.
    """
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        from mlflow import MlflowClient
    except ImportError as error:
        raise ConfigError(
            "mlflow is not installed; install known-unknowns[workflow], or set this to false",
            path="tracking.enabled",
        ) from error
    uri, database = _absolute(tracking["uri"])
    where = str(database or uri)
    with _quiet(), _explained(where, uri), _one_writer(database):
        artifacts = None
        if database is not None:
            artifacts = Path(tracking["artifacts"]).absolute()
            _check(database)
            if not _has_tables(database):
                _create(database, artifacts)
        client = MlflowClient(tracking_uri=uri, registry_uri=uri)
        experiment_id = _experiment(client, tracking["experiment"], artifacts, where=where, uri=uri)
        yield Store(client, experiment_id, uri, where)


def _absolute(uri: str) -> tuple[str, Path | None]:
    """The URI with an absolute path, and that path; (uri, None) for a store that is not SQLite."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    if not uri.startswith("sqlite:"):
        return uri, None
    try:
        url = make_url(uri)
    except ArgumentError as error:
        raise ConfigError(f"{uri!r} is not a SQLite URI ({error})", path="tracking.uri") from error
    if not url.database or url.database == ":memory:":
        raise ConfigError(f"{uri!r} names no file: write sqlite:///mlflow.db", path="tracking.uri")
    path = Path(url.database).absolute()
    return url.set(database=str(path)).render_as_string(hide_password=False), path


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the migrations' INFO floods and MLflow's own tracebacks off the terminal: errors are raised anyway."""
    loggers = [logging.getLogger(name) for name in _CHATTY]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _one_writer(database: Path | None) -> Iterator[None]:
    """Two writers could both find a run missing, and both make it. A database server sees to that itself."""
    if database is None:
        yield
        return
    from filelock import FileLock, Timeout

    database.parent.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(f"{database}.lock", timeout=LOCK_SECONDS)
        lock.acquire()
    except Timeout as error:
        raise MachineError(
            f"{database}: another run has been writing to it for {LOCK_SECONDS:.0f} seconds; "
            "wait for that run, or stop it, and run the same command again"
        ) from error
    try:
        yield
    finally:
        lock.release()


def _has_tables(database: Path) -> bool:
    if not database.exists() or database.stat().st_size == 0:
        return False
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None


def _check(database: Path) -> None:
    """Raise unless the file is absent, empty, or a database of MLflow's that can be written now.

    Otherwise MLflow would put its tables into anybody's database, and wait 20 seconds on a locked one.
    """
    if not database.exists() or (database.is_file() and database.stat().st_size == 0):
        return
    with closing(sqlite3.connect(database, timeout=2.0, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        connection.execute("ROLLBACK")
    if names and not {"alembic_version", "experiments", "runs"} <= names:
        raise DataError(
            f"a database of another program (it has the tables {', '.join(sorted(names)[:5])}); "
            "name another file under tracking.uri in params.yaml",
            file=database,
        )


def _create(database: Path, artifacts: Path) -> None:
    """Make the database beside its place and move it there: MLflow's migrations are many transactions, and a
    database that was left between two of them cannot be opened again."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    for left in database.parent.glob(f".{escape(database.name)}.*.part*"):  # by a run that was killed
        left.unlink()
    with atomic_path(database) as partial:
        uri, _ = _absolute(f"sqlite:///{partial}")
        SqlAlchemyStore(uri, artifacts.as_uri())


def _experiment(client: MlflowClient, name: str, artifacts: Path | None, *, where: str, uri: str) -> str:
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        location = None if artifacts is None else artifacts.as_uri()
        return client.create_experiment(name, artifact_location=location, tags=_EXPERIMENT_TAGS)
    if experiment.lifecycle_stage != "active":
        raise DataError(
            f"the experiment {name!r} was deleted in MLflow; bring it back with\n"
            f"  MLFLOW_TRACKING_URI={uri} mlflow experiments restore --experiment-id {experiment.experiment_id}\n"
            "or name another under tracking.experiment in params.yaml",
            file=where,
        )
    if artifacts is not None:
        _check_artifacts(experiment, artifacts, where=where)
    return experiment.experiment_id


def _check_artifacts(experiment: Experiment, artifacts: Path, *, where: str) -> None:
    """MLflow keeps the absolute folder with the experiment: after a move, files would go to the old place."""
    from mlflow.utils.file_utils import local_file_uri_to_path

    kept = Path(local_file_uri_to_path(experiment.artifact_location))
    if kept.resolve() != artifacts.resolve():
        raise DataError(
            f"the experiment {experiment.name!r} keeps its artifacts in {kept}, not in {artifacts}; set "
            "tracking.artifacts in params.yaml to that folder, or name another tracking.experiment (if the "
            "project was moved, its old runs still show, without their files)",
            file=where,
        )


@contextmanager
def _explained(where: str, uri: str) -> Iterator[None]:
    """Turn what MLflow, SQLAlchemy, SQLite and the file system raise into our errors."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except KnownUnknownsError:
        raise
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        said = "the disk is full; free some space and run the same command again" if full else error.strerror
        raise MachineError(f"{error.filename or where}: {said or error}") from error
    except (MlflowException, SQLAlchemyError, sqlite3.Error) as error:
        raise _translated(str(error), where, uri) from error


def _translated(message: str, where: str, uri: str) -> KnownUnknownsError:
    says = message.lower()
    again = "and run the same command again: it continues where it stopped"
    if "is locked" in says:
        return MachineError(f"{where}: another program is writing to this database; close it, {again}")
    if "disk is full" in says or "no space left" in says:
        return MachineError(f"{where}: the disk is full; free some space {again}")
    if "readonly" in says or "unable to open" in says:
        return MachineError(f"{where}: this file or its folder cannot be written; change its permissions {again}")
    if "not a database" in says or "malformed" in says:
        return DataError(
            "not a sound SQLite database; move it away (its runs are lost) and run again: a new one is made from "
            "the tables",
            file=where,
        )
    if "out-of-date database schema" in says or "can't locate revision" in says:
        return DataError(
            f"made by another version of MLflow; copy it to a safe place and run  mlflow db upgrade {uri}  "
            "(or install the version of MLflow that made it)",
            file=where,
        )
    first = message.strip().splitlines()[0] if message.strip() else "no message"
    return MachineError(f"{where}: MLflow failed ({first}); put that right {again}")
