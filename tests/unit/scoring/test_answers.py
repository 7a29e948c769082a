"""The table of answers, by hand from dialogues and scores."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from known_unknowns import tables
from known_unknowns.benchmark.answer_columns import answer_schema
from known_unknowns.benchmark.protocol import CONFIDENCE, FORCED
from known_unknowns.errors import DataError
from known_unknowns.records import ABSTAINED, ANSWERED, NO_INPUT, REFUSED, UNPARSED, AnsweredTurn, Cell, Reply
from known_unknowns.scoring.answers import answer_table
from known_unknowns.scoring.dialogues import ScoresByTurn, score_turn
from known_unknowns.scoring.table import parse
from tests.factories import question
from tests.unit.metrics.answered import dialogue

FILE = "replies.parquet"


def rows(pairs, parsers=("robust",)):
    scores: dict[str, ScoresByTurn] = {parser: {} for parser in parsers}
    for asked, turns in pairs:
        for turn in (turn for turn in turns if turn.labels is not None):
            for parser in parsers:
                scores[parser][asked.id, turn.turn] = score_turn(turn, asked, parser)
    return answer_table("humblebench", pairs, parsers, scores, file=FILE).to_pylist()


def test_what_a_row_says_of_a_refused_question():
    """Red is right, and said when the question is asked again; the model is 80% confident of its refusal."""
    asked = question("1", 0, group="g", category="Object")
    replies = [("answer", Reply("E")), (FORCED, Reply("A")), (CONFIDENCE, Reply("Confidence: 80%"))]
    (row,) = rows([(asked, dialogue(asked, replies))])
    expected = {
        "question_id": "1",
        "parser": "robust",
        "category": "Object",
        "group": "g",
        "outcome": REFUSED,
        "label": "E",
        "choice": 4,
        "chosen_text": "None of the above",
        "correct": False,
        "right_label": "A",
        "refusal_label": "E",
        "refusal_is_correct": False,
        "chance": 1 / 5,
        "options": '{"A": "Red", "B": "Blue", "C": "Black", "D": "Gold", "E": "None of the above"}',
        "forced_outcome": ANSWERED,
        "forced_correct": True,
        "undefined": "",
        "label_mass": None,
        "turns": [
            {"turn": 0, "step": "answer", "outcome": REFUSED, "label": "E", "choice": 4, "correct": False},
            {"turn": 1, "step": FORCED, "outcome": ANSWERED, "label": "A", "choice": 0, "correct": True},
        ],
        "would_be_right": True,
        "letters": None,
        "option_text": None,
        "verbalised": 0.8,
        "option_text_error": None,  # not asked for
        "verbalised_error": "",
    }
    assert {name: row[name] for name in expected} == expected


def test_what_a_row_says_without_an_answer():
    asked = replace(question("1", 0), answer=None, refusal=None)
    replies = [("answer", Reply("I cannot tell.")), (CONFIDENCE, Reply("", error="timeout"))]
    (row,) = rows([(asked, dialogue(asked, replies))])
    assert (row["outcome"], row["label"], row["choice"], row["chosen_text"]) == (ABSTAINED, None, None, None)
    assert (row["right_label"], row["refusal_label"], row["chance"]) == (None, None, 0)
    assert (row["forced_outcome"], row["forced_correct"]) == ("", False)
    assert row["would_be_right"] is False  # nothing is right
    assert (row["verbalised"], row["verbalised_error"]) == (None, "timeout")


def test_confidences_are_those_of_the_robust_parser_alone():
    asked = question("1", 0)
    reply = Reply("A", {"A": math.log(0.6), "B": math.log(0.3)})
    found = {
        row["parser"]: row for row in rows([(asked, dialogue(asked, [("answer", reply)]))], ("official", "robust"))
    }
    assert found["robust"]["letters"] == pytest.approx(2 / 3)
    assert found["robust"]["label_mass"] == found["official"]["label_mass"] == pytest.approx(0.9)
    assert found["official"]["letters"] is None and found["official"]["would_be_right"] is None


def test_a_parser_without_input_has_rows_and_says_so():
    asked = question("1", 0)
    table = answer_table(
        "humblebench", [(asked, dialogue(asked, [("answer", Reply("A"))]))], ["likelihood"], {}, file=FILE
    )
    (row,) = table.to_pylist()
    assert (row["outcome"], row["undefined"], row["turns"]) == (UNPARSED, NO_INPUT, [])


def test_an_answer_without_a_score_is_named():
    asked = question("7", 0)
    pairs = [(asked, dialogue(asked, [("answer", Reply("A"))]))]
    with pytest.raises(DataError, match=r"replies\.parquet: question '7' is not scored by 'robust'"):
        answer_table("humblebench", pairs, ["robust"], {"robust": {}}, file=FILE)


def test_the_rows_of_a_file_are_those_of_every_cell_in_order(tmp_path):
    """Three samples of two questions; the same replies give the same bytes."""
    asked = [question("1", 0), question("2", 1)]
    tables.write_variant(tmp_path / "variants/original.parquet", {0: asked})
    cells = [Cell("original", 0, number) for number in range(3)]
    turns = {
        cell: [AnsweredTurn(q.id, 0, "answer", "p", (), q.labels, "k", Reply("A")) for q in asked] for cell in cells
    }
    tables.write_replies(tmp_path / "replies.parquet", turns)
    files = [tmp_path / name for name in ("first.parquet", "second.parquet")]
    for file in files:
        parse(tmp_path / "variants", tmp_path / "replies.parquet", file, cells=cells, parsers=["official", "robust"])
    assert files[0].read_bytes() == files[1].read_bytes()
    assert tables.cells_in(files[0]) == cells
    part = tables.read_columns(tables.Part(files[0], Cell("original", 0, 1)), answer_schema("humblebench"))
    found = [(row["parser"], row["question_id"], row["correct"]) for row in part.to_pylist()]
    assert found == [("official", "1", True), ("official", "2", False), ("robust", "1", True), ("robust", "2", False)]
