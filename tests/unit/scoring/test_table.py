from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from known_unknowns import tables
from known_unknowns.errors import ConfigError, DamagedError, DataError
from known_unknowns.records import NOT_OFFERED, AnsweredTurn, Cell, Continuation, Option, Question, Reply, Score
from known_unknowns.scoring.dialogues import final_answers, read_turns, score_turn
from known_unknowns.scoring.table import parse
from known_unknowns.variants import without_refusal
from tests import cells
from tests.cells import ONE
from tests.factories import question


def asked(identifier: str, reply: Reply, **changes) -> AnsweredTurn:
    return replace(AnsweredTurn(identifier, 0, "answer", "prompt", (), tuple("ABCDE"), "key", reply), **changes)


def written(folder: Path, questions: list[Question], replies: list[AnsweredTurn]) -> tuple[Path, Path]:
    """Write the tables of a variant; return those of its questions and of its replies."""
    tables.write_variant(folder / "original.parquet", {0: questions})
    tables.write_replies(folder / "replies.parquet", {ONE: replies})
    return folder / "original.parquet", folder / "replies.parquet"


def scores_of(files: tuple[Path, Path], parsers: list[str]) -> list[Score]:
    """The scores of all turns, by parser, question and turn."""
    questions, replies = files
    answers = replies.with_name("answers.parquet")
    parse(questions.parent, replies, answers, cells=[ONE], parsers=parsers)
    return tables.read_scores(answers)


def test_one_score_per_question_turn_and_parser_in_order(tmp_path):
    """Question 2 is asked twice; the turn of the step "select" offers no options and is not scored."""
    questions = [question("2", answer=1), question("1", answer=4)]
    replies = [
        asked("1", Reply("E", {"A": -1.0, "E": -2.0})),
        asked("2", Reply("left"), step="select", labels=None),
        asked("2", Reply("A car"), turn=1),
        asked("2", Reply("B"), turn=2, step="forced", labels=tuple("ABCD")),
    ]
    files = written(tmp_path, questions, replies)
    assert scores_of(files, ["official", "robust", "likelihood"]) == [
        Score("2", 1, "answer", "official", "answered", "A", 0, False),
        Score("2", 2, "forced", "official", "answered", "B", 1, True),
        Score("1", 0, "answer", "official", "refused", "E", 4, True),
        Score("2", 1, "answer", "robust", "unparsed", None, None, False),
        Score("2", 2, "forced", "robust", "answered", "B", 1, True),
        Score("1", 0, "answer", "robust", "refused", "E", 4, True),
        Score("2", 1, "answer", "likelihood", "unparsed", None, None, False),
        Score("2", 2, "forced", "likelihood", "unparsed", None, None, False),
        Score("1", 0, "answer", "likelihood", "answered", "A", 0, False),
    ]


def test_the_likeliest_text_of_an_option_per_token_and_summed(tmp_path):
    """A: -1 with 1 token. B: -3 with 4, the highest per token. C and E are less likely, D has no likelihood."""
    likelihoods = {
        "A": Continuation(-1.0, 1),
        "B": Continuation(-3.0, 4),
        "C": Continuation(-9.0, 3),
        "E": Continuation(-8.0, 2),
    }
    found = Reply("", continuations=likelihoods)
    replies = [
        asked("1", Reply("It is in words.")),
        asked("1", found, turn=1, step="likelihood", labels=None),
        asked("2", Reply("", error="no reply", finish="error")),
        asked("3", Reply("B")),
    ]
    files = written(tmp_path, [question("1", answer=1), question("2"), question("3", answer=1)], replies)
    parsers = ["option_text", "option_text_sum"]
    assert [(each.question_id, each.outcome, each.label) for each in scores_of(files, parsers)] == [
        ("1", "answered", "B"),
        ("2", "failed", None),
        ("3", "unparsed", None),
        ("1", "answered", "A"),
        ("2", "failed", None),
        ("3", "unparsed", None),
    ]


def test_without_likelihoods_the_parsers_of_option_texts_have_no_scores(tmp_path):
    files = written(tmp_path, [question("1")], [asked("1", Reply("B"))])
    assert {each.parser for each in scores_of(files, ["robust", "option_text", "option_text_sum"])} == {"robust"}


@pytest.mark.parametrize(
    ("removed", "reply", "label"),
    [
        ("Gold", "gold", NOT_OFFERED),
        ("Two", "2", NOT_OFFERED),  # the robust parser's rule for whole replies
        ("Sorry, I can't help with it", "I'm sorry, but I cannot help with that.", NOT_OFFERED),
        ("Red", "Red", None),  # offered with the same text, so that the reply may mean that option
        ("The red", "Red", None),
        ("Gold", "the golden one", None),
    ],
)
def test_a_reply_that_is_a_removed_option_is_noted(removed, reply, label):
    options = (*question().options[:3], Option("D", removed, "D. "), question().options[4])
    changed = without_refusal(question(options=options, refusal=3))
    score = score_turn(asked("1", Reply(reply), labels=changed.labels), changed, "official")
    assert (score.outcome, score.label, score.choice) == ("unparsed", label, None)


def test_parser_without_input_has_no_scores(tmp_path):
    files = written(tmp_path, [question("1")], [asked("1", Reply("A"))])
    assert [score.parser for score in scores_of(files, ["robust", "likelihood"])] == ["robust"]


def test_failed_reply_is_failed_under_every_parser(tmp_path):
    reply = Reply("A", {"A": -0.1}, finish="error", error="out of memory")
    scores = scores_of(written(tmp_path, [question("1")], [asked("1", reply)]), ["official", "robust", "likelihood"])
    assert [(s.outcome, s.label, s.choice, s.correct) for s in scores] == [("failed", None, None, False)] * 3


def test_question_without_an_answer_is_never_correct(tmp_path):
    unanswerable = replace(question("1"), answer=None, refusal=None)
    files = written(tmp_path, [unanswerable], [asked("1", Reply("I see nothing"))])
    assert not scores_of(files, ["robust"])[0].correct


@pytest.mark.parametrize(
    ("questions", "replies", "complaint"),
    [
        (["1", "2"], [("1", 0)], "no reply to question '2'"),
        (["1"], [("1", 0), ("7", 0)], "question '7'"),
        (["1"], [("1", 0), ("1", 0)], "turn 0 of question '1' occurs twice"),
        (["1"], [("1", 1)], "one is missing"),
    ],
)
def test_questions_and_replies_must_belong_together(tmp_path, questions, replies, complaint):
    files = written(tmp_path, [question(i) for i in questions], [asked(i, Reply("A"), turn=t) for i, t in replies])
    with pytest.raises(DataError, match=complaint) as error:
        scores_of(files, ["robust"])
    assert str(files[1]) in str(error.value)


def test_an_unknown_parser_is_named_with_the_nearest(tmp_path):
    with pytest.raises(ConfigError, match="did you mean 'robust'"):
        scores_of((tmp_path / "q", tmp_path / "r"), ["robost"])


def test_answering_turn_is_the_last_of_the_step_answer(tmp_path):
    replies = [
        asked("1", Reply("first")),
        asked("1", Reply("second"), turn=1),
        asked("1", Reply("third"), turn=2, step="forced"),
    ]
    files = written(tmp_path, [question("1")], replies)
    assert [a.reply.text for _, a in final_answers(read_turns(*files), file=files[1])] == ["second"]


def test_question_without_an_answering_turn(tmp_path):
    files = written(tmp_path, [question("1")], [asked("1", Reply("left"), step="select", labels=None)])
    with pytest.raises(DataError, match="'1' has no turn of the step 'answer'"):
        list(final_answers(read_turns(*files), file=files[1]))


def test_the_cells_of_a_model_are_one_table_with_a_row_group_each(tmp_path):
    """An error in one variant leaves no table."""
    variants, replies, out = tmp_path / "variants", tmp_path / "replies.parquet", tmp_path / "answers.parquet"
    asked_of = {Cell("original", 0): "B", Cell("noise", 0): "D", Cell("noise", 1): "so B"}
    for (variant, seed, _), text in asked_of.items():
        cells.write_questions(variants, variant, seed, [question("1", answer=1)])
        cells.write_replies(replies, variant, seed, [asked("1", Reply(text))])
    parse(variants, replies, out, cells=list(asked_of), parsers=["official"])
    assert pq.read_metadata(out).num_row_groups == 3 and tables.cells_in(out) == list(asked_of)
    assert [cells.read_scores(out, cell.variant, cell.seed)[0].label for cell in asked_of] == ["B", "D", "B"]
    out.unlink()
    with pytest.raises(DataError, match=r"replies\.parquet \(original, seed 7\): no reply to question '1'"):
        cells.write_questions(variants, "original", 7, [question("1", answer=1)])
        parse(variants, replies, out, cells=[*asked_of, Cell("original", 7)], parsers=["official"])
    replies.write_bytes(replies.read_bytes()[:50])
    with pytest.raises(DamagedError) as found:
        parse(variants, replies, out, cells=list(asked_of), parsers=["official"])
    assert found.value.file == replies and not out.exists()
