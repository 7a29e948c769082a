"""Serve the report of a run and its MLflow runs on this machine, until a signal ends it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import IO
from urllib.error import URLError
from urllib.request import urlopen

from known_unknowns import json_files
from known_unknowns.config import Params, without_password
from known_unknowns.errors import DataError, MachineError

HOST = "127.0.0.1"
_START_SECONDS = 120.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.2


def serve(
    params: Params, *, root: Path = Path(), port: int = 0, browser: bool = True, say: Callable[[str], None] = print
) -> None:
    """Serve the report and MLflow, and return after SIGINT or SIGTERM.

    Parameters
    ----------
    params : Params
        The configuration, with the edition and the MLflow store.
    root : Path
        The project's folder.
    port : int
        The port of the report; 0 for any free one.
    browser : bool
        Open a browser, if there is a display.
    say : callable
        Receives the addresses.

    Raises
    ------
    DataError
        If there is no report.
    MachineError
        If the port is taken.
    """
    page = root / "results" / params.edition / "report" / "index.html"
    if not page.is_file():
        message = f"no run of this edition has finished here; start it with  make run EDITION={params.edition}"
        raise DataError(message, file=page)
    with _until_signal() as ended, _report_server(page.parent, port) as address:
        say(f"Report     {address}")
        if browser and _has_display():
            webbrowser.open(address)
        with _mlflow(params, root, say, ended) as mlflow:
            say("Press Ctrl-C to end.")
            while not ended.wait(_POLL_SECONDS):
                if mlflow is not None and mlflow.poll() is not None:
                    say(f"MLflow     ended with code {mlflow.returncode}; the report is still served")
                    mlflow = None


@contextmanager
def _until_signal() -> Iterator[threading.Event]:
    """Yield an event that SIGINT and SIGTERM set. A second SIGINT works as usual."""
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _ReportFiles(SimpleHTTPRequestHandler):
    """The files of the report. Folders are not listed, requests are not logged, and pages are not cached."""

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def list_directory(self, path: str | os.PathLike[str]) -> None:
        self.send_error(HTTPStatus.NOT_FOUND)

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


class _ReportServer(ThreadingHTTPServer):
    """Serves `_ReportFiles`. A browser that leaves a page before it is loaded is no error."""

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def _report_server(folder: Path, port: int) -> Iterator[str]:
    """Serve a folder in threads, and yield its address."""
    try:
        server = _ReportServer((HOST, port), partial(_ReportFiles, directory=str(folder)))
    except OSError as error:
        raise MachineError(f"port {port} cannot be used ({error.strerror}); choose another --port") from error
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def _mlflow(
    params: Params, root: Path, say: Callable[[str], None], ended: threading.Event
) -> Iterator[subprocess.Popen[bytes] | None]:
    """Print the address of the table of models. For a local store, run a server, and yield its process."""
    uri = params.tracking.uri
    page = mlflow_page(root / "results" / params.edition / "tracking.json")
    if not params.tracking.enabled or not page:
        say("MLflow     no runs of this edition")
        yield None
    elif uri.startswith(("http://", "https://")):
        say(f"MLflow     {without_password(uri).rstrip('/')}/{page}")
        yield None
    else:
        with tempfile.TemporaryFile() as output:
            process, address = _start_mlflow(uri, root, output)
            try:
                if _answers(f"{address}health", process, ended):
                    say(f"MLflow     {address}{page}")
                elif not ended.is_set():
                    say(f"MLflow     did not start; only the report is served. {_last_line(output)}")
                    _stop(process)
                yield process if process.poll() is None else None
            finally:
                _stop(process)


def mlflow_page(listing: Path) -> str:
    """Return the address of the table of models below that of the server; empty if no run was logged."""
    return (json_files.read(listing).get("page") or "") if listing.is_file() else ""


def _start_mlflow(uri: str, root: Path, output: IO[bytes]) -> tuple[subprocess.Popen[bytes], str]:
    """Start the server on a free port, in a session of its own, so that Ctrl-C ends it only through this process."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", uri]
    command += ["--host", HOST, "--port", str(port), "--workers", "1"]
    # Jobs are for the evaluation of traces; their workers are seven more processes.
    environment = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"} | os.environ
    process = subprocess.Popen(
        command,
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    return process, f"http://{HOST}:{port}/"


def _answers(address: str, process: subprocess.Popen[bytes], ended: threading.Event) -> bool:
    """Wait until a server answers; False if it ends before, or a signal came."""
    until = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < until and not ended.wait(_POLL_SECONDS):
        with suppress(URLError, OSError), urlopen(address, timeout=5):  # noqa: S310 (our own address)
            return True
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and its children."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_STOP_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_line(output: IO[bytes]) -> str:
    output.seek(0)
    lines = [line for line in output.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _has_display() -> bool:
    if sys.platform.startswith("linux"):
        return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    return True
