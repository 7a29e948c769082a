"""One row of each format, as its tool writes it, and errors for invalid rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from known_unknowns.benchmark.exchange import NO_PREDICTION, Prediction, PredictionFile
from known_unknowns.errors import DataError
from known_unknowns.exchange.reader import parse_file

HUMBLE = {
    "label": "A",
    "question": "What color is it?\nA. Red\nB. Blue\nE. None of the above",
    "type": "Attribute",
    "image": {"bytes": None, "path": "images/1.jpg"},
    "question_id": 17,
    "prediction": "A",
}
LMMS = {
    "doc_id": 3,
    "target": "A",
    "filtered_resps": ["A"],
    "doc_hash": "0",
    "prompt_hash": "0",
    "target_hash": "0",
    "submission": {"prediction": "A"},
}


def lines(tmp_path: Path, *found: Any) -> PredictionFile:
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in found), encoding="utf-8")
    return parse_file(path)


def only(tmp_path: Path, line: Any) -> Prediction:
    (prediction,) = lines(tmp_path, line).predictions
    return prediction


def test_lmms_eval_without_resps_and_doc(tmp_path):
    found = lines(tmp_path, LMMS)
    (prediction,) = found.predictions
    assert (found.format.name, prediction.index, prediction.id, prediction.text) == ("lmms_eval", 3, None, "A")
    assert prediction.fields == {"target": "A"}


def test_lmms_eval_doc_names_the_question(tmp_path):
    doc = {"question_id": "17", "question": HUMBLE["question"]}
    prediction = only(tmp_path, LMMS | {"doc": doc, "resps": [["The answer is A."]]})
    assert prediction.text == "The answer is A."  # the raw reply precedes the filtered one
    assert (prediction.id, prediction.index) == ("17", None)
    assert prediction.fields == {"target": "A", **doc}


def test_lmms_eval_likelihoods(tmp_path):
    pairs = [[["-1.5", "False"]], [["-0.25", "True"]], [["-inf", "False"]]]
    assert only(tmp_path, LMMS | {"resps": pairs}).likelihoods == (-1.5, -0.25, float("-inf"))
    assert only(tmp_path, LMMS | {"filtered_resps": [["-1.5", "False"], ["-0.25", "True"]]}).likelihoods == (
        -1.5,
        -0.25,
    )


def test_lmms_eval_old_file(tmp_path):
    (tmp_path / "task.json").write_text(json.dumps({"args": {}, "logs": [LMMS | {"resps": [["A"]]}]}))
    assert parse_file(tmp_path / "task.json").predictions[0].index == 3


def test_vlmevalkit_failures(tmp_path):
    said = "Failed to obtain answer via API."
    prediction = only(tmp_path, {"index": 7, "prediction": said})
    assert (prediction.text, prediction.error) == ("", said)


def test_plain_in_csv_with_a_forced_step(tmp_path):
    (tmp_path / "a.csv").write_text("question_id,step,prediction\n1,answer,C\n1,forced,A\n2,,B\n")
    found = parse_file(tmp_path / "a.csv")
    assert found.format.name == "plain"
    assert [(p.id, p.step, p.text) for p in found.predictions] == [
        ("1", "answer", "C"),
        ("1", "forced", "A"),
        ("2", "answer", "B"),
    ]


def test_null_is_a_failure_and_empty_text_is_not(tmp_path):
    assert only(tmp_path, {"question_id": 1, "prediction": None}).error == NO_PREDICTION
    assert only(tmp_path, {"question_id": 1, "prediction": ""}).error is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (HUMBLE | {"prediction": 3}, r"the prediction is '3' \(int\), not a text"),
        (HUMBLE | {"question_id": None}, "names no question"),
        ({k: v for k, v in HUMBLE.items() if k != "label"}, "label missing"),
    ],
)
def test_error_names_the_invalid_row(tmp_path, line, reason):
    with pytest.raises(DataError, match=f"predictions.jsonl, line 2: .*{reason}"):
        lines(tmp_path, HUMBLE, line)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (LMMS | {"resps": [["A"], ["B"]]}, "2 requests for one question"),
        (LMMS | {"resps": [[]]}, "an empty list of replies"),
        ({"question_id": 1, "prediction": "A", "sample": "x"}, "the sample is 'x'"),
        (LMMS | {"doc_id": -1}, "doc_id is -1"),
        (LMMS | {"doc": "text"}, "doc is .text., not an object"),
        ({"question_id": 1, "prediction": "A", "step": 2}, "the step is 2"),
    ],
)
def test_rows_of_another_format(tmp_path, line, reason):
    with pytest.raises(DataError, match=f"line 1: {reason}"):
        lines(tmp_path, line)


def test_unknown_format_lists_known_formats(tmp_path):
    with pytest.raises(DataError, match=r"no known format \(id, said\).*plain: question_id, prediction"):
        lines(tmp_path, {"id": 1, "said": "A"})
    (tmp_path / "a.json").write_text('{"predictions": []}')
    with pytest.raises(DataError, match=r"known are .*actiview: preds; .*\(one object\): logs"):
        parse_file(tmp_path / "a.json")
    (tmp_path / "a.json").write_text('{"preds": "A"}')
    with pytest.raises(DataError, match="preds is not a list"):
        parse_file(tmp_path / "a.json")
