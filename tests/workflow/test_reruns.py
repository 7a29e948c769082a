"""A change reruns exactly the rules that depend on it. test_changed_models.py changes models."""

from __future__ import annotations

import pytest

from tests.workflow.conftest import VARIANTS
from tests.workflow.project import RESPONDENTS, Project

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
    metrics = {f"metrics/{model}/humblebench/metrics.parquet" for model in RESPONDENTS}
    assert written_again(rerun, ONE_MODEL) == {"params.yaml", "made_from/metrics/humblebench.json"} | metrics


def test_an_edited_parser_reruns_scoring_only(rerun):
    with (rerun.root / "src/known_unknowns/scoring/official.py").open("a", encoding="utf-8") as source:
        source.write("\n# Edited.\n")
    journal = rerun.root / "journal/pocket/oracle/humblebench.jsonl"
    replies = [f"replies/{model}/humblebench/{variant}/seed0.parquet" for model in RESPONDENTS for variant in VARIANTS]
    kept = [journal.read_bytes(), *((rerun.root / "results/pocket" / path).read_bytes() for path in replies)]

    again = written_again(rerun, ONE_MODEL)
    scores = {path.replace("replies", "scores") for path in replies}
    metrics = {f"metrics/{model}/humblebench/metrics.parquet" for model in RESPONDENTS}
    assert again >= scores | metrics
    # What a protocol asks next can depend on a parser, so that the replies are gone through, but from the journal.
    engines = {f"replies/{model}/humblebench/engine.json" for model in RESPONDENTS}
    engines |= {f"replies/uniform/humblebench/shards/{shard}-of-2.json" for shard in (1, 2)}
    made_from = {f"made_from/{table}/humblebench.json" for table in ("scores", "metrics")}
    assert again - scores <= metrics | engines | made_from | set(replies)
    assert [journal.read_bytes(), *((rerun.root / "results/pocket" / path).read_bytes() for path in replies)] == kept


def test_edited_statistics_rerun_metrics_only(rerun):
    with (rerun.root / "src/known_unknowns/metrics/intervals.py").open("a", encoding="utf-8") as source:
        source.write("\n# Edited.\n")
    metrics = {f"metrics/{model}/humblebench.parquet" for model in RESPONDENTS}
    assert written_again(rerun, ONE_MODEL) == {"made_from/metrics/humblebench.json"} | metrics


def test_a_new_seed_takes_the_other_replies_from_the_journal(rerun):
    journal = rerun.root / "journal/pocket/oracle/humblebench.jsonl"
    kept = journal.read_bytes()
    reply = rerun.root / "results/pocket/replies/oracle/humblebench/original/seed0.parquet"
    old = reply.read_bytes()
    rerun.change_params(lambda params: params["editions"]["pocket"]["seeds"].append(1))
    rerun.snakemake(reply.with_name("seed1.parquet").relative_to(rerun.root).as_posix())
    assert journal.read_bytes().startswith(kept)
    assert reply.read_bytes() == old
    assert reply.with_name("seed1.parquet").is_file()
