"""A line is matched by an id, and confirmed by the text, the options, the prompt or the target that it carries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from known_unknowns import tables
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.exchange.rescore import rescore
from tests.factories import question
from tests.unit.benchmarks.multiple_choice.own_files import load, own_folder, row
from tests.unit.exchange.rescored import value

KEY = "ABCA"
"""The right options of the questions q0 to q3."""
ORDER = (2, 3, 1, 0)
"""The questions of the lines. With the document's number in place of ORDER, one reply in four is counted as right."""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    own = load(own_folder(tmp_path / "own", [row(n, answer=KEY[n]) for n in range(4)]), tmp_path / "out")
    tables.write_questions(tmp_path / "questions.parquet", own)
    return tmp_path / "questions.parquet"


def asked(number: int) -> str:
    return f"Which colour has item {number}?"


OPTIONS = {"A": "Red", "B": "Green", "C": "Blue", "D": "None of the above"}
EVIDENCE = {
    "question": lambda n: {"doc": {"question": asked(n)}},
    "query": lambda n: {"doc": {"query": asked(n)}},
    "text": lambda n: {"doc": {"text": asked(n)}},
    "the prompt of lm-eval": lambda n: {"arguments": {"gen_args_0": {"arg_0": f"Q: {asked(n)}\nA. Red", "arg_1": {}}}},
    "the prompt of older files": lambda n: {"arguments": [[f"Q: {asked(n)}", {"until": []}]]},
    "the input of lmms-eval": lambda n: {"input": asked(n)},
}


def samples(path: Path, evidence: str, order: tuple[int, ...] = ORDER) -> Path:
    """A log whose doc_id counts the lines, where the documents are in another order. All replies are right."""
    lines = [
        {"doc_id": place, "resps": [[KEY[number]]], "filtered_resps": [KEY[number]], **EVIDENCE[evidence](number)}
        for place, number in enumerate(order)
    ]
    return written(path / "samples.jsonl", *lines)


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("evidence", EVIDENCE)
def test_a_doc_id_of_another_question_stops_and_the_text_matches(evidence, table, tmp_path):
    file = samples(tmp_path, evidence)
    with pytest.raises(DataError, match=r"samples\.jsonl, line 1: asks .*item 2.*, where .* item 0.*--match text"):
        rescore("multiple_choice", [file], annotations=table)
    assert value(rescore("multiple_choice", [file], annotations=table, by_text=True), "official", "accuracy") == 1
    in_order = samples(tmp_path, evidence, (0, 1, 2, 3))
    assert value(rescore("multiple_choice", [in_order], annotations=table), "official", "accuracy") == 1


def test_without_a_text_the_options_and_the_targets_confirm_the_match(tmp_path):
    """The questions have options of their own, such as 0 to 4, so that options of another question are noticed."""
    texts = [("Rose", "Lily"), ("Oak", "Elm")]
    own = [row(n, A=a, B=b, C="", D="", answer="AB"[n]) for n, (a, b) in enumerate(texts)]
    questions = load(own_folder(tmp_path / "own", own), tmp_path / "out")
    tables.write_questions(tmp_path / "q.parquet", questions)
    lines = [{"doc_id": n, "resps": [["A"]], "filtered_resps": ["A"], "doc": {"choices": texts[1 - n]}} for n in (0, 1)]
    with pytest.raises(DataError, match="line 1: has the options 'Oak, Elm', where question 'q0' has 'Rose, Lily'"):
        rescore("multiple_choice", [written(tmp_path / "a.jsonl", *lines)], annotations=tmp_path / "q.parquet")


@pytest.mark.parametrize(
    "targets",
    [
        list(KEY),
        ["Red", "green", "Blue", "Red"],
        ["0", "1", "2", "0"],
        [0, 1, 2, 0],
        [1, 2, 3, 1],
        [" A", "(B)", "C.", "A"],
    ],
    ids=["letters", "texts", "indices as texts", "indices", "numbers", "marked letters"],
)
def test_targets_are_compared_with_the_key_in_one_reading_of_the_file(targets, table, tmp_path):
    """In order they fit the key; in the order of the lines, the first one that does not is named."""
    lines = [{"doc_id": n, "resps": [[KEY[n]]], "filtered_resps": [KEY[n]], "target": targets[n]} for n in range(4)]
    good = written(tmp_path / "good.jsonl", *lines)
    assert value(rescore("multiple_choice", [good], annotations=table), "official", "accuracy") == 1
    moved = [line | {"doc_id": place} for place, line in enumerate([lines[1], lines[0], *lines[2:]])]
    with pytest.raises(
        DataError, match=r"moved\.jsonl, line 1: its target is .*right option of question 'q0' .*'A. Red'"
    ):
        rescore("multiple_choice", [written(tmp_path / "moved.jsonl", *moved)], annotations=table)


def test_a_text_of_several_questions_does_not_match(tmp_path):
    questions = [question(name, answer=0) for name in ("1", "2")]
    tables.write_questions(tmp_path / "q.parquet", questions)
    file = written(tmp_path / "a.jsonl", {"index": 1, "prediction": "A", "question": questions[0].text})
    with pytest.raises(DataError, match=r"a\.jsonl, line 1: .* is the text of 2 questions \('1', '2'\)"):
        rescore("humblebench", [file], annotations=tmp_path / "q.parquet", by_text=True)
    with pytest.raises(ConfigError, match="name them with --annotations"):
        rescore("humblebench", [file], by_text=True)
    file = written(tmp_path / "b.jsonl", {"question_id": "1", "prediction": "A"})
    with pytest.raises(DataError, match="no text of its question"):
        rescore("humblebench", [file], annotations=tmp_path / "q.parquet", by_text=True)


def test_the_field_of_a_file_names_the_variant_of_the_annotations(tmp_path):
    """Otherwise a letter would mean an option of the published question: B is gone, and E is right."""
    published = question("1", answer=1)
    tables.write_questions(tmp_path / "q.parquet", [published])
    line = {"index": 1, "prediction": "E", "question": published.text, "variant": "nota_only"}
    found = rescore("humblebench", [written(tmp_path / "a.jsonl", line)], annotations=tmp_path / "q.parquet")
    assert (found.variant, value(found, "official", "accuracy")) == ("nota_only", 1)
