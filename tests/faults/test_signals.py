"""SIGTERM during inference and during a workflow. Real processes, signals and HTTP."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from known_unknowns import tables
from known_unknowns.inference.journal import Journal
from known_unknowns.workflow import configuration
from tests import scripts
from tests.factories import question
from tests.paths import ROOT
from tests.servers.endpoint import MODEL, Endpoint

JOB = """
import signal, sys, time
sys.stderr = open(snakemake.log[0], "w")
signal.signal(signal.SIGTERM, lambda *_: (open("told", "w"), sys.exit(5)))
open("started", "w")
time.sleep(60)
"""


@pytest.fixture
def infer(tmp_path):
    """Starts a job of the rule infer with a model behind a slow endpoint."""
    raw = yaml.safe_load((ROOT / "params.yaml").read_text())
    raw["editions"]["pocket"] |= {"models": ["parrot"], "benchmarks": ["humblebench"], "seeds": [0]}
    benchmark = raw["benchmarks"]["humblebench"] | {"variants": ["original"]}
    raw["benchmarks"]["humblebench"] = {key: benchmark[key] for key in ("protocol", "variants")}
    questions = [question(f"q{n}", text=f"[q{n}] Which?", images=()) for n in range(60)]
    tables.write_variant(tmp_path / "variants/original.parquet", {0: questions})

    def start(url, **entry):
        raw["models"]["parrot"] = {"engine": "openai", "source": MODEL, "concurrency": 4} | entry
        if url is not None:
            raw["models"]["parrot"]["base_url"] = url
        command = scripts.infer(tmp_path, configuration.check(raw), "parrot", "humblebench")
        return subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)

    return start


def _log(process, folder):
    """Wait for the end of a job, and return its log. It writes nothing elsewhere."""
    assert process.communicate(timeout=60)[1] == ""
    return (folder / scripts.LOG).read_text(encoding="utf-8")


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    assert condition()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_server_that_the_job_started_ends_with_it(infer, tmp_path, number):
    command = f"{sys.executable} {ROOT / 'tests/servers/launched.py'}"
    ignores = ["--stubborn"] if number == signal.SIGKILL else []  # then SIGTERM, and so does its child
    process = infer(None, launch={"command": command, "arguments": ["--seconds", "0.2", *ignores]})
    log = tmp_path / "results/server_logs/parrot/j.log"
    until(lambda: log.is_file() and log.read_text().count("asked") >= 3)
    servers = [int(line.split()[1]) for line in log.read_text().splitlines() if line.startswith("pid")]
    process.send_signal(number)
    said = _log(process, tmp_path)
    assert process.returncode == (-number if number == signal.SIGKILL else 5)
    assert "Traceback" not in said
    assert len(servers) == 1 + len(ignores)
    until(lambda: not any(Path(f"/proc/{server}").exists() for server in servers), seconds=30)


@pytest.mark.parametrize("numbers", [[signal.SIGTERM] * 40, [signal.SIGINT]])
def test_requests_under_way_are_journaled(infer, tmp_path, numbers):
    """Slurm's programs send SIGTERM more than once. Here it comes until the process has ended."""
    with Endpoint(latency=0.4) as server:
        process = infer(server.url)
        until(lambda: len(server.asked) >= 6 and server.under_way == 4)
        for number in numbers:
            process.send_signal(number)
            time.sleep(0.05)
        said = _log(process, tmp_path)
        answered = sum(server.answered.values())
        assert sum(server.asked.values()) == answered < 60
    assert process.returncode == 5
    assert "stopped by a signal" in said and "Traceback" not in said
    with Journal(tmp_path / "j.jsonl") as journal:
        assert len(journal) == answered
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("limit", ["requests_per_minute", "tokens_per_minute"])
def test_a_pause_of_the_pacing_ends_at_once(infer, tmp_path, limit):
    """The next request is minutes away, and none is under way."""
    with Endpoint() as server:
        process = infer(server.url, **{limit: 1})
        until(lambda: sum(server.answered.values()) >= 1)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        since = time.monotonic()
        said = _log(process, tmp_path)
        assert time.monotonic() - since < 15  # less than the time for requests under way
    assert process.returncode == 5 and "stopped by a signal" in said and "Traceback" not in said


def test_a_second_signal_ends_it_without_a_traceback(infer, tmp_path):
    with Endpoint(latency=20.0) as server:
        process = infer(server.url)
        until(lambda: server.asked or server.under_way)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        said = _log(process, tmp_path)
    assert process.returncode not in (0, 5) and "Traceback" not in said


@pytest.fixture
def slow_workflow(project):
    """A workflow whose only job ends on a signal, or after a minute; started, with the job at work."""
    (project.root / "job.py").write_text(JOB)
    rule = "rule slow:\n    output: 'made'\n    log: 'log'\n    script: 'job.py'\n"
    start = "onstart:\n    start_run()\n"
    text = 'include: "rules/common.smk"\n\nrule all:\n    default_target: True\n    input: "made"\n\n'
    (project.root / "Snakefile").write_text(f"{text}{rule}\n{start}")
    process = project.start("snakemake", "--cores", "1", "--nolock")
    try:
        until(lambda: (project.root / "started").is_file())
        yield project, process
    finally:
        project.kill(process)


def test_the_workflow_forwards_sigterm(slow_workflow):
    project, process = slow_workflow
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=55)
    assert process.returncode != 0
    assert (project.root / "told").is_file()


def test_ctrl_c_twice_ends_the_workflow_without_a_traceback(slow_workflow):
    """As on a terminal, all processes of the run receive both signals."""
    _, process = slow_workflow
    for _ in range(2):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.3)
    said = process.communicate(timeout=55)[0]
    assert process.returncode != 0 and "Traceback" not in said, said
