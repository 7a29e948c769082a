"""The locks of a run and of its jobs, held by this process and by others."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from known_unknowns.errors import MachineError
from known_unknowns.workflow.run_lock import join_run, lock_run

JOB = """
import sys, time
from pathlib import Path
from known_unknowns.workflow.run_lock import join_run
held = join_run(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def paths(tmp_path):
    return tmp_path / "a" / "lock", tmp_path / "a" / "jobs"


@pytest.fixture
def job(paths):
    """A job of a run that has ended. It ends when its input is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", JOB, paths[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.communicate()


def test_only_one_run_holds_the_lock_and_its_process_is_named(paths):
    held = lock_run(*paths)
    for _ in range(2):  # the first attempt does not erase the name
        with pytest.raises(MachineError, match=rf"another run .* \(process {os.getpid()}\)"):
            lock_run(*paths)
    held.close()
    lock_run(*paths).close()


def test_a_job_of_a_killed_run_keeps_other_runs_out_and_is_named(paths, job):
    with pytest.raises(MachineError, match=rf"jobs of a stopped run .* \(process {job.pid}\)"):
        lock_run(*paths, seconds=0)
    join_run(paths[1]).close()  # other jobs of the same run are not kept out
    job.communicate()
    lock_run(*paths, seconds=0).close()


def test_a_run_waits_for_the_jobs_of_one_that_was_just_stopped(paths, job):
    job.stdin.close()
    lock_run(*paths, seconds=60).close()
    job.stdin = None


def test_a_file_system_without_locks_stops_no_job(tmp_path):
    (tmp_path / "file").write_text("")
    assert join_run(tmp_path / "file" / "jobs") is None
