from __future__ import annotations

import json
from dataclasses import replace

import pytest

from known_unknowns import tables, variants
from known_unknowns.errors import DataError
from known_unknowns.exchange.export import export
from known_unknowns.records import AnsweredTurn, Cell, Question, Reply
from tests.cells import ONE
from tests.factories import question

RED = question("17", answer=0, extra={"question_id": 17, "label": "A", "image_path": "images/x.jpg"})
TEXT = "What color is the chandelier?\nA. Red\nB. Blue\nC. Black\nD. Gold\nE. None of the above"


def exported(tmp_path, changed: Question, reply: Reply) -> dict:
    tables.write_questions(tmp_path / "q.parquet", [changed])
    turn = AnsweredTurn("17", 0, "answer", "p", (), changed.labels, "k", reply)
    tables.write_replies(tmp_path / "r.parquet", {ONE: [turn]})
    export("humblebench", tmp_path / "q.parquet", tmp_path / "r.parquet", tmp_path / "out.jsonl")
    (line,) = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    return json.loads(line)


def test_line_has_the_keys_of_the_package(tmp_path):
    assert exported(tmp_path, RED, Reply("**A**\n\u00e9")) == {
        "label": "A",
        "question": TEXT,
        "type": "Attribute",
        "image": {"bytes": None, "path": "images/x.jpg"},
        "question_id": 17,
        "prediction": "**A**\n\u00e9",
    }


def test_labels_and_images_of_variants(tmp_path):
    """Labels stay as published for generated images. A question without an image and a failed reply are lines too."""
    line = exported(tmp_path, variants.noise(RED), Reply("E"))
    assert line["label"] == "A"
    assert line["image"]["path"] == variants.noise(RED).images[0].source
    line = exported(tmp_path, variants.nota_only(RED), Reply("E"))
    assert (line["label"], line["question"]) == ("E", TEXT.replace("\nA. Red", ""))
    line = exported(tmp_path, variants.text_only(RED), Reply("half an", error="timeout"))
    assert (line["image"], line["prediction"]) == ({"bytes": None, "path": None}, "")


def test_the_default_format_is_that_of_the_benchmark(tmp_path):
    with pytest.raises(DataError, match="'mmsap'"):
        exported(tmp_path, replace(RED, benchmark="mmsap"), Reply("A"))
    assert not (tmp_path / "out.jsonl").exists()
    exported(tmp_path, RED, Reply("A"))
    files = [tmp_path / name for name in ("q.parquet", "r.parquet")]
    export(None, *files, tmp_path / "default.jsonl")
    assert (tmp_path / "default.jsonl").read_bytes() == (tmp_path / "out.jsonl").read_bytes()
    tables.write_questions(files[0], [replace(RED, benchmark="mmsap")])
    # a benchmark without a format of its own
    generic = export(None, *files, tmp_path / "model-1.5", add_suffix=True).path
    assert generic == tmp_path / "model-1.5.jsonl"
    assert json.loads(generic.read_text())["prediction"] == "A"
    assert export("vlmevalkit", *files, tmp_path / "model-1.5", add_suffix=True).path.suffix == ".tsv"


def test_what_a_format_cannot_hold_is_named(tmp_path):
    """A forced reply, a reply cut by the length limit, a failed one, log-probabilities, and removed options."""
    asked = [variants.nota_only(replace(RED, id=n, extra={**RED.extra, "question_id": n})) for n in ("17", "18", "19")]
    tables.write_questions(tmp_path / "q.parquet", asked)
    replies = [
        Reply("Red", finish="length", logprobs={"B": -1.0}),
        Reply("", error="timeout"),
        Reply("E"),
    ]
    turns = [AnsweredTurn(q.id, 0, "answer", "p", (), q.labels, "k", r) for q, r in zip(asked, replies, strict=True)]
    turns.append(AnsweredTurn("19", 1, "forced", "p", (), ("B", "C", "D"), "k", Reply("B")))
    tables.write_replies(tmp_path / "r.parquet", {Cell("nota_only", 0): turns})
    named = {
        "lmms_eval": ["forced", "length limit", "failed", "log-prob"],
        "vlmevalkit": ["forced", "length limit", "log-prob"],
        "humblebench": [
            *("forced", "length limit", "failed", "log-prob", "options that the variant removed"),
            "does not say its variant; give rescore --variant nota_only",
        ],
        "csv": ["failed", "log-prob", "questions are left out"],
        "jsonl": ["questions are left out"],
    }
    for name, words in named.items():
        notes = export(name, tmp_path / "q.parquet", tmp_path / "r.parquet", tmp_path / "any.name").notes
        assert len(notes) == len(words), (name, notes)
        assert all(any(word in note for note in notes) for word in words), (name, notes)
