"""A git server on this machine (git daemon), and the environment in which it stands for github.com."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def has_daemon() -> bool:
    """Whether git can serve repositories."""
    if shutil.which("git") is None:
        return False
    folder = subprocess.run(["git", "--exec-path"], check=True, capture_output=True, text=True).stdout.strip()
    return Path(folder, "git-daemon").is_file()


@contextmanager
def git_server(root: Path) -> Iterator[Mapping[str, str]]:
    """Serve the repositories <root>/<owner>/<name>; yield variables with which git uses them for https://github.com."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["git", "daemon", "--export-all", f"--base-path={root}", "--listen=127.0.0.1", f"--port={port}"]
    process = subprocess.Popen([*command, str(root)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(port)
        yield {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.git://127.0.0.1:{port}/.insteadOf",
            "GIT_CONFIG_VALUE_0": "https://github.com/",
        }
    finally:
        process.terminate()
        process.wait()


def _wait(port: int) -> None:
    for _ in range(100):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError("git daemon did not start")
