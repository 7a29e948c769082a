"""The whole workflow with the real Snakemake: its files, and the known scores of the respondents."""

from __future__ import annotations

import csv
import re
import sqlite3
from collections import Counter
from contextlib import closing

import pytest
from scipy.stats import binom

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.records import OVERALL, Metric
from tests.cells import read_questions, read_replies, read_scores
from tests.paths import ROOT
from tests.peers import humblebench
from tests.results_page import unexplained
from tests.workflow.conftest import VARIANTS
from tests.workflow.project import RESPONDENTS, Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
PARSERS = ["official", "robust", "likelihood"]
PROGRAM = 3_500_000
"""Characters of Snakemake's report without the files of the run."""


def accuracy(project: Project, model: str, variant: str, parser: str) -> Metric:
    found = [
        metric
        for metric in tables.read_metrics(project.root / f"results/pocket/metrics/{model}/humblebench/metrics.parquet")
        if (metric.variant, metric.parser, metric.category, metric.name, metric.seed)
        == (variant, parser, OVERALL, "accuracy", 0)
    ]
    assert len(found) == 1
    return found[0]


def share_of_answer(project: Project, letter: str) -> float:
    """The share of the original questions whose published answer is this letter."""
    questions = read_questions(project.root / "results/pocket/variants/humblebench", "original")
    counts = Counter(question.labels[question.answer] for question in questions)
    return counts[letter] / len(questions)


def test_every_documented_file_is_written(finished):
    project, _ = finished
    results = project.root / "results/pocket"
    expected = ["report/index.html", "leaderboard.csv", "metrics.json", "plots/stress_tests.csv"]
    expected += ["comparison.parquet", "tracking.json", "params.yaml"]
    for model in RESPONDENTS:
        expected += [
            f"models/{model}.json",
            f"metrics/{model}/humblebench/metrics.parquet",
            f"replies/{model}/humblebench/engine.json",
        ]
        expected += [f"{kind}/{model}/humblebench/{kind}.parquet" for kind in ("replies", "answers")]
        assert (project.root / f"journal/{model}/humblebench.jsonl").is_file()
    assert [path for path in expected if not (results / path).is_file()] == []
    assert list(results.rglob("*.part")) == []
    assert unexplained([str(path.relative_to(results)) for path in results.rglob("*") if path.is_file()]) == []
    (journals,) = re.findall(r"`(journal/[^`]+)`", (ROOT / "results/README.md").read_text(encoding="utf-8"))
    for path in (project.root / "journal").glob("**/*.jsonl"):
        assert re.fullmatch(re.sub(r"<\w+>", "[^/]+", journals), path.relative_to(project.root).as_posix())


def test_the_run_ends_with_its_results_and_their_paths(finished):
    _, printed = finished
    lines = printed.strip().splitlines()[-20:]
    best = next(line for line in lines if line.startswith("Results"))
    assert (
        "HumbleBench (rendered): dual accuracy of answerable questions 100.0% (interval " in best
        and "unusable 0.0%" in best
    )
    assert best.endswith("of oracle, the highest of 3 scripted respondents")
    assert "Caveat     rendered questions, not the published ones" in lines
    paths = [line.split()[1] for line in lines if line.startswith(("Report", "Tables", "Replies"))]
    assert paths == ["results/pocket/report/index.html", "results/pocket/leaderboard.csv", "results/pocket/replies/"]
    names = [line.split()[0] for line in lines if re.match(r"[A-Z]\w+ {2,}\S", line)]
    assert names == [
        *("Results", "Caveat", "Report", "Questions", "Tables", "Replies"),
        *("Next", "Open", "MLflow", "Duration"),
    ]
    mlflow = next(line for line in lines if line.startswith("MLflow"))
    assert mlflow.endswith("mlflow ui --backend-store-uri sqlite:///mlflow.db")


def test_a_run_in_a_pipe_reports_its_progress(finished):
    _, printed = finished
    done = [int(share) for share in re.findall(r"^\d+ of \d+ jobs \((\d+)%\) after ", printed, re.MULTILINE)]
    assert done == sorted(done) and done[-1] == 100
    assert len(done) >= 3  # in pauses that grow from a second for each line to a minute; the run takes seconds
    assert re.search(r"\nDuration   \d+ (s|min \d+ s)\n*$", printed)


def test_no_question_is_lost(finished):
    project, _ = finished
    questions = tables.read_questions(project.root / "data/pocket/questions/humblebench/questions.parquet")
    ids = [question.id for question in questions]
    results = project.root / "results/pocket"
    assert len(ids) == 6 * 5  # the images and the questions on each that params.yaml names
    for model in RESPONDENTS:
        for variant in VARIANTS:
            replies = read_replies(results / f"replies/{model}/humblebench/replies.parquet", variant)
            scores = read_scores(results / f"answers/{model}/humblebench/answers.parquet", variant)
            assert sorted(row.question_id for row in replies) == sorted(ids)
            assert Counter(row.question_id for row in scores) == Counter({id: len(PARSERS) for id in ids})


@pytest.mark.parametrize("parser", PARSERS)
def test_the_respondents_have_their_known_scores(finished, parser):
    project, _ = finished
    if parser == "likelihood" and accuracy(project, "oracle", "original", parser).value is None:
        pytest.skip("respondents give no log-probabilities")
    for variant in VARIANTS:
        assert accuracy(project, "oracle", variant, parser).value == 1
    for variant in ("nota_only", "noise"):  # there the refusal is the only right answer
        assert accuracy(project, "always_a", variant, parser).value == 0
    always_a = accuracy(project, "always_a", "original", parser)
    assert always_a.value == pytest.approx(share_of_answer(project, "A"))


@humblebench.needed
def test_the_published_package_agrees_on_every_reply(finished, tmp_path):
    results = finished[0].root / "results/pocket"
    metrics = [
        metric
        for model in RESPONDENTS
        for metric in tables.read_metrics(results / f"metrics/{model}/humblebench/metrics.parquet")
    ]
    cells = [(model, variant, 0) for model in RESPONDENTS for variant in VARIANTS]
    humblebench.assert_scores_alike(results, results / "variants/humblebench", metrics, cells=cells, folder=tmp_path)


@pytest.mark.parametrize(("variant", "options"), [("original", 5), ("nota_only", 4), ("noise", 5)])
def test_guessing_is_inside_the_interval_around_chance(finished, variant, options):
    metric = accuracy(finished[0], "uniform", variant, "robust")
    low, high = binom.interval(0.999, metric.n, 1 / options)
    assert metric.n == 30
    assert low <= metric.value * metric.n <= high


def test_the_summaries_are_small(finished):
    """A row of the leaderboard does not grow with the number of questions."""
    project, _ = finished
    results = project.root / "results/pocket"
    sizes = {name: (results / name).stat().st_size for name in ("leaderboard.csv", "metrics.json")}
    numbers = len(registry.get("humblebench").headline)
    assert sizes["leaderboard.csv"] < 300 * (len(RESPONDENTS) * numbers + 1)
    assert sizes["metrics.json"] < 50 * len(RESPONDENTS) * (numbers + 2)
    assert sum(path.stat().st_size for path in results.glob("metrics/*/*/*.parquet")) < 100_000 * len(RESPONDENTS)


def test_each_model_has_a_run_in_mlflow_with_its_primary_numbers_and_one_for_each_seed(finished):
    """Metrics of a seed have no bounds, which would be charts of their own."""
    query = "SELECT tags.value, run_uuid, metrics.key FROM metrics JOIN tags USING (run_uuid) WHERE tags.key = 'level'"
    names: dict[str, dict[str, set[str]]] = {}
    with closing(sqlite3.connect(finished[0].root / "mlflow.db")) as database:
        for level, run, name in database.execute(query):
            names.setdefault(level, {}).setdefault(run, set()).add(name)
    assert {level: len(runs) for level, runs in names.items()} == {"model": len(RESPONDENTS), "seed": len(RESPONDENTS)}
    for of_model in names["model"].values():
        assert {"HB dual", "HB dual.low", "HB dual.high", "HB unusable"} <= of_model
        assert max(map(len, of_model)) <= 13
    for of_seed in names["seed"].values():
        assert {name.split("/")[0] for name in of_seed} >= set(VARIANTS)
        assert not [name for name in of_seed if name.endswith((".low", ".high"))]


def test_all_metrics_are_exported(finished, tmp_path):
    project, _ = finished
    out = tmp_path / "metrics.csv"
    printed = project.run(
        "known-unknowns", "tables", "metrics", "--model", "oracle", "--name", "accuracy", "--out", out
    ).stdout
    rows = tables.read_metrics(project.root / "results/pocket/metrics/oracle/humblebench/metrics.parquet")
    expected = sum(metric.name == "accuracy" for metric in rows)
    assert f"{expected:,} metrics in {out}" in printed
    assert len(out.read_text(encoding="utf-8").splitlines()) == expected + 1
    wrong = project.run("known-unknowns", "tables", "metrics", "--model", "oracel", "--out", out, code=2)
    assert "--model: 'oracel' is not known; did you mean 'oracle'?" in wrong.stdout


def test_the_tables_for_a_paper_have_the_numbers_of_the_run(finished, tmp_path):
    project, _ = finished
    command = ("known-unknowns", "tables", "--format", "csv", "--out", tmp_path)
    assert str(tmp_path / "humblebench_headline.csv") in project.run(*command).stdout
    with (tmp_path / "humblebench_table_3.csv").open(encoding="utf-8") as lines:
        rows = {(row["row"], row["column"]): float(row["value"]) for row in csv.DictReader(lines)}
    assert rows["oracle", "Overall"] == 100 and {row for row, _ in rows} == set(RESPONDENTS)
    wrong = project.run(*command, "--format", "latx", code=2)
    assert "--format: 'latx' is not known; did you mean 'latex'?" in wrong.stdout


def test_a_second_run_has_nothing_to_do(rerun):
    before = rerun.made("results", "data", "journal")
    assert "Nothing to be done" in rerun.snakemake()
    assert rerun.made("results", "data", "journal") == before
    status = rerun.run("git", "status", "--porcelain").stdout.splitlines()
    assert status == []


def test_snakemake_makes_its_own_report(rerun):
    """It has the figures by benchmark and name, and the page holds little besides its files and Snakemake's program."""
    rerun.snakemake("--report", "provenance.html")
    page = (rerun.root / "provenance.html").read_text(encoding="utf-8")
    results = rerun.root / "results/pocket"
    figures = sorted(path.stem for path in (results / "report/figures").iterdir())
    assert "humblebench_vs_e" in figures
    for figure in figures:
        name = figure.removeprefix("humblebench_").replace("_", " ")
        assert f'"labels": {{"benchmark": "HumbleBench", "figure": "{name}"}}' in page
    files = [results / "report/index.html", results / "leaderboard.csv"]
    files += (results / "report/figures").iterdir()
    embedded = sum(path.stat().st_size for path in files) * 4 / 3  # base64
    assert len(page) < 1.1 * embedded + PROGRAM
