"""Tables of replies compared question by question, with numbers counted by hand."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest
import yaml

from known_unknowns import tables
from known_unknowns.comparison.reply_tables import TABLES, write_tables
from known_unknowns.records import Score
from tests.cells import write_answers
from tests.factories import params_from, question
from tests.paths import ROOT

LETTERS = "ABCDE"
CHOICES = {  # of six questions whose right answer is A
    ("one", "original", "official"): "AAABE-",
    ("one", "original", "robust"): "AAABEA",
    ("two", "original", "official"): "AABBEB",
    ("two", "original", "robust"): "AABBEB",
    ("one", "noise", "official"): "EEEBE-",
    ("one", "noise", "robust"): "EEE~EE",  # ~: it abstains
}


@pytest.fixture
def found(tmp_path):
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    models = {
        "one": {"engine": "imported", "cells": {"humblebench": {"original": [0], "noise": [0]}}},
        "two": {"engine": "imported", "cells": {"humblebench": {"original": [0]}}},
    }
    edition = {"benchmarks": ["humblebench"], "models": ["one", "two"], "seeds": [0]}
    edition |= {"variants": {"humblebench": ["original", "noise", "nota_only"]}}
    params = params_from(raw | {"edition": "small", "editions": {"small": edition}, "models": models})
    for variant, answer in (("original", 0), ("noise", 4)):
        asked = [question(str(n), answer, group=str(n)) for n in range(6)]
        tables.write_variant(tmp_path / "variants" / f"{variant}.parquet", {0: asked})
        for model in ("one", "two"):
            scores = [
                _score(str(n), parser, CHOICES[model, variant, parser][n], answer)
                for n in range(6)
                for parser in ("official", "robust")
                if (model, variant, parser) in CHOICES
            ]
            if scores:
                write_answers(tmp_path / f"answers/{model}/humblebench/answers.parquet", variant, 0, scores)
    folders = {"variants": tmp_path / "variants", "answers": tmp_path / "answers"}
    write_tables(params, "humblebench", **folders, out=tmp_path / "out")

    def read(name):
        with (tmp_path / f"out/{name}.csv").open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))

    return {name: read(name) for name in TABLES}


def _score(identifier: str, parser: str, letter: str, answer: int) -> Score:
    blank = Score(identifier, 0, "answer", parser, "unparsed", None, None, False)
    if letter in "-~":
        return replace(blank, outcome={"-": "unparsed", "~": "abstained"}[letter])
    choice = LETTERS.index(letter)
    outcome = "refused" if letter == "E" else "answered"
    return replace(blank, outcome=outcome, label=letter, choice=choice, correct=choice == answer)


def test_parsers_differ_in_one_reply(found):
    rows = {(r["model"], r["variant"]): r for r in found["parsers"]}
    assert set(rows) == {("one", "original"), ("two", "original"), ("one", "noise")}
    row = rows["one", "original"]
    assert (row["n"], row["changed"]) == ("6", "1")
    assert [float(row[name]) for name in ("official", "robust", "difference")] == pytest.approx([3 / 6, 4 / 6, 1 / 6])
    assert rows["two", "original"]["changed"] == "0"
    noise = rows["one", "noise"]  # without content: the official score, no other accuracy and no test
    assert (
        float(noise["official"]) == pytest.approx(4 / 6) and noise["robust"] == noise["p"] == noise["difference"] == ""
    )
    assert float(noise["robust_refused"]) == pytest.approx(5 / 6)
    assert float(noise["robust_abstained"]) == pytest.approx(1 / 6)


def test_sensitivity_is_the_change_from_the_questions_as_published(found):
    rows = {(r["model"], r["parser"], r["measure"]): float(r["difference"]) for r in found["sensitivity"]}
    assert rows == pytest.approx(
        {
            ("one", "official", "refused"): 4 / 6 - 1 / 6,
            ("one", "official", "abstained"): 0,
            ("one", "robust", "refused"): 5 / 6 - 1 / 6,
            ("one", "robust", "abstained"): 1 / 6,  # noise, question 3
        }
    )


def test_agreement_counts_questions_that_both_answer(found):
    """Robust: A A A B E A and A A B B E B agree in four of six. By chance: (4*2 + 1*3 + 1*1) / 36 = 1/3."""
    official, robust = found["agreement"]
    assert (robust["model_a"], robust["model_b"], robust["n"]) == ("one", "two", "6")
    assert float(robust["same"]) == pytest.approx(4 / 6)
    assert float(robust["kappa"]) == pytest.approx((4 / 6 - 1 / 3) / (1 - 1 / 3))
    assert (robust["both_wrong"], float(robust["same_wrong"])) == ("2", 1.0)
    assert official["n"] == "5"  # one reply is unparsed


def test_questions_that_every_model_gets_wrong(found):
    assert [row["right"] for row in found["questions"]] == ["2", "2", "1", "0", "0", "1"]
    assert [(row["id"], row["top"], row["top_count"], row["label"]) for row in found["all_wrong"]] == [
        ("3", "B", "2", "A"),
        ("4", "E", "2", "A"),
    ]
