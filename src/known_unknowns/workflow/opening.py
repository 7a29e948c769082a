"""Where the report and the MLflow runs of a finished run are, and the commands that serve them on this machine."""

from __future__ import annotations

import itertools
import os
import shlex
import sqlite3
import sys
import webbrowser
from collections.abc import Iterator
from pathlib import Path

from known_unknowns import json_files
from known_unknowns.config import Params, without_password
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import DataError
from known_unknowns.run_command import run_command
from known_unknowns.tables.parquet import is_truncated
from known_unknowns.tracking.store import follow_artifacts
from known_unknowns.workflow import end_products

_UI = "http://127.0.0.1:5000/"
"""Where ``mlflow ui`` serves by default."""


def report_page(params: Params) -> Path:
    """Return the first page of the report.

    Raises DataError if there is no report, a file of the results has changed since, or a table of replies is truncated.
    """
    page = Path("results", params.edition, "report", "index.html")
    if not page.is_file():
        message = f"no run of this edition has finished here; start it with  {run_command(params.edition)}"
        raise DataError(message, file=page)
    end_products.check(page.parent.parent, params.edition)
    _check_replies(params)
    return page


def _check_replies(params: Params) -> None:
    files = EditionFiles.of(params)
    for model, benchmark in itertools.product(params.models, params.benchmarks):
        table = files.replies(model, benchmark)
        if table.is_file() and is_truncated(table):
            again = f"make it again with  {run_command(params.edition, '--forcerun', table.as_posix())}"
            if params.is_imported(model) and params.data(benchmark).source != "released":
                again = "its replies were imported; import them again"
            raise DataError(f"truncated, so that its replies cannot be read; {again}", file=table)


def program(name: str) -> str:
    """Return a program of this installation as it can be called from this folder."""
    path = Path(sys.executable).parent / name
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def places(params: Params, page: Path) -> Iterator[str]:
    """Yield lines with the report's ``page``, MLflow's table of models, and the commands that serve them.

    Before the table is named, the places of artifacts in the local database of a project that was moved are corrected.
    """
    yield f"Report     {page.absolute()}"
    serve = [program("python"), "-m", "http.server", "--bind", "127.0.0.1", "-d", str(page.parent)]
    yield f"           {shlex.join(serve)}"
    uri, table = params.tracking.uri, mlflow_page(page.parent.parent / "tracking.json")
    if not params.tracking.enabled or not table:
        yield "MLflow     no runs of this edition"
    elif uri.startswith(("http://", "https://")):
        yield f"MLflow     {without_password(uri).rstrip('/')}/{table}"
    elif uri.startswith("databricks"):
        yield f"MLflow     {without_password(uri)}"
    else:
        _correct_artifacts(uri, Path(params.tracking.artifacts))
        yield f"MLflow     {mlflow_command(uri)}"
        yield f"           {_UI}{table}"


def mlflow_command(uri: str) -> str:
    """Return the command that serves a local MLflow store, or one in a database."""
    return shlex.join([program("mlflow"), "ui", "--backend-store-uri", without_password(uri)])


def mlflow_page(listing: Path) -> str:
    """Return the address of the table of models below that of the server; empty if no run was logged."""
    return (json_files.read(listing).get("page") or "") if listing.is_file() else ""


def _correct_artifacts(uri: str, artifacts: Path) -> None:
    database = Path(uri.removeprefix("sqlite:///"))
    if not uri.startswith("sqlite:///") or not database.is_file():
        return
    try:
        follow_artifacts(database, artifacts.absolute())
    except sqlite3.Error as error:
        message = f"the places of artifacts cannot be read or corrected ({error}); close programs that write to it"
        raise DataError(f"{message}, or move it away (its runs are lost)", file=database) from error


def open_in_browser(page: Path) -> None:
    """Open a page in a browser, if there is a display."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    if not sys.platform.startswith("linux") or any(os.environ.get(name) for name in names):
        webbrowser.open(page.absolute().as_uri())
