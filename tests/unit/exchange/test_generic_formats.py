"""The formats of evaluation harnesses and plain tables, written and read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from known_unknowns import tables
from known_unknowns.exchange.export import export
from known_unknowns.exchange.reader import parse_file
from known_unknowns.records import AnsweredTurn, Question, Reply
from tests.cells import ONE
from tests.factories import question

NASTY = 'B\t"or"\r\n, {C}\u2028'


def exported(tmp_path: Path, format: str, pairs: list[tuple[Question, list[tuple[str, Reply]]]], suffix: str) -> Path:
    asked = [
        AnsweredTurn(q.id, turn, step, "asked thus", (), q.labels, "k", reply)
        for q, turns in pairs
        for turn, (step, reply) in enumerate(turns)
    ]
    tables.write_questions(tmp_path / "q.parquet", [q for q, _ in pairs])
    tables.write_replies(tmp_path / "r.parquet", {ONE: asked})
    export(format, tmp_path / "q.parquet", tmp_path / "r.parquet", tmp_path / f"out.{suffix}")
    return tmp_path / f"out.{suffix}"


def two(text: str) -> list[tuple[Question, list[tuple[str, Reply]]]]:
    """A reply with ``text``, and one that failed."""
    extra = {"question_id": 1, "label": "A", "image_path": "a.jpg"}
    return [
        (question("1", extra=extra), [("answer", Reply(text))]),
        (question("2", extra=extra | {"question_id": 2}), [("answer", Reply("half", error="timeout"))]),
    ]


@pytest.mark.parametrize(
    ("format", "suffix", "failed"),
    [
        ("humblebench", "jsonl", ("", None)),
        ("lmms_eval", "jsonl", ("", None)),
        ("vlmevalkit", "tsv", ("", "Failed to obtain answer: timeout")),
        ("csv", "csv", ("", None)),
        ("jsonl", "jsonl", ("", "the file holds no prediction (null)")),
    ],
)
def test_replies_survive_the_round_trip(tmp_path, format, suffix, failed):
    found = parse_file(exported(tmp_path, format, two(NASTY), suffix)).predictions
    assert [p.id for p in found] == ["1", "2"]
    assert found[0].text == NASTY
    assert (found[1].text, found[1].error) == failed
