"""kill -9 during a download: no partial file is accepted, and no byte is requested twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

from .conftest import REPOSITORY, ROOT

LARGE = random.Random(1).randbytes(3_000_000)
FILES = {"README.md": b"# HumbleBench\n", "data/train-0.parquet": LARGE}


def start(hub, folder):
    """Start `known-unknowns data fetch humblebench` in a new process."""
    command = [sys.executable, "-m", "known_unknowns", "data", "fetch", "humblebench", "--edition", "full"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    environment |= {"HF_ENDPOINT": hub.url, "HF_HOME": str(folder / "home"), "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(
        [*command, "--params", str(ROOT / "params.yaml")],
        cwd=folder,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_killed_download_continues_without_repeating_a_byte(serve, tmp_path):
    hub = serve(pace=0.05)
    hub.commit(REPOSITORY, FILES)
    out, kept = tmp_path / "data/full/raw/humblebench", 0
    for _ in range(2):
        process = start(hub, tmp_path)
        deadline = time.monotonic() + 60
        while not any(part.stat().st_size > kept + 500_000 for part in out.parent.glob(".fetched/parts/*/sha256-*")):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert not out.exists()
        (part,) = out.parent.glob(".fetched/parts/*/sha256-*")
        kept = part.stat().st_size
        assert 0 < kept < len(LARGE)
        assert LARGE.startswith(part.read_bytes())

    hub.pace = 0
    hub.log.clear()
    process = start(hub, tmp_path)
    assert process.wait(60) == 0, process.stderr.read()
    assert (out / "data/train-0.parquet").read_bytes() == LARGE
    assert [request.range for request in hub.asked("/cdn/")] == [f"bytes={kept}-"]
    assert sum(request.sent for request in hub.asked("/cdn/")) == len(LARGE) - kept
    process.stderr.close()
