"""The locks of a run and of its jobs. tests/workflow/test_killed.py has a run that is refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

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


def test_a_run_waits_for_the_jobs_of_one_that_was_just_stopped(paths, job):
    job.stdin.close()
    lock_run(*paths, seconds=60).close()
    job.stdin = None


def test_a_file_system_without_locks_stops_no_job(tmp_path):
    (tmp_path / "file").write_text("")
    assert join_run(tmp_path / "file" / "jobs") is None
