"""A change reruns exactly the rules that depend on it. test_changed_models.py changes models."""

from __future__ import annotations

import pytest

from known_unknowns import tables
from tests.cells import read_replies
from tests.workflow.conftest import VARIANTS
from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
ONE_MODEL = "results/pocket/metrics/oracle/humblebench/metrics.parquet"


def written_again(project: Project, *targets: str) -> set[str]:
    """Run the targets (by default all); return the results that were written again, without logs and timings."""
    before = project.made()
    project.snakemake(*targets)
    after = project.made()
    # The files of the question browser are named by their content.
    assert {path for path in before if "/report/questions/" not in path} <= after.keys()
    changed = {path.removeprefix("results/pocket/") for path in after if after[path] != before.get(path)}
    return {path for path in changed if not path.startswith(("logs/", "benchmarks/"))}


def test_a_second_run_has_nothing_to_do(rerun):
    before = rerun.made("results", "data", "journal")
    assert "Nothing to be done" in rerun.snakemake()
    assert rerun.made("results", "data", "journal") == before


def test_settings_that_change_no_reply_do_not_rerun_inference(rerun):
    def change(params):
        params["models"]["oracle"]["seconds_per_reply"] = 60

    rerun.change_params(change)
    assert written_again(rerun, ONE_MODEL) == set()  # no job runs, so the settings of the last run stay, too


def test_other_statistics_rerun_metrics_only(rerun):
    def change(params):
        params["statistics"]["confidence"] = 0.9

    rerun.change_params(change)
    assert written_again(rerun, ONE_MODEL) == {"params.yaml", "metrics/oracle/humblebench/metrics.parquet"}


def test_an_edited_parser_reruns_scoring_only(rerun):
    with (rerun.root / "src/known_unknowns/scoring/official.py").open("a", encoding="utf-8") as source:
        source.write("\n# Edited.\n")
    journal = rerun.root / "journal/oracle/humblebench.jsonl"
    replies = rerun.root / "results/pocket/replies/oracle/humblebench/replies.parquet"
    kept = journal.read_bytes(), replies.read_bytes()

    again = written_again(rerun, ONE_MODEL)
    made = {f"{name}/oracle/humblebench/{name}.parquet" for name in ("scores", "metrics")}
    assert again >= made
    # What a protocol asks next can depend on a parser, so that the replies are gone through, but from the journal.
    # Rendered data are made again after any change of the code that renders them, which imports the parsers.
    through = {f"replies/oracle/humblebench/{file}" for file in ("replies.parquet", "engine.json")}
    assert {path for path in again - made if not path.startswith("variants/")} <= through
    assert (journal.read_bytes(), replies.read_bytes()) == kept


def test_edited_statistics_rerun_metrics_only(rerun):
    with (rerun.root / "src/known_unknowns/metrics/intervals.py").open("a", encoding="utf-8") as source:
        source.write("\n# Edited.\n")
    assert written_again(rerun, ONE_MODEL) == {"metrics/oracle/humblebench/metrics.parquet"}


def test_a_new_seed_takes_the_other_replies_from_the_journal(rerun):
    journal = rerun.root / "journal/oracle/humblebench.jsonl"
    kept = journal.read_bytes()
    replies = rerun.root / "results/pocket/replies/oracle/humblebench/replies.parquet"
    old = {variant: read_replies(replies, variant) for variant in VARIANTS}
    rerun.change_params(lambda params: params["editions"]["pocket"]["seeds"].append(1))
    rerun.snakemake(replies.relative_to(rerun.root).as_posix())
    assert journal.read_bytes().startswith(kept)
    assert tables.cells_in(replies) == [(variant, seed) for variant in VARIANTS for seed in (0, 1)]
    assert {variant: read_replies(replies, variant) for variant in VARIANTS} == old
