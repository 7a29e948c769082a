"""Serve the report of a run and its MLflow runs on this machine, until a signal ends it."""

from __future__ import annotations

import json
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
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import IO
from urllib.error import URLError
from urllib.request import Request, urlopen

from known_unknowns import json_files
from known_unknowns.config import Params, without_password
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.workflow import end_products
from known_unknowns.workflow.guard import (
    HOST,
    App,
    Guard,
    Receive,
    Scope,
    Send,
    address_of,
    chosen_token,
    cookie_of,
    guarded,
    listen,
    with_headers,
)

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
    ConfigError
        If the packages of a server are not installed.
    DataError
        If there is no report, or a file of the results has changed since.
    MachineError
        If the port is taken.
    """
    page = root / "results" / params.edition / "report" / "index.html"
    if not page.is_file():
        message = f"no run of this edition has finished here; start it with  make run EDITION={params.edition}"
        raise DataError(message, file=page)
    end_products.check(page.parent.parent, params.edition)
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"open needs {' and '.join(missing)}; install known-unknowns[workflow], or open {page} in a browser"
        )
    token = chosen_token()
    with (
        _until_signal() as ended,
        _report_server(page.parent, port, token) as address,
        _browser_page(page.parent.parent / "open.html", address) as opening,
    ):
        say(f"Report     {address}")
        if browser and _has_display():
            webbrowser.open(opening.absolute().as_uri())
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


def report_files(folder: Path) -> App:
    """Return the application of the report's files. Folders are not listed, no link is followed out of them."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.routing import Mount
    from starlette.staticfiles import StaticFiles

    return Starlette(routes=[Mount("/", StaticFiles(directory=folder, html=True))], middleware=[Middleware(_Uncached)])


class _Uncached:
    """Lets a browser ask for each page again, because the next run changes it."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, with_headers(send, {"cache-control": "no-cache"}))


@contextmanager
def _report_server(folder: Path, port: int, token: str) -> Iterator[str]:
    """Serve a folder in a thread, and yield its address."""
    with listen(HOST, port) as listening:
        server = guarded(Guard(report_files(folder), token=token))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            yield f"{address_of(listening)}?token={token}"
        finally:
            server.should_exit = True
            thread.join(_STOP_SECONDS)


@contextmanager
def _browser_page(page: Path, address: str) -> Iterator[Path]:
    """Yield a page that leads to the address and that only its owner reads: all users see a browser's arguments."""
    page.unlink(missing_ok=True)
    page.touch(0o600, exist_ok=False)
    page.write_text(
        f'<!doctype html><meta http-equiv="refresh" content="0; url={address}"><title>Report</title>\n',
        encoding="utf-8",
    )
    try:
        yield page
    finally:
        page.unlink(missing_ok=True)


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
        with tempfile.TemporaryFile() as output, listen(HOST, 0) as listening:
            token, address = chosen_token(), address_of(listening)
            process = _start_mlflow(params, root, token, listening, output)
            try:
                if _answers(f"{address}health", token, process, ended):
                    say(f"MLflow     {address}?token={token}{page}")
                elif not ended.is_set():
                    say(f"MLflow     did not start; only the report is served. {_last_line(output)}")
                    _stop(process)
                yield process if process.poll() is None else None
            finally:
                _stop(process)


def mlflow_page(listing: Path) -> str:
    """Return the address of the table of models below that of the server; empty if no run was logged."""
    return (json_files.read(listing).get("page") or "") if listing.is_file() else ""


def _start_mlflow(
    params: Params, root: Path, token: str, listening: socket.socket, output: IO[bytes]
) -> subprocess.Popen[bytes]:
    """Start the server in a session of its own, so that Ctrl-C ends it only through this process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "known_unknowns.workflow.mlflow_server"],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=[listening.fileno()],
    )
    artifacts = str((root / params.tracking.artifacts).absolute())
    settings = {"uri": params.tracking.uri, "artifacts": artifacts, "token": token, "socket": listening.fileno()}
    assert process.stdin
    with suppress(BrokenPipeError), process.stdin as stdin:
        stdin.write(json.dumps(settings).encode())
    return process


def _answers(address: str, token: str, process: subprocess.Popen[bytes], ended: threading.Event) -> bool:
    """Wait until a server answers; False if it ends before, or a signal came."""
    request = Request(address, headers={"Cookie": cookie_of(token)})  # noqa: S310 (our own address)
    until = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < until and not ended.wait(_POLL_SECONDS):
        with suppress(URLError, OSError), urlopen(request, timeout=5):  # noqa: S310
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
