"""The headline numbers of the first page, leaderboard.csv and MLflow, recomputed here from the raw replies."""

from __future__ import annotations

import csv
import math
import random
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from mlflow import MlflowClient

from known_unknowns.edition_files import EditionFiles
from known_unknowns.metrics.summary import summarise
from known_unknowns.records import Question, Reply
from known_unknowns.report import drawing
from known_unknowns.report.page import build
from known_unknowns.tracking import track
from tests.unit.report import fake_run
from tests.unit.report.fake_run import FakeRun

MODELS = ("pocket", "pocket-refuses-often", "oracle")


def letter_with_likelihood(model: str, question: Question, dice: random.Random) -> Reply:
    """A bare letter, the right one in about half of the replies, and its log-probability among the labels."""
    labels = question.labels
    right = question.refusal if question.answer is None else question.answer
    chosen = labels[right] if dice.random() < 0.5 else dice.choice(labels)
    if model == "oracle":
        chosen = labels[right]
    p = round(dice.uniform(0.5, 0.99), 6)
    others = math.log((1 - p) / (len(labels) - 1))
    return Reply(chosen, {label: math.log(p) if label == chosen else others for label in labels})


@dataclass
class Raw:
    """A reply as the model wrote it, and its question as asked."""

    letter: str
    right: str
    refusal: str
    probability: float


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> FakeRun:
    made = fake_run.make(
        tmp_path_factory.mktemp("recomputed"),
        questions=60,
        variants_kept=("original", "nota_only", "blank"),
        models=MODELS,
        reply=letter_with_likelihood,
    )
    leaderboard = made.results / "leaderboard.csv"
    rest = {"out": made.results / "summary.json", "plot": made.results / "plot.csv", "models": made.results / "models"}
    headline = made.results / "headline.csv"
    summarise(made.params, made.metrics, headline_table=headline, leaderboard_table=leaderboard, **rest)
    return made


def raw(run: FakeRun, model: str, variant: str) -> dict[str, Raw]:
    """The raw replies by question. Every reply is one letter, so that the letter is what it answers."""
    files = EditionFiles(run.data, run.results)
    questions = pq.read_table(files.variants("humblebench") / f"{variant}.parquet").to_pylist()
    replied = pq.read_table(files.replies(model, "humblebench")).to_pylist()
    by_id = {each["id"]: each for each in questions}
    found = {}
    for row in [row for row in replied if row["variant"] == variant]:
        question = by_id[row["question_id"]]
        labels = [option["label"] for option in question["options"]]
        letter, refusal = row["reply"], labels[question["refusal"]]
        right = refusal if question["answer"] is None else labels[question["answer"]]
        found[row["question_id"]] = Raw(letter, right, refusal, math.exp(dict(row["logprobs"])[letter]))
    return found


def recomputed(run: FakeRun, model: str) -> dict[str, float]:
    published, removed, blank = (raw(run, model, variant) for variant in ("original", "nota_only", "blank"))
    answerable = [name for name, each in published.items() if each.right != each.refusal]
    both = [
        published[name].letter == published[name].right and removed[name].letter == removed[name].refusal
        for name in answerable
    ]
    attempts = [each for each in published.values() if each.letter != each.refusal]
    right = [each.probability for each in attempts if each.letter == each.right]
    wrong = [each.probability for each in attempts if each.letter != each.right]
    wins = [(a > b) + (a == b) / 2 for a in right for b in wrong]
    return {
        "accuracy": share([each.letter == each.right for each in published.values()]),
        "dual_accuracy_answerable": share(both),
        "refused": share([each.letter == each.refusal for each in removed.values()]),
        "recognised": share([each.letter == each.refusal for each in blank.values()]),
        "auroc.letters.original": share(wins),
    }


def share(flags: list[float]) -> float:
    return sum(flags) / len(flags) if flags else math.nan


ON_THE_PAGE = {
    "accuracy": "Accuracy",
    "dual_accuracy_answerable": "Dual accuracy of answerable questions",
    "refused": "Refused, no right option",
    "recognised": "Recognised, no content",
}
HEADLINE = tuple(ON_THE_PAGE)


def test_the_leaderboard_is_that_of_the_raw_replies(run: FakeRun) -> None:
    with (run.results / "leaderboard.csv").open(encoding="utf-8") as file:
        rows = {(row["model"], row["number"]): row["value"] for row in csv.DictReader(file)}
    for model in MODELS:
        expected = recomputed(run, model)
        for name in HEADLINE:
            assert float(rows[model, name]) == pytest.approx(expected[name], abs=1e-6), (model, name)


def test_mlflow_has_the_numbers_of_the_raw_replies(
    run: FakeRun, empty_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(empty_database, run.folder / "mlflow.db")
    monkeypatch.chdir(run.folder)
    track(run.params, run.metrics, out=run.results / "tracking.json", results=run.results, data=run.data, figures={})
    store = MlflowClient(f"sqlite:///{run.folder}/mlflow.db")
    experiment = store.get_experiment_by_name(run.params.file.tracking.experiment)
    logged = {
        each.data.tags["cell"]: each.data.metrics
        for each in store.search_runs([experiment.experiment_id], "tags.level = 'model'")
    }
    for model in MODELS:
        expected = recomputed(run, model)
        for name in (*HEADLINE, *(["auroc.letters.original"] if model != "oracle" else [])):
            value = logged[f"pocket/{model}"][f"humblebench.{name}"]
            assert value == pytest.approx(expected[name], abs=1e-4), (model, name)


def test_the_first_page_has_the_numbers_of_the_raw_replies(run: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "_render", lambda specification: "<svg></svg>")
    folders = {"results": run.results, "data": run.data, "comparison": run.comparison, "pairs": run.pairs}
    build(run.params, run.metrics, out=run.page, root=fake_run.REPOSITORY, **folders)
    text = run.page.read_text(encoding="utf-8")
    rows = [row for row in re.findall("<tr.*?</tr>", text, re.DOTALL) if row.count("</td>") > len(HEADLINE)]
    (head,) = [row for row in re.findall("<tr.*?</tr>", text, re.DOTALL) if "Dual accuracy of answerable" in row]
    columns = re.findall('<span class="name">(.*?)</span>', head)[1:]
    of_model = {}
    for row in rows:
        name = re.findall('<span class="name">(.*?)</span>', row)[0]
        shown = re.findall('class="value">(?:<a[^>]*>)?(.*?)<', row)
        of_model[name] = dict(zip(columns, shown, strict=True))
    for model in MODELS:
        expected = recomputed(run, model)
        for number, column in ON_THE_PAGE.items():
            assert of_model[model][column] == f"{100 * expected[number]:.1f}", (model, column)
