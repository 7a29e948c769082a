"""The workflow on a real Slurm of one machine: a job that is cancelled while it asks, and the jobs that follow."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from known_unknowns import tables
from known_unknowns.inference.journal import parse_line
from tests.servers import slurm
from tests.servers.slurm import Slurm
from tests.workflow.conftest import VARIANTS
from tests.workflow.project import Project

PEERS = Path(sys.prefix) / "peers"
NO_PLUGIN = "snakemake-executor-plugin-slurm is not installed: make test installs tests/peers.txt"
REASON = slurm.missing() or (None if (PEERS / "snakemake_executor_plugin_slurm").is_dir() else NO_PLUGIN)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(REASON is not None, reason=REASON or ""),
]
METRICS = "results/pocket/metrics/uniform/humblebench.parquet"
JOURNAL = "journal/pocket/uniform/humblebench.jsonl"
OPTIONS = [  # of a cluster without accounting, and short waits
    *("--slurm-no-account", "--slurm-status-command", "squeue"),
    *("--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "5"),
    *("--logger-known-unknowns-interval", "1"),
]


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
        params["models"]["uniform"] = {"engine": "respondent", "behaviour": "uniform", "seconds_per_reply": 0.2}
        params["editions"]["pocket"]["models"] = ["uniform"]

    copied = untouched.twin(tmp_path / "project")
    copied.change_params(change)
    packages = os.pathsep.join([str(PEERS), os.environ.get("PYTHONPATH", "")])
    return replace(copied, environment={**cluster.environment, "PYTHONPATH": packages})


def keys(journal: Path) -> list[str]:
    """The key of every line of the journal, in the order in which the replies came."""
    return [parsed[0] for line in journal.read_bytes().splitlines(keepends=True) if (parsed := parse_line(line))]


def test_a_cancelled_job_continues_and_the_tables_are_those_of_a_local_run(project, cluster, finished):
    process = project.start("snakemake", "--workflow-profile", "profiles/slurm", *OPTIONS, METRICS)
    try:
        journal = project.root / JOURNAL
        until = time.monotonic() + 600
        while not (journal.is_file() and journal.stat().st_size):
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < until
            time.sleep(0.05)
        [job] = cluster.running("rule_infer_humblebench")
        cluster.run("scancel", job)
        printed = process.communicate(timeout=600)[0]
    finally:
        project.kill(process)
    ended = cluster.finished()
    for each in ended:
        print(
            f"Slurm job {each['JobId']}: {each['JobState']}, {each['StartTime']} to {each['EndTime']}, {each['Tres']}"
        )
    assert process.returncode == 0, printed

    # Three submissions and a repeated one: the questions and their variants; the model; scores and metrics.
    assert [each["JobState"] for each in ended] == ["COMPLETED", "CANCELLED", "COMPLETED", "COMPLETED"], printed
    assert [each["JobId"] for each in ended][1] == job
    assert ended[1]["TimeLimit"] == "60" and "mem=4295M" in ended[1]["Tres"]  # 4 GiB
    assert "mem=6443M" in ended[2]["Tres"]  # half as much again
    assert "stopped by a signal; the replies so far are kept" in printed
    assert "submitted and not started: 1" in printed

    local, _ = finished
    asked = keys(journal)
    assert len(asked) == len(set(asked))
    assert set(asked) == set(keys(local.root / JOURNAL))
    for variant in VARIANTS:
        cell = f"uniform/humblebench/{variant}/seed0.parquet"
        here, there = (
            [replace(row, reply=replace(row.reply, seconds=0.0)) for row in tables.read_replies(path)]
            for path in (p.root / "results/pocket/replies" / cell for p in (project, local))
        )
        assert here == there
        scores = [p.root / "results/pocket/scores" / cell for p in (project, local)]
        assert tables.read_scores(scores[0]) == tables.read_scores(scores[1])
    assert tables.read_metrics(project.root / METRICS) == tables.read_metrics(local.root / METRICS)
