"""Every value of the first page, leaderboard.csv and MLflow's runs of models, recomputed here from the raw replies.

Intervals and paired tests are held in tests/unit/metrics.
"""

from __future__ import annotations

import csv
import html
import math
import random
import re
import shutil
from dataclasses import dataclass
from itertools import product
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

MODELS = ("qwen2.5-vl-7b", "pocket-refuses-often", "oracle")
"""The first is one of the catalogue, so that the first page has its table of all benchmarks."""
ABSTAINS, NO_LABEL = "I cannot tell.", "Hm."
PRIMARY = "dual_accuracy_answerable"


def reply_in_some_way(model: str, question: Question, dice: random.Random) -> Reply:
    """A label, right in about half of the replies and sometimes after other text or not offered; or no label."""
    labels = question.labels
    right = question.refusal if question.answer is None else question.answer
    way = dice.random()
    chosen = labels[right] if dice.random() < 0.5 else dice.choice(labels)
    if model == "oracle":
        way, chosen = 1.0, labels[right]
    p = round(dice.uniform(0.5, 0.99), 2)
    others = math.log((1 - p) / (len(labels) - 1))
    logprobs = {label: math.log(p) if label == chosen else others for label in labels}
    if way < 0.05:
        return Reply(NO_LABEL, logprobs)
    if way < 0.1:
        return Reply(ABSTAINS, logprobs)
    if way < 0.2:
        return Reply(question.extra["label"], logprobs)  # the published label, which may be removed
    if way < 0.4:
        return Reply(f"The answer is {chosen}.", logprobs)
    return Reply(chosen, logprobs)


@dataclass
class Raw:
    """A reply as the model wrote it, and its question as asked."""

    text: str
    labels: list[str]
    right: str
    refusal: str
    probabilities: dict[str, float]

    @property
    def letter(self) -> str:
        """The letter that the reply names, offered or not; "" if it names none."""
        found = re.fullmatch(r"(?:The answer is )?([A-E])\.?", self.text)
        return found[1] if found else ""

    @property
    def is_right(self) -> bool:
        return self.letter == self.right

    @property
    def refuses(self) -> bool:
        return self.letter == self.refusal

    @property
    def abstains(self) -> bool:
        return self.text == ABSTAINS

    @property
    def has_confidence(self) -> bool:
        """Whether it attempts an answer and begins with its letter, so that the probabilities are those of letters."""
        return self.text in self.labels and not self.refuses


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> FakeRun:
    made = fake_run.make(
        tmp_path_factory.mktemp("recomputed"),
        questions=60,
        variants_kept=("original", "nota_only", "blank"),
        models=MODELS,
        reply=reply_in_some_way,
    )
    leaderboard = made.results / "leaderboard.csv"
    rest = {"out": made.results / "summary.json", "plot": made.results / "plot.csv", "models": made.results / "models"}
    summarise(made.params, made.metrics, leaderboard_table=leaderboard, **rest)
    return made


def raw(run: FakeRun, model: str, variant: str) -> dict[str, Raw]:
    """The raw replies by question."""
    files = EditionFiles(run.data, run.results)
    questions = pq.read_table(files.variants("humblebench") / f"{variant}.parquet").to_pylist()
    replied = pq.read_table(files.replies(model, "humblebench")).to_pylist()
    by_id = {each["id"]: each for each in questions}
    replies = {}
    for row in [row for row in replied if row["variant"] == variant]:
        question = by_id[row["question_id"]]
        labels = [option["label"] for option in question["options"]]
        refusal = labels[question["refusal"]]
        right = refusal if question["answer"] is None else labels[question["answer"]]
        probabilities = {label: math.exp(value) for label, value in dict(row["logprobs"]).items()}
        replies[row["question_id"]] = Raw(row["reply"], labels, right, refusal, probabilities)
    return replies


@dataclass
class Share:
    """A share of replies, of how many, and the unusable replies to these questions."""

    flags: list[bool]
    questions: int
    unusable: int

    @property
    def value(self) -> float:
        return sum(self.flags) / len(self.flags)


def recomputed(run: FakeRun, model: str) -> dict[str, Share]:
    """The headline numbers, by their names in leaderboard.csv."""
    published, removed, blank = (raw(run, model, variant) for variant in ("original", "nota_only", "blank"))
    unusable = {
        variant: sum(each.text == NO_LABEL for each in replies.values())
        for variant, replies in (("original", published), ("nota_only", removed), ("blank", blank))
    }
    of_pair = max(unusable["original"], unusable["nota_only"])
    both = {name: published[name].is_right and removed[name].refuses for name in published}
    answerable = [name for name, each in published.items() if each.right != each.refusal]
    n = len(published)
    without_content = list(blank.values())
    return {
        "dual_accuracy_answerable": Share([both[name] for name in answerable], n, of_pair),
        "dual_accuracy": Share(list(both.values()), n, of_pair),
        "accuracy": Share([each.is_right for each in published.values()], n, unusable["original"]),
        "refused": Share([each.refuses for each in removed.values()], n, unusable["nota_only"]),
        "recognised": Share([each.refuses or each.abstains for each in without_content], n, unusable["blank"]),
        "recognised_refused": Share([each.refuses for each in without_content], n, unusable["blank"]),
        "recognised_abstained": Share([each.abstains for each in without_content], n, unusable["blank"]),
    }


def auroc_of_letters(run: FakeRun, model: str) -> tuple[float, int]:
    """The AUROC on the questions as published, by pairs of a right and a wrong attempt, and the number of attempts."""
    attempts = [each for each in raw(run, model, "original").values() if each.has_confidence]
    right = [round(each.probabilities[each.letter], 6) for each in attempts if each.is_right]
    wrong = [round(each.probabilities[each.letter], 6) for each in attempts if not each.is_right]
    if not right or not wrong:
        return math.nan, len(attempts)
    wins = [(a > b) + (a == b) / 2 for a, b in product(right, wrong)]
    return sum(wins) / len(wins), len(attempts)


HEADINGS = {
    "dual_accuracy_answerable": "Dual accuracy of answerable questions",
    "dual_accuracy": "Dual accuracy of all questions",
    "accuracy": "Accuracy",
    "refused": "Refused, no right option",
    "recognised": "Recognised, no content",
    "recognised_refused": "Of it refused",
    "recognised_abstained": "Of it abstained",
}


def test_the_replies_are_of_every_kind(run: FakeRun) -> None:
    for model in MODELS[:2]:
        replies = raw(run, model, "nota_only").values()
        assert any(each.letter and each.letter not in each.labels for each in replies), "names the removed letter"
        assert {ABSTAINS, NO_LABEL} <= {each.text for each in replies}
        _, attempts = auroc_of_letters(run, model)
        assert (
            0 < attempts < sum(bool(each.letter) and not each.refuses for each in raw(run, model, "original").values())
        )


def test_the_leaderboard_is_that_of_the_raw_replies(run: FakeRun) -> None:
    with (run.results / "leaderboard.csv").open(encoding="utf-8") as file:
        rows = {(row["model"], row["number"]): row for row in csv.DictReader(file)}
    assert rows.keys() == set(product(MODELS, HEADINGS))
    for model in MODELS:
        for name, share in recomputed(run, model).items():
            row = rows[model, name]
            assert float(row["value"]) == pytest.approx(share.value, abs=1e-6), (model, name)
            counts = (int(row["n"]), float(row["denominator"]), int(row["unusable_replies"]))
            assert counts == (share.questions, len(share.flags), share.unusable), (model, name)
            assert float(row["unusable"]) == pytest.approx(share.unusable / share.questions, abs=1e-6)


def test_mlflow_has_the_numbers_of_the_raw_replies(
    run: FakeRun, empty_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(empty_database, run.folder / "mlflow.db")
    monkeypatch.chdir(run.folder)
    track(run.params, run.metrics, out=run.results / "tracking.json", results=run.results, data=run.data)
    store = MlflowClient(f"sqlite:///{run.folder}/mlflow.db")
    experiment = store.get_experiment_by_name(run.params.file.tracking.experiment)
    logged = {each.info.run_name: each for each in store.search_runs([experiment.experiment_id])}
    assert logged.keys() == {name for model in MODELS for name in (model, f"{model}, humblebench, seed 0")}
    for model in MODELS:
        shares = recomputed(run, model)
        primary = shares["dual_accuracy_answerable"]
        of_model = {"HB dual": primary.value, "HB unusable": primary.unusable / primary.questions}
        of_seed = {
            "original_nota_only/dual_accuracy_answerable": primary.value,
            "original_nota_only/dual_accuracy": shares["dual_accuracy"].value,
            "original/accuracy": shares["accuracy"].value,
            "nota_only/refusal_recall": shares["refused"].value,
            "blank/recognised": shares["recognised"].value,
            "blank/recognised_refused": shares["recognised_refused"].value,
            "blank/recognised_abstained": shares["recognised_abstained"].value,
        }
        area, _ = auroc_of_letters(run, model)
        if not math.isnan(area):
            of_model["HB AUC let"] = of_seed["original/auroc.letters"] = area
        metrics = logged[model].data.metrics
        without_interval = {name: value for name, value in metrics.items() if not name.endswith((".low", ".high"))}
        assert without_interval == pytest.approx(of_model, abs=1e-4), model
        with (run.results / "leaderboard.csv").open(encoding="utf-8") as file:
            (row,) = [row for row in csv.DictReader(file) if (row["model"], row["number"]) == (model, PRIMARY)]
        bounds = [metrics["HB dual.low"], metrics["HB dual.high"]]
        assert bounds == pytest.approx([float(row["low"]), float(row["high"])], abs=1e-4), model
        metrics = logged[f"{model}, humblebench, seed 0"].data.metrics
        assert {name: metrics[name] for name in of_seed} == pytest.approx(of_seed, abs=1e-4), model
        assert ("original/auroc.letters" in metrics) == (not math.isnan(area))


@pytest.fixture(scope="module")
def page(run: FakeRun) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "_render", lambda specification: '<svg width="300" height="200"></svg>')
        folders = {"results": run.results, "data": run.data, "comparison": run.comparison, "pairs": run.pairs}
        build(run.params, run.metrics, out=run.page, root=fake_run.REPOSITORY, **folders)
    return run.page.read_text(encoding="utf-8").replace("\u00a0", " ")  # a space that no line breaks at


def table(page: str, caption: str) -> tuple[dict[str, str], dict[str, dict[str, tuple[str, str]]]]:
    """The notes of a table's columns, and its cells by model and column: the value, and n and denominator if given."""
    (text,) = re.findall(rf"<table[^>]*>\s*<caption>{caption}.*?</table>", page, re.DOTALL)
    head, *rows = re.findall("<tr.*?</tr>", text, re.DOTALL)
    columns = re.findall('<(?:span|abbr) class="name"[^>]*>(.*?)</', head)[1:]
    notes = [" ".join(re.findall('<span class="note">(.*?)</span>', cell)) for cell in head.split("</th>")[1:-1]]
    cells = {}
    for row in rows:
        name = re.findall('<span class="name">(.*?)</span>', row)[0]
        shown = []
        for cell in re.findall("<td.*?</td>", row, re.DOTALL):
            value = re.findall(r'class="value">(?:<a[^>]*>)?(.*?)<', cell)
            shown.append((value[0] if value else "", " ".join(re.findall('count-n">(.*?)</span>', cell))))
        cells[name] = dict(zip(columns, shown, strict=True))
    return dict(zip(columns, map(html.unescape, notes), strict=True)), cells


def test_the_first_page_has_the_numbers_of_the_raw_replies(run: FakeRun, page: str) -> None:
    notes, cells = table(page, "HumbleBench: percent of questions")
    assert notes.keys() - {"Rank"} == {*HEADINGS.values(), "Unusable"}
    for model in MODELS:
        for number, share in recomputed(run, model).items():
            assert cells[model][HEADINGS[number]][0] == f"{100 * share.value:.1f}", (model, number)
            counts = f"n = {share.questions}"
            if len(share.flags) != share.questions:
                counts += f", denominator {len(share.flags)}"
            assert notes[HEADINGS[number]].endswith(counts), number
        primary = recomputed(run, model)["dual_accuracy_answerable"]
        assert cells[model]["Unusable"][0] == f"{100 * primary.unusable / primary.questions:.1f}"


def test_the_table_of_all_benchmarks_has_the_numbers_of_the_raw_replies(run: FakeRun, page: str) -> None:
    notes, cells = table(page, "Headline number of each benchmark")
    assert notes["AUROC of confidence"].startswith("letters, HumbleBench, HumbleBench"), "the variant as published"
    for model in MODELS:
        primary = recomputed(run, model)["dual_accuracy_answerable"]
        assert cells[model]["HumbleBench"][0] == f"{100 * primary.value:.1f}"
        area, attempts = auroc_of_letters(run, model)
        shown, count = cells[model]["AUROC of confidence"]
        if math.isnan(area):
            assert shown == "\u2013", model
            continue
        assert shown == f"{100 * area:.1f}", model
        assert f"n = {attempts}" in (count, notes["AUROC of confidence"].rpartition(", ")[2])


def test_the_sentences_have_the_numbers_of_the_raw_replies(run: FakeRun, page: str) -> None:
    text = html.unescape(re.sub("<[^>]*>", "", page))
    shares = {model: recomputed(run, model) for model in MODELS[:2]}
    best, other = sorted(shares, key=lambda model: -shares[model]["dual_accuracy_answerable"].value)
    first, second = (shares[model]["dual_accuracy_answerable"] for model in (best, other))
    assert re.search(rf"{best} .*{100 * first.value:.1f}% \[", text)
    assert f"{100 * (first.value - second.value):+.1f} [" in text
    for name, words in (("refused", "questions without a right option"), ("recognised", "of those without content")):
        low, high = sorted(100 * each[name].value for each in shares.values())
        assert re.search(rf"{low:.1f} to {high:.1f}% of the {words}|that {low:.1f} to {high:.1f}% {words}", text), name
