"""Edited code and new seeds: what reruns. test_every_key.py has the changes of params.yaml."""

from __future__ import annotations

import re

import pytest

from known_unknowns import tables
from known_unknowns.records import Cell
from tests.cells import read_replies
from tests.workflow.conftest import VARIANTS
from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
ONE_MODEL = "results/pocket/metrics/oracle/humblebench/metrics.parquet"


def planned(project: Project, file: str) -> set[str]:
    """The rules that a run of one model would run after an edit of a module."""
    with (project.root / "src/known_unknowns" / file).open("a", encoding="utf-8") as source:
        source.write("\n# Edited.\n")
    return set(re.findall(r"^ *(\w+) +\d+ *$", project.snakemake("--dry-run", ONE_MODEL), re.MULTILINE)) - {"total"}


def test_edited_statistics_rerun_metrics_only_and_an_edited_parser_scoring(rerun):
    assert planned(rerun, "metrics/intervals.py") == {"measure"}
    # What a protocol asks next can depend on a parser, so that the replies are gone through, but from the journal.
    # Rendered data are made again after any change of the code that renders them, which imports the parsers.
    rules = planned(rerun, "scoring/official.py")
    assert {"parse", "measure"} <= rules <= {"fetch", "questions", "vary", "infer", "parse", "measure"}


def test_a_new_seed_takes_the_other_replies_from_the_journal(rerun):
    journal = rerun.root / "journal/oracle/humblebench.jsonl"
    kept = journal.read_bytes()
    replies = rerun.root / "results/pocket/replies/oracle/humblebench/replies.parquet"
    old = {variant: read_replies(replies, variant) for variant in VARIANTS}
    rerun.change_params(lambda params: params["editions"]["pocket"]["seeds"].append(1))
    rerun.snakemake(replies.relative_to(rerun.root).as_posix())
    assert journal.read_bytes().startswith(kept)
    assert tables.cells_in(replies) == [Cell(variant, seed) for variant in VARIANTS for seed in (0, 1)]
    assert {variant: read_replies(replies, variant) for variant in VARIANTS} == old


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("results/pocket/replies/oracle/humblebench/engine.json", "infer"),
        ("data/pocket/questions/humblebench/images", "questions"),
        ("results/pocket/report/benchmark-humblebench.html", "report"),
        ("results/pocket/report/questions", "question browser"),
        ("results/pocket/digests/compare.sha256", "compare"),
    ],
)
def test_what_was_deleted_is_made_again(finished, path, rule, tmp_path):
    """Only planned: the test of a run in whole says that rules write their outputs."""
    root, aside = finished[0].root, tmp_path / "aside"
    (root / path).rename(aside)
    try:
        printed = finished[0].snakemake("--dry-run")
    finally:
        aside.rename(root / path)
    assert re.search(rf"^ {rule} +1 *$", printed, re.MULTILINE), printed


def test_an_edition_that_is_not_run_reruns_nothing(rerun):
    def add(params):
        params["editions"]["mine"] = params["editions"]["full"] | {"models": ["oracle"], "data": "full"}

    rerun.change_params(add)
    assert "Nothing to be done" in rerun.snakemake()
