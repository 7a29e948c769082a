"""A failed job: its log is shown, and the next run continues."""

from __future__ import annotations

import shutil

import pytest

from tests.workflow.conftest import VARIANTS
from tests.workflow.project import RESPONDENTS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def test_a_failed_job_is_explained_and_the_next_run_continues(rerun):
    scores = rerun.root / "results/pocket/scores"
    shutil.rmtree(scores)
    broken = rerun.root / "results/pocket/replies/oracle/humblebench/noise/seed0.parquet"
    journal = rerun.root / "journal/pocket/oracle/humblebench.jsonl"
    whole = broken.read_bytes()
    broken.write_bytes(whole[:100])

    printed = rerun.snakemake(code=None)
    assert "results/pocket/logs/score/humblebench.log" in printed
    assert "known-unknowns: error: results/pocket/replies/oracle/humblebench/noise/seed0.parquet" in printed
    assert "Recorded replies are kept." in printed
    assert not (scores / "oracle/humblebench/noise/seed0.parquet").exists()
    others = [
        *((model, variant) for model in RESPONDENTS[1:] for variant in VARIANTS),
        *(("oracle", variant) for variant in VARIANTS if variant != "noise"),
    ]
    survived = {cell: scores / cell[0] / "humblebench" / cell[1] / "seed0.parquet" for cell in others}
    assert all(path.is_file() for path in survived.values())
    content = {path: path.read_bytes() for path in survived.values()}
    files = {path: path.stat().st_ino for path in survived.values()}

    assert not broken.exists()  # set aside, so that the next run makes it again
    assert broken.with_name("seed0.parquet.damaged").read_bytes() == whole[:100]
    kept = journal.read_bytes()
    rerun.snakemake("--until", "score_humblebench")
    assert broken.read_bytes() == whole
    assert (scores / "oracle/humblebench/noise/seed0.parquet").is_file()
    assert {path: path.read_bytes() for path in survived.values()} == content
    assert {path: path.stat().st_ino for path in survived.values()} == files  # not made again
    assert journal.read_bytes() == kept  # the replies came from there: nothing was asked again
