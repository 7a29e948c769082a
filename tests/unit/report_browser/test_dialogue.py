"""Rows of dialogues: composed images, results taken from a view, and results that the parser does not return."""

from __future__ import annotations

from dataclasses import replace

import pytest

from known_unknowns import tables
from known_unknowns.records import ANSWERED, UNPARSED, AnsweredTurn, Image, Reply, Score, Turn
from known_unknowns.report.browser import outcomes
from known_unknowns.report.browser.columns import AskedQuestions, OrderedTable
from known_unknowns.report.browser.dialogue import CHANGED, DialogueWriter, SharedValues
from known_unknowns.report.browser.outcomes import codes_of
from known_unknowns.report.private_texts import PrivateTexts
from tests.cells import ONE, write_answers
from tests.factories import question

from .rows import rows_of

LABELS = tuple("ABCDE")


def answered(turn, step, text, images=("a" * 64,), labels=LABELS):
    return AnsweredTurn("1", turn, step, f"prompt of {step}", images, labels, "k", Reply(text, {"A": float("-inf")}))


def score(turn, step, label, outcome=ANSWERED):
    choice = None if outcome == UNPARSED else LABELS.index(label)
    return Score("1", turn, step, "robust", outcome, label, choice, label == "B")


@pytest.fixture
def rows(tmp_path):
    """Return the row of a question, and its shared values."""

    def written(turns, scores, replay=lambda question, turns: iter(())):
        asked = AskedQuestions([replace(question(answer=1), id="1")], {"1": 0})
        tables.write_replies(tmp_path / "replies", {ONE: turns})
        write_answers(tmp_path / "answers", "original", 0, scores)
        of_replies = tables.read_columns(tmp_path / "replies", tables.REPLIES)
        replies = OrderedTable(tmp_path / "replies", of_replies, asked)
        results = OrderedTable(tmp_path / "answers", tables.score_table(tmp_path / "answers"), asked)
        shared = SharedValues()
        for image in asked.at[0].images:
            shared.image(image)
        codes = codes_of(results.values("outcome"), results.values("correct"), file=results.path)
        (part,) = DialogueWriter(["official", "robust"], PrivateTexts({})).parts(
            asked, replies, results, codes, [shared], replay
        )
        part["logprobs"][2] = [None if value != value else value for value in part["logprobs"][2]]
        return rows_of(part)[0], shared

    return written


def test_a_result_that_was_taken_from_a_view_names_the_turn(rows):
    turns = [answered(0, "view", "A"), answered(1, "view", "B"), answered(2, "answer", "The answer is C.")]
    scores = [score(0, "view", "A"), score(1, "view", "B"), score(2, "answer", "B")]
    (_, found), _ = rows(turns, scores)
    assert [row[5:] for row in found] == [[0, 1], [0, 1], [None, None, 1]]


def test_a_result_that_the_parser_does_not_return_is_marked(rows):
    (_, found), _ = rows([answered(0, "answer", "The answer is C.")], [score(0, "answer", "D")])
    assert found == [[0, 1, 2, "D", 3, None, None, CHANGED]]


def test_a_label_that_was_not_offered_has_a_passage(rows):
    turn = answered(0, "forced", "E.", labels=LABELS[:4])
    (_, found), _ = rows([turn], [score(0, "forced", "E", UNPARSED)])
    assert found == [[0, 1, outcomes.UNPARSED, "E", None, 0, 1]]


def test_images_of_a_turn_come_from_the_replayed_dialogue(rows):
    composed = Image("side-by-side:{}", "c" * 64, 80, 30)
    turns = [answered(0, "select", "1", ("a" * 64, "c" * 64, "d" * 64), None)]
    replay = lambda question, turns: iter([Turn("1", "select", (composed, "x"), None)])  # noqa: E731
    (turn_rows, _), shared = rows(turns, [], replay)
    assert turn_rows[0][2] == [0, 1, "d" * 64]
    assert [image.sha256 for image in shared.image_records] == ["a" * 64, "c" * 64]
    assert turn_rows[0][6] == [["A", None]]
