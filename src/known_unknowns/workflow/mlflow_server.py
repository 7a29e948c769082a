"""MLflow's server behind the guard, in a process of its own: ``python -m known_unknowns.workflow.mlflow_server``.

The settings come on standard input, because every user of a machine sees the arguments of its processes.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

from known_unknowns.tracking.store import follow_artifacts
from known_unknowns.workflow.guard import Guard, guarded

ENVIRONMENT = {
    # Jobs are for the evaluation of traces; their workers are seven more processes.
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}


def serve(uri: str, artifacts: Path, token: str, listening: socket.socket) -> None:
    """Serve an MLflow store until a signal ends it.

    Parameters
    ----------
    uri : str
        The store.
    artifacts : Path
        The folder of the artifacts. Those elsewhere are not served.
    token : str
        What a browser must present.
    listening : socket.socket
    """
    given = {
        "_MLFLOW_SERVER_FILE_STORE": uri,
        "_MLFLOW_SERVER_REGISTRY_STORE": uri,
        "_MLFLOW_SERVER_ARTIFACT_ROOT": artifacts.as_uri(),
    }
    os.environ.update(given)
    if uri.startswith("sqlite:///") and (database := Path(uri.removeprefix("sqlite:///"))).is_file():
        follow_artifacts(database, artifacts)
    from mlflow.server.handlers import initialize_backend_stores

    initialize_backend_stores(*given.values())
    confine_artifacts(artifacts)
    from mlflow.server.fastapi_app import app

    with suppress(KeyboardInterrupt):
        guarded(Guard(app, token=token)).run(sockets=[listening])


def confine_artifacts(folder: Path) -> None:
    """Let MLflow read and write local artifacts below this folder only.

    MLflow follows no link out of a run's folder of artifacts, but that folder can itself be a link, or be any folder
    that the client which created the experiment named.
    """
    from mlflow.store.artifact import artifact_repository_registry
    from mlflow.store.artifact.local_artifact_repo import LocalArtifactRepository
    from mlflow.utils.uri import validate_path_within_directory

    class Confined(LocalArtifactRepository):
        """A run's folder of artifacts."""

        @property
        def artifact_dir(self) -> str:
            """The folder."""
            return validate_path_within_directory(str(folder), super().artifact_dir)

        def delete_artifacts(self, artifact_path: str | None = None) -> None:
            """Delete artifacts."""
            validate_path_within_directory(str(folder), str(Path(self.artifact_dir, artifact_path or "")))
            super().delete_artifacts(artifact_path)  # type: ignore[no-untyped-call]

    for scheme in ("", "file"):
        artifact_repository_registry._artifact_repository_registry.register(scheme, Confined)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    os.environ.update(ENVIRONMENT | os.environ)
    received = json.load(sys.stdin)
    with socket.socket(fileno=received["socket"]) as inherited:
        serve(received["uri"], Path(received["artifacts"]), received["token"], inherited)
