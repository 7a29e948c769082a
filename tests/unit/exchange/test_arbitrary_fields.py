"""Any content of a file is either scored or an error that names the line."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from known_unknowns.errors import KnownUnknownsError
from known_unknowns.exchange.harness_logs import RECORD
from known_unknowns.exchange.output import format_json, format_tables
from known_unknowns.exchange.rescore import rescore
from tests.factories import question

TEXT = "Which?\nA. Red\nB. Blue\nE. None of the above"
SOUND: dict[str, dict[str, Any]] = {
    "humblebench": {
        "label": "A",
        "question": TEXT,
        "type": "Object",
        "image": {"path": "a"},
        "question_id": 1,
        "prediction": "A",
    },
    "lmms_eval": {
        "doc_id": 0,
        "doc": {"question_id": 1, "question": TEXT, "label": "A", "type": "Object"},
        "target": "A",
        "resps": [["A"]],
        "filtered_resps": ["A"],
    },
    "vlmevalkit": {
        "index": 1,
        "question": "Which?",
        "A": "Red",
        "E": "None",
        "answer": "A",
        "category": "x",
        "prediction": "A",
    },
    "own": {"question_id": 1, "question": "Which?", "A": "x", "B": "y", "answer": "A", "prediction": "A", "sample": 0},
}
_SAMPLE = {
    "id": 1,
    "epoch": 1,
    "input": "Which?",
    "choices": ["x", "y"],
    "target": "A",
    "metadata": {},
    "output": {"choices": [{"message": {"content": "A"}, "stop_reason": "stop"}]},
    "scores": {"choice": {"value": "C"}},
}
LOG: dict[str, Any] = {"eval": {"model": "m", "packages": {}, "config": {}}, "plan": {"config": {}}}
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["A", "E", TEXT, "Failed to obtain answer", ["-1.0", "True"]]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["path", "question", "a"]), inner),
    max_leaves=4,
)


@settings(max_examples=150)
@given(st.data())
def test_arbitrary_value_in_one_field(tmp_path_factory, data):
    row = dict(SOUND[data.draw(st.sampled_from(sorted(SOUND)))])
    row[data.draw(st.sampled_from(sorted(row)))] = data.draw(ANYTHING)
    file = tmp_path_factory.mktemp("any") / "p.jsonl"
    file.write_text(json.dumps(row) + "\n", encoding="utf-8")
    benchmark = data.draw(st.sampled_from(["humblebench", "mmsap", "actiview", "multiple_choice"]))
    variant = data.draw(st.sampled_from([None, "original", "nota_only", "noise", "without_refusal"]))
    try:
        found = rescore(benchmark, [file], variant=variant)
    except KnownUnknownsError as error:
        assert str(file) in str(error)
    else:
        assert found.n == 1
        assert format_tables(found)
        told = json.loads(format_json(found))["parsers"]
        assert all(
            -1 <= number["value"] <= 1 for s in told.values() for number in s.values() if number["low"] is not None
        )


@pytest.mark.parametrize("name", sorted(SOUND))
def test_a_row_whose_question_has_no_id_is_named(name, tmp_path):
    keys = [key for key in SOUND[name] if key in {"question_id", "index", "doc_id", "custom_id"}]
    file = tmp_path / "p.jsonl"
    file.write_text(json.dumps(SOUND[name] | dict.fromkeys(keys)) + "\n", encoding="utf-8")
    with pytest.raises(KnownUnknownsError, match=rf"p\.jsonl.*({'|'.join(keys)})"):
        rescore("multiple_choice" if name == "own" else "humblebench", [file])


@settings(max_examples=100)
@given(st.data())
def test_arbitrary_value_in_a_log_of_inspect(tmp_path_factory, data):
    log, sample = {name: dict(value) for name, value in LOG.items()}, dict(_SAMPLE)
    place = data.draw(st.sampled_from([log, log["eval"], sample]))
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(ANYTHING)
    file = tmp_path_factory.mktemp("any") / "p.json"
    file.write_text(json.dumps(log | {"samples": [sample]}), encoding="utf-8")
    try:
        found = rescore("multiple_choice", [file])
    except KnownUnknownsError as error:
        assert str(file) in str(error)
    else:
        assert found.n == 1 and all(found.notes)


@settings(max_examples=100)
@given(st.data())
def test_arbitrary_value_in_the_question_of_our_log_of_inspect(tmp_path_factory, data):
    record = asdict(question("1"))
    place = data.draw(st.sampled_from([record, record["options"][0], record["images"][0]]))
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(ANYTHING)
    record = {name: list(value) if isinstance(value, tuple) else value for name, value in record.items()}
    sample = _SAMPLE | {"metadata": {"variant": "original", RECORD: record}}
    file = tmp_path_factory.mktemp("any") / "p.json"
    file.write_text(json.dumps(LOG | {"samples": [sample]}), encoding="utf-8")
    try:
        found = rescore("humblebench", [file])
    except KnownUnknownsError as error:
        assert str(file) in str(error)
    else:
        assert found.n == 1 and all(found.notes)
