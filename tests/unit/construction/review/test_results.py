"""What a review leaves, by the command line: final candidates, corrections, agreement, and shares of errors."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from typer.testing import CliRunner

from known_unknowns import cli, tables
from known_unknowns.benchmark.images import ImageStore
from known_unknowns.data.variant_tables import vary
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import DataError
from known_unknowns.images import decode, open_image, recipe_image
from known_unknowns.metrics.intervals import clustered_interval
from known_unknowns.records import AnsweredTurn, Cell, Image, Reply, Score
from known_unknowns.tables import Part
from known_unknowns.variants.corrections import question_sha256
from known_unknowns_construction.candidates import read_candidates
from known_unknowns_construction.review.decisions import Decision, DecisionLog, content_of
from known_unknowns_construction.review.items import benchmark_source, content_of_question, error_source, servable
from tests.cells import ONE, write_answers
from tests.encoded_images import transparent, with_orientation
from tests.factories import png, question, variant_entry
from tests.paths import ROOT

from .demo import write

PARAMS = ["--params", str(ROOT / "params.yaml"), "--edition", "pocket"]
NAME, MODEL = "humblebench", "always_a"
QUESTIONS = [
    question(str(n), answer=n % 5, group=f"g{n // 2}", category="Object" if n < 6 else "Relation") for n in range(10)
]


def run(*arguments: str | Path) -> str:
    result = CliRunner().invoke(cli.app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table of questions, and the wrong answers of a model."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data/pocket/questions" / NAME
    tables.write_questions(folder / "questions.parquet", QUESTIONS)
    tables.write_variant(tmp_path / "results/pocket/variants" / NAME / "original.parquet", {0: QUESTIONS})
    results = tmp_path / "results/pocket"
    write_answers(results / "answers" / MODEL / NAME / "answers.parquet", "original", 0, [_score(q) for q in QUESTIONS])
    turns = [AnsweredTurn(q.id, 0, "answer", "?", (), q.labels, "k" * 64, Reply(f"reply to {q.id}")) for q in QUESTIONS]
    tables.write_replies(results / "replies" / MODEL / NAME / "replies.parquet", {ONE: turns})
    return tmp_path


def _score(q) -> Score:
    """A for all questions, except 2 (cut), 3 (abstains), 7 (refused), 8 (not parsed) and 9 (failed)."""
    outcome = {"9": "failed", "8": "unparsed", "7": "refused", "3": "abstained", "2": "cut"}.get(q.id, "answered")
    choice = {"answered": 0, "refused": 4}.get(outcome)
    label = None if choice is None else q.labels[choice]
    return Score(q.id, 0, "answer", "robust", outcome, label, choice, choice == q.answer)


def _decision(q, action: str, reviewer: str = "ann", **changes) -> Decision:
    key = f"{q.id}-{reviewer}"
    return Decision(key, q.id, question_sha256(q), reviewer, "2026-01-01T00:00:00.000Z", action, **changes)


def log(path: Path, *decisions: Decision) -> None:
    with DecisionLog(path) as opened:
        for each in decisions:
            opened.append(each)


def test_corrections_become_a_variant(project):
    first, second, third = QUESTIONS[:3]
    after = replace(content_of_question(first), answer="E")
    other = [_decision(third, "keep"), _decision(third, "delete", "bo", reason="two are right")]
    log(
        project / f"reviews/pocket/{NAME}.jsonl",
        _decision(first, "modify", after=after, reason="no lamp there"),
        _decision(second, "delete", reason="unclear"),
        *other,
    )
    text = run("review", "apply", "--benchmark", NAME, "--out", "corrections/x.json", *PARAMS)
    assert "modified         1  (10.00%)" in text and "disputed         1" in text
    assert "corrected: {corrections: corrections/x.json}" in text
    entries = json.loads(Path("corrections/x.json").read_text())["corrections"]
    assert [(entry["id"], entry["why"]) for entry in entries] == [("0", "no lamp there"), ("1", "unclear")]
    folder = project / "data/pocket/questions" / NAME
    entry = variant_entry("corrected", corrections="corrections/x.json")
    vary(entry, folder / "questions.parquet", project / "corrected.parquet", seeds=[0])
    found = tables.read_questions(project / "corrected.parquet")
    assert [q.id for q in found] == [q.id for q in QUESTIONS if q.id != "1"]
    assert found[0].answer == 4 and found[1:] == QUESTIONS[2:]


def test_the_queue_of_a_file_of_questions(project):
    rows = [
        "id,category,models,right,refused,top,top_count",
        "3,Object,20,0,1,C,17",
        "1,Object,20,2,0,A,3",
        "3,Object,20,0,1,C,17",
    ]
    listed = project / "all_wrong.csv"
    listed.write_text("\n".join(rows) + "\n")
    table = project / "data/pocket/questions" / NAME / "questions.parquet"
    found = benchmark_source(NAME, table, listed=listed).items
    assert [item.id for item in found] == ["3", "1"]
    assert found[0].flags == (("models", "no model chose the published answer; 17 of 20 models chose C"),)
    assert found[1].flags == ()
    listed.write_text("id\n3\nabsent\n")
    with pytest.raises(DataError, match=r"all_wrong\.csv, row 1: question 'absent' is not one of the 10"):
        benchmark_source(NAME, table, listed=listed)
    listed.write_text("question\nx\n")
    with pytest.raises(DataError, match="no column 'id'"):
        benchmark_source(NAME, table, listed=listed)


def test_images_of_questions_are_files_of_the_folder_or_recipes(tmp_path):
    digest = sha256(png()).hexdigest()
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / f"{digest}.png").write_bytes(png())
    images = (Image(f"images/{digest}.png", digest, 40, 30), recipe_image("blank", 8, 8), Image("x", "b" * 64, 0, 0))
    tables.write_questions(tmp_path / "questions.parquet", [question("1", images=images)])
    item = benchmark_source(NAME, tmp_path / "questions.parquet").items[0]
    assert [servable(image, name="i")[1] for image in item.images] == ["image/png"] * 2  # the third is not here
    assert servable(item.images[0], name="i")[0] == png()
    escaping = Image("../secret.png", digest, 40, 30)
    tables.write_questions(tmp_path / "questions.parquet", [question("1", images=(escaping,))])
    with pytest.raises(DataError, match="leaves the folder"):
        benchmark_source(NAME, tmp_path / "questions.parquet")


@pytest.mark.parametrize("data", [with_orientation("JPEG", 6), transparent()["P with tRNS"]])
def test_a_reviewer_sees_what_models_get(data, tmp_path):
    with ImageStore(tmp_path, plain=False) as store:
        image = store.add(data, file=tmp_path, row=0)
    tables.write_questions(tmp_path / "questions.parquet", [question("1", images=(image,))])
    (shown,) = benchmark_source(NAME, tmp_path / "questions.parquet").items[0].images
    served, kind = servable(shown, name="i")
    assert kind == "image/png" and (shown.width, shown.height) == (image.width, image.height)
    assert decode(served, file="i").tobytes() == open_image(image, tmp_path).tobytes()
    (stored,) = (tmp_path / "images").iterdir()
    stored.write_bytes(png())
    with pytest.raises(DataError, match="the image was changed"):
        servable(shown, name="i")


def test_wrong_answers_and_their_shares(project):
    files = EditionFiles(project / "data/pocket", project / "results/pocket")
    parts = [Part(file, Cell("original", 0)) for file in (files.answers(MODEL, NAME), files.replies(MODEL, NAME))]
    parts, images = [files.asked(NAME, "original", 0), *parts], files.questions(NAME)
    source = error_source("errors", *parts, images=images, parser="robust")
    # 0 and 5 are right (A), 9 failed
    assert [item.id for item in source.items] == ["1", "2", "3", "4", "6", "7", "8"]
    assert [item.flags[0][0] if item.flags else "" for item in source.items] == [
        "", "cut", "abstained", "under-refusal", "", "over-refusal", "parser"
    ]  # fmt: skip
    assert source.items[0].wrong.reply == "reply to 1" and source.items[0].wrong.choice == "A"
    assert source.items[1].wrong.choice == ""  # the reply was cut before a label
    drawn = error_source("errors", *parts, images=images, parser="robust", sample=3, seed=1).items
    assert len({item.id for item in drawn}) == 3
    tags = {"1": "counting", "2": "counting", "3": "perception", "4": "under-refusal", "6": "counting"}
    lines = [_decision(QUESTIONS[int(name)], "tag", tag=tag) for name, tag in tags.items()]
    log(project / f"reviews/pocket/errors/{MODEL}/{NAME}/original-seed0.jsonl", *lines)
    text = run("review", "summary", "--errors", MODEL, NAME, "--out", "errors.csv", *PARAMS)
    assert "n = 5 tagged wrong answers" in text
    rows = {(r["category"], r["tag"]): r for r in csv.DictReader(Path("errors.csv").read_text().splitlines())}
    counting = rows["Overall", "counting"]
    # groups: g0 has 1; g1 has 2 and 3; g2 has 4; g3 has 6
    low, high = clustered_interval([1, 1, 0, 1], [1, 2, 1, 1])
    assert (counting["count"], counting["n"], counting["examples"]) == ("3", "5", '["1", "2", "6"]')
    assert [float(counting[name]) for name in ("share", "low", "high")] == pytest.approx([0.6, low, high])
    assert rows["Relation", "counting"]["n"] == "1" and rows["Overall", "parser"]["count"] == "0"


def test_candidates_and_their_summary(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, 6)
    items = list(read_candidates(path))

    def decided(place: int, action: str, reviewer: str, **changes) -> Decision:
        content = content_of(items[place])
        return Decision(f"{place}{reviewer}", items[place].id, content.sha256, reviewer, "now", action, **changes)

    log(tmp_path / "candidates.decisions.jsonl", *(decided(n, "keep", "ann", seconds=4) for n in range(5)))
    changed = replace(content_of(items[1]), answer="E")
    bo = [decided(0, "keep", "bo"), decided(1, "modify", "bo", after=changed), decided(2, "keep", "bo")]
    log(tmp_path / "bo.jsonl", *bo, decided(3, "delete", "bo", reason="unclear"))
    text = run("review", "summary", "candidates.jsonl", "--also", "bo.jsonl", "--required", "2")
    assert "ann       reviewer  5        0       4.0 s        5 keep" in text
    assert "2 disputed (q2, q4): decide them with  known-unknowns review start --adjudicate" in text
    shown = json.loads(run("review", "summary", "candidates.jsonl", "--also", "bo.jsonl", "--required", "2", "--json"))
    assert shown["counts"] == {
        "initial": 6, "kept": 2, "modified": 0, "deleted": 0, "final": 2, "pending": 2, "disputed": 2, "stale": 0
    }  # fmt: skip
    assert [(row["scale"], row["n"], row["same"]) for row in shown["agreement"]] == [
        ("action", 4, 0.5), ("action", 4, 0.5), ("answer", 4, 0.5), ("answer", 4, 0.5)
    ]  # fmt: skip
    text = run("review", "apply", "candidates.jsonl", "--also", "bo.jsonl", "--out", "reviewed")
    assert "final            3  (50.00%)" in text
    assert [c.id for c in read_candidates(tmp_path / "reviewed/final.jsonl")] == ["q1", "q3", "q5"]
    written = json.loads((tmp_path / "reviewed/review.json").read_text())
    assert written["counts"]["disputed"] == 2 and written["outcomes"][3]["state"] == "disputed"


@pytest.mark.parametrize("arguments", [[], ["c.jsonl", "--benchmark", NAME]])
def test_one_thing_is_reviewed(arguments):
    result = CliRunner().invoke(cli.app, ["review", "start", *arguments])
    assert "give one of PATH, --benchmark NAME and --errors MODEL BENCHMARK" in str(result.exception)
