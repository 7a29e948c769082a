"""Git is killed: no partial checkout is accepted, and the same command completes it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from known_unknowns.data.store import FOLDER

from .conftest import ROOT
from .test_git_data import check_out, repository, run

FILES = {f"asset/{number}.bin": random.Random(number).randbytes(200_000) for number in range(10)}
ADDRESS = "https://git.example.org/maker/actiview"
"""The address in params.yaml. Git is configured to use the local repository instead."""
STALLED = 300_000
"""Bytes of the pack (about 2 MB) that are sent before the transfer stops."""


@pytest.fixture
def published(tmp_path):
    """A repository of one commit with ten files of random bytes."""
    folder = repository(tmp_path / "published")
    for path, content in FILES.items():
        (folder / path).write_bytes(content)
    run(folder, "add", "--all")
    run(folder, "commit", "--quiet", "--message", "one")
    return {"source": "git", "repository": folder.as_uri(), "revision": run(folder, "rev-parse", "HEAD")}


@pytest.fixture
def params(published, tmp_path):
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    raw["benchmarks"]["actiview"]["data"]["full"] |= published | {"repository": ADDRESS}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    return tmp_path / "params.yaml"


@pytest.fixture
def start(params, published, tmp_path):
    """Start `known-unknowns fetch actiview` in a new process group, with this configuration of git."""
    started = []
    instead = f'[url "{published["repository"]}"]\n\tinsteadOf = {ADDRESS}\n'

    def begin(settings: str = "") -> subprocess.Popen:
        (tmp_path / "gitconfig").write_text(instead + settings, encoding="utf-8")
        command = [sys.executable, "-m", "known_unknowns", "fetch", "actiview", "--edition", "full"]
        environment = os.environ | {"GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"), "PYTHONPATH": str(ROOT / "src")}
        process = subprocess.Popen(
            [*command, "--params", str(params)],
            cwd=tmp_path,
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        end_group(process)
        process.stderr.close()


def end_group(process: subprocess.Popen) -> None:
    """Kill all remaining processes of the group, orphans included."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(60)


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def stalling(tmp_path) -> str:
    """The part of git that sends the pack comes to a halt in the middle of it; it is kept as it comes, like that of a
    repository with more than a few files."""
    hook = script(tmp_path / "stall.sh", f'"$@" | (head -c {STALLED}; sleep 600)')
    return f'[uploadpack]\n\tpackObjectsHook = "{hook}"\n[fetch]\n\tunpackLimit = 1\n'


@pytest.fixture
def slow_checkout(tmp_path) -> str:
    """Writing each file takes some time."""
    (tmp_path / "attributes").write_text("* filter=slow\n", encoding="utf-8")
    filtering = script(tmp_path / "slow.sh", "cat; sleep 0.3")
    return f'[core]\n\tattributesFile = {tmp_path / "attributes"}\n[filter "slow"]\n\tsmudge = "{filtering}"\n'


def wait_for(process: subprocess.Popen, there) -> None:
    deadline = time.monotonic() + 60
    while not there():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def received(tmp_path) -> int:
    """Bytes received of the pack."""
    found = tmp_path.glob(f"data/full/raw/{FOLDER}/actiview.work*/**/tmp_pack_*")
    return sum(path.stat().st_size for path in found)


def checked_out(tmp_path) -> int:
    return len(list(tmp_path.glob(f"data/full/raw/{FOLDER}/actiview.work*/**/asset/*.bin")))


def assert_whole(out: Path) -> None:
    there = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert there == FILES
    assert not [path for path in (out.parent / FOLDER).iterdir() if path.is_dir()]


def assert_made_whole(start, out: Path) -> None:
    """By the same command, run again."""
    again = start()
    assert again.wait(60) == 0, again.stderr.read()
    assert_whole(out)


@pytest.mark.parametrize("whole_group", [False, True], ids=["its git outlives it", "with its git"])
def test_a_fetch_killed_during_the_transfer(start, stalling, tmp_path, whole_group):
    out = tmp_path / "data/full/raw/actiview"
    process = start(stalling)
    wait_for(process, lambda: received(tmp_path) > STALLED // 2)
    os.kill(-process.pid if whole_group else process.pid, signal.SIGKILL)
    process.wait(60)
    assert not out.exists()
    assert_made_whole(start, out)


def test_a_killed_git_is_one_error(start, stalling, tmp_path):
    out = tmp_path / "data/full/raw/actiview"
    process = start(stalling)
    wait_for(process, lambda: received(tmp_path) > STALLED // 2)
    (git,) = children(process.pid)
    os.kill(git, signal.SIGKILL)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 4, said
    assert f"cannot fetch {ADDRESS}" in said
    assert "run again" in said
    assert "Traceback" not in said
    assert not out.exists()
    assert_made_whole(start, out)


def test_a_fetch_killed_during_checkout(start, slow_checkout, tmp_path):
    """A complete checkout of another commit stays until the new one is complete."""
    out = tmp_path / "data/full/raw/actiview"
    out.mkdir(parents=True)
    (out / "old.json").write_text("{}", encoding="utf-8")
    process = start(slow_checkout)
    wait_for(process, lambda: 0 < checked_out(tmp_path) < len(FILES))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(60)
    assert checked_out(tmp_path) < len(FILES)
    assert [path.name for path in out.iterdir()] == ["old.json"]
    assert_made_whole(start, out)


def test_a_folder_that_a_killed_fetch_still_writes_is_not_used(published, tmp_path):
    """The folder cannot be deleted."""
    out = tmp_path / "raw/actiview"
    left = out.parent / FOLDER / "actiview.work"
    writing = """
import contextlib, itertools, os, sys
for number in itertools.count():
    with contextlib.suppress(OSError):
        os.makedirs(f"{sys.argv[1]}/{number % 50}", exist_ok=True)
"""
    orphan = subprocess.Popen([sys.executable, "-c", writing, left], stderr=subprocess.DEVNULL)
    try:
        while not left.is_dir():
            time.sleep(0.01)
        check_out(published, out)
        assert orphan.poll() is None
    finally:
        orphan.kill()
        orphan.wait()
    assert {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*.bin")} == FILES


def children(process: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if int(fields[1]) == process:
            found.append(int(status.parent.name))
    return found
