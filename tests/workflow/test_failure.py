"""A failed job: its log is shown, and the next run continues."""

from __future__ import annotations

import shutil

import pytest

from tests.workflow.project import RESPONDENTS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
ANSWERS = [f"results/pocket/answers/{model}/humblebench/answers.parquet" for model in RESPONDENTS]


def test_a_failed_job_is_explained_and_the_next_run_continues(rerun):
    answers = rerun.root / "results/pocket/answers"
    shutil.rmtree(answers)
    broken = rerun.root / "results/pocket/replies/oracle/humblebench/replies.parquet"
    journal = rerun.root / "journal/oracle/humblebench.jsonl"
    whole = broken.read_bytes()
    broken.write_bytes(whole[:100])

    printed = rerun.snakemake("--retries", "2", *ANSWERS, code=None)
    failed = [line for line in printed.splitlines() if "Failed" in line and "parse" in line]
    assert len(failed) == 1  # only jobs that ask a model are repeated
    assert "results/pocket/logs/parse/oracle/humblebench.log" in printed
    assert "known-unknowns: error: results/pocket/replies/oracle/humblebench/replies.parquet" in printed
    assert "Recorded replies are kept." in printed
    assert not (answers / "oracle/humblebench/answers.parquet").exists()
    survived = [answers / model / "humblebench/answers.parquet" for model in RESPONDENTS if model != "oracle"]
    assert all(path.is_file() for path in survived)
    written = {path: path.stat().st_mtime_ns for path in survived}

    assert not broken.exists()  # set aside, so that the next run makes it again
    assert broken.with_name("replies.parquet.damaged").read_bytes() == whole[:100]
    kept = journal.read_bytes()
    rerun.snakemake(*ANSWERS)
    assert broken.read_bytes() == whole
    assert (answers / "oracle/humblebench/answers.parquet").is_file()
    assert {path: path.stat().st_mtime_ns for path in survived} == written  # not made again
    assert journal.read_bytes() == kept  # the replies came from there: nothing was asked again
