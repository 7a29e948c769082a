"""A killed run, and the run that follows it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from functools import partial
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SLOW = ("results/pocket/replies/slow/humblebench/engine.json", "--config", "edition=pocket")


def add_model(params, seconds):
    params["models"]["slow"] = {"engine": "respondent", "behaviour": "uniform", "seconds_per_reply": seconds}
    params["editions"]["pocket"]["models"] = ["slow"]


@pytest.fixture
def at_work(rerun):
    """A project with a run during inference, and the process of this run, which leads a process group."""
    rerun.change_params(partial(add_model, seconds=2))  # minutes: it is not to end by itself
    journal = rerun.root / "journal/slow/humblebench.jsonl"
    process = rerun.start("snakemake", "--cores", "2", *SLOW)
    until = time.monotonic() + 300
    while not (journal.is_file() and journal.stat().st_size):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < until
        time.sleep(0.02)
    yield rerun, process, journal
    rerun.kill(process)


def test_a_second_run_is_refused_and_the_same_command_continues_a_killed_run(at_work):
    project, process, journal = at_work
    for _ in range(2):  # the first attempt does not erase the name
        printed = project.snakemake(*SLOW, code=1)
        assert f"another run is active in this folder (process {process.pid})" in printed
    assert process.poll() is None

    project.kill(process)
    assert process.returncode == -signal.SIGKILL
    asked = journal.read_bytes().splitlines()
    assert not (project.root / SLOW[0]).exists()

    project.change_params(partial(add_model, seconds=0))  # which is no part of a reply's identity
    project.snakemake(*SLOW)
    assert (project.root / SLOW[0]).is_file()
    lines = journal.read_bytes().splitlines()
    assert len(lines) > len(asked) > 0
    assert lines[: len(asked) - 1] == asked[:-1]  # the last line may have been torn
    keys = [json.loads(line)["key"] for line in lines]
    assert len(keys) == len(set(keys))  # nothing was asked twice

    table = project.root / SLOW[0].replace("engine.json", "replies.parquet")
    continued = table.read_bytes()
    shutil.rmtree(table.parent)
    journal.unlink()
    project.snakemake(*SLOW)
    assert continued == table.read_bytes()  # that of a run without a stop


def test_a_job_that_outlives_its_run_keeps_its_log_and_is_named(at_work):
    project, process, _ = at_work
    log = project.root / "results/pocket/logs/infer/slow/humblebench.log"
    until = time.monotonic() + 60
    while not (before := log.read_bytes()):  # its progress
        assert time.monotonic() < until
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)  # and not its process group
    process.wait()
    printed = project.snakemake(*SLOW, code=1)
    (named,) = re.findall(r"jobs of a stopped run are active in this folder \(process (\d+)\)", printed)
    assert b"infer" in Path("/proc", named, "cmdline").read_bytes()
    assert log.read_bytes().startswith(before)
    os.killpg(process.pid, signal.SIGKILL)
