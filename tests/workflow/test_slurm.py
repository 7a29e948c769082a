"""The workflow on a real Slurm of one machine, whose job is ended three times while it asks, and continues.

It reaches its time limit, is preempted, and is cancelled.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from known_unknowns import tables
from known_unknowns.inference.journal import parse_line
from tests.servers import slurm
from tests.servers.slurm import Slurm
from tests.workflow.project import Project

PEERS = Path(sys.prefix) / "peers"
NO_PLUGIN = "snakemake-executor-plugin-slurm is not installed: make test installs tests/peers.txt"
REASON = slurm.missing() or (None if (PEERS / "snakemake_executor_plugin_slurm").is_dir() else NO_PLUGIN)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(REASON is not None, reason=REASON or ""),
]
METRICS = "results/pocket/metrics/uniform/humblebench/metrics.parquet"
JOURNAL = "journal/uniform/humblebench.jsonl"
OPTIONS = [  # of a cluster without accounting, and short waits
    *("--slurm-no-account", "--slurm-status-command", "squeue"),
    *("--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "5"),
]
SHORT_WAITS = """# The executor plugin waits 10 s longer after each check that finds no ended job, without an option.
import asyncio

whole = asyncio.sleep


def sleep(delay, result=None):
    return whole(min(delay, 1), result)


asyncio.sleep = sleep
"""


@pytest.fixture
def cluster() -> Iterator[Slurm]:
    """A running Slurm. Its folder has a short name, because that of a socket may have 107 letters."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    try:
        with Slurm(folder) as running:
            yield running
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def project(untouched: Project, cluster: Slurm, tmp_path: Path) -> Project:
    """The project of the workflow's tests with one slow model, for programs that use the cluster."""

    def change(params):
        params["models"]["uniform"] = {"engine": "respondent", "behaviour": "uniform", "seconds_per_reply": 0.5}
        params["editions"]["pocket"]["models"] = ["uniform"]

    copied = untouched.twin(tmp_path / "project")
    copied.change_params(change)
    (tmp_path / "waits").mkdir()
    (tmp_path / "waits/sitecustomize.py").write_text(SHORT_WAITS, encoding="utf-8")
    packages = os.pathsep.join([str(tmp_path / "waits"), str(PEERS), os.environ.get("PYTHONPATH", "")])
    return replace(copied, environment={**cluster.environment, "PYTHONPATH": packages})


def keys(journal: Path) -> list[str]:
    """The key of every line of the journal, in the order in which the replies came."""
    return [parsed[0] for line in journal.read_bytes().splitlines(keepends=True) if (parsed := parse_line(line))]


class Interrupted:
    """Waits for jobs that ask the model, to end them while they ask."""

    def __init__(self, process: subprocess.Popen, cluster: Slurm, journal: Path) -> None:
        self._process, self._cluster, self._journal = process, cluster, journal

    def job_that_asks(self, after: str | None = None) -> str:
        """Return the job that asks, once it has recorded a reply. ``after`` is the job before it."""
        self._until(lambda: [job for job in self._running() if job != after])
        self.wait_for_replies()
        [job] = self._running()
        return job

    def wait_for_replies(self) -> None:
        """Wait until the running job has recorded another reply."""
        before = self.recorded()
        self._until(lambda: self.recorded() > before)

    def asking(self) -> set[int]:
        """Return the processes that ask the model."""
        folder = str(self._journal.parents[2])  # the project's
        return {
            each.pid
            for each in psutil.process_iter(["cwd", "cmdline"])
            if each.info["cwd"] == folder and any(word.endswith(".infer.py") for word in each.info["cmdline"] or [])
        }

    def wait_for_end(self, asking: set[int]) -> None:
        """Wait until processes have ended. Slurm starts a job again before that if their parents have ended."""
        self._until(lambda: not asking & self.asking())

    def recorded(self) -> int:
        """Return the number of bytes of the journal."""
        return self._journal.stat().st_size if self._journal.is_file() else 0

    def _running(self) -> list[str]:
        return self._cluster.running("rule_infer_wildcards")

    def _until(self, holds: Callable[[], object]) -> None:
        until = time.monotonic() + 600
        while not holds():
            assert self._process.poll() is None, self._process.communicate()[0]
            assert time.monotonic() < until
            time.sleep(0.1)


def test_a_job_that_is_ended_continues_and_the_tables_are_those_of_a_local_run(project, cluster, finished):
    process = project.start("snakemake", "--workflow-profile", "profiles/slurm", *OPTIONS, METRICS)
    journal = project.root / JOURNAL
    interrupted = Interrupted(process, cluster, journal)
    try:
        limited = interrupted.job_that_asks()
        asking = interrupted.asking()
        cluster.end_by_time_limit(limited)
        interrupted.wait_for_end(asking)
        recorded = [interrupted.recorded()]
        preempted = interrupted.job_that_asks(after=limited)
        asking = interrupted.asking()
        cluster.preempt(preempted)
        interrupted.wait_for_end(asking)
        recorded.append(interrupted.recorded())
        interrupted.wait_for_replies()
        cluster.run("scancel", preempted)
        printed = process.communicate(timeout=600)[0]
    finally:
        project.kill(process)
    ended = cluster.finished()
    for each in ended:
        print(
            f"Slurm job {each['JobId']}: {each['JobState']}, {each['StartTime']} to {each['EndTime']}, {each['Tres']}"
        )
    assert process.returncode == 0, printed

    # Three submissions and two repeated ones: the questions and their variants; the model; scores and metrics.
    ours = [each for each in ended if each["Partition"] == "all"]
    states = ["COMPLETED", "TIMEOUT", "PREEMPTED", "CANCELLED", "COMPLETED", "COMPLETED"]
    assert [each["JobState"] for each in ours] == states, printed
    assert [each["JobId"] for each in ours][1:4] == [limited, preempted, preempted]
    memory = ["mem=4295M", "mem=6443M", "mem=6443M", "mem=9664M"]  # 4 GiB, and half as much again for each submission
    assert all(f"{expected}," in job["Tres"] for expected, job in zip(memory, ours[1:5], strict=True))
    assert ours[2]["TimeLimit"] == "60"
    assert 0 < recorded[0] < recorded[1] < journal.stat().st_size
    # Each submission that failed, with its log; the log of a job that was requeued is written anew.
    for job, state in ((limited, "TIMEOUT"), (preempted, "CANCELLED")):
        assert f"SLURM-job '{job}' failed, SLURM status is: '{state}'" in printed, printed
    # At least once: Slurm may report the end of a job before the log's last line is written.
    assert "stopped by a signal; the replies so far are kept" in printed, printed
    assert "submitted and not started: 1" in printed

    local, _ = finished
    asked = keys(journal)
    assert len(asked) == len(set(asked))
    assert set(asked) == set(keys(local.root / JOURNAL))
    here, there = (
        [replace(row, reply=replace(row.reply, seconds=0.0)) for row in tables.read_replies(path)]
        for path in (p.root / "results/pocket/replies/uniform/humblebench/replies.parquet" for p in (project, local))
    )
    assert here == there
    answers = [p.root / "results/pocket/answers/uniform/humblebench/answers.parquet" for p in (project, local)]
    assert tables.read_scores(answers[0]) == tables.read_scores(answers[1])
    assert tables.read_metrics(project.root / METRICS) == tables.read_metrics(local.root / METRICS)
