"""A review server in a process of its own, for tests."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from known_unknowns_construction.review.guard import cookie_of
from tests.paths import SOURCE


class Server:
    """``known-unknowns review`` with these arguments. It can be killed and started again at the same address.

    ``wrapper`` is a program that runs it in its own process, such as a tracer.
    """

    def __init__(self, *arguments: str | Path, folder: Path, port: int = 0, wrapper: Sequence[str] = ()) -> None:
        self.wrapper = wrapper
        self.arguments, self.folder, self.port = [str(argument) for argument in arguments], folder, port or free_port()
        self.start()

    def start(self) -> None:
        """Start it and wait until it has printed its addresses."""
        environment = os.environ | {"PYTHONPATH": str(SOURCE.parent), "OMP_NUM_THREADS": "1"}
        environment["XDG_STATE_HOME"] = str(self.folder / "state")
        review = [sys.executable, "-m", "known_unknowns", "review", "start", *self.arguments, "--port", str(self.port)]
        self._process = subprocess.Popen(
            [*self.wrapper, *review],
            cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert self._process.stdout
        self.printed = []
        for line in self._process.stdout:
            self.printed.append(line.rstrip("\n"))
            if "http://" in line:
                return
        raise AssertionError("\n".join(self.printed))

    def kill(self) -> None:
        """End it as a crash of the machine would."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """Press Ctrl-C, and return the exit code."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(timeout=30)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def token(self) -> str:
        """The token in the address that it printed."""
        return parse_qs(urlsplit(self.printed[-1].split()[-1]).query)["token"][0]

    def ask(self, path: str, body: Any = None, **headers: str) -> tuple[int, Any, dict[str, str]]:
        """Return the status, the text or JSON value, and the headers of a response. Redirects are not followed.

        The cookie of a browser that has presented the token is sent, unless another one is given.
        """
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = {} if data is None else {"Content-Type": "application/json"}
        given = {"Cookie": cookie_of(self.token)} | {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(self.address + path, data=data, headers=kind | given)
        try:
            with build_opener(_NoRedirects).open(request, timeout=30) as response:
                return _read(response.status, response)
        except HTTPError as error:
            return _read(error.code, error)


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def _read(status: int, response: Any) -> tuple[int, Any, dict[str, str]]:
    data, headers = response.read(), {name.lower(): value for name, value in response.headers.items()}
    if headers.get("content-type", "").startswith("application/json"):
        return status, json.loads(data), headers
    return status, data if headers.get("content-type", "").startswith("image/") else data.decode(), headers


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
