"""Released servers in processes of their own, at a free port of this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Server:
    """A started program. ``url`` is its address without a path, ``log`` the file of both its outputs."""

    process: subprocess.Popen
    url: str
    log: Path

    def wait(self, path: str, *, seconds: float) -> None:
        """Wait until ``path`` is answered with status 200; fail with the log if the program ends or takes longer."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.url}{path}", timeout=5).close()
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
            else:
                return
        how = "has not answered" if self.process.poll() is None else f"has ended ({self.process.returncode})"
        raise AssertionError(f"the server {how}; its log:\n{self.log.read_text(encoding='utf-8')[-4000:]}")


@contextmanager
def started(*command: str | Path, environment: Mapping[str, str], folder: Path) -> Iterator[Server]:
    """Start a server with ``--port`` and a free port; end it and its children afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "server.log"
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [*map(str, command), "--host", "127.0.0.1", "--port", str(port)],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield Server(process, f"http://127.0.0.1:{port}", log)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
