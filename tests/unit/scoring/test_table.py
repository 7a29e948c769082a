from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from known_unknowns import tables
from known_unknowns.data.up_to_date import UpToDate
from known_unknowns.errors import ConfigError, DamagedError, DataError, SeveralErrors
from known_unknowns.records import NOT_OFFERED, AnsweredTurn, Option, Question, Reply, Score
from known_unknowns.scoring import PARSERS
from known_unknowns.scoring.table import final_answers, read_turns, score_models, score_table, score_turn
from known_unknowns.variants import without_refusal
from tests.factories import question


def asked(identifier: str, reply: Reply, **changes) -> AnsweredTurn:
    return replace(AnsweredTurn(identifier, 0, "answer", "prompt", (), tuple("ABCDE"), "key", reply), **changes)


def written(folder: Path, questions: list[Question], replies: list[AnsweredTurn]) -> tuple[Path, Path]:
    tables.write_questions(folder / "questions.parquet", questions)
    tables.write_replies(folder / "replies.parquet", replies)
    return folder / "questions.parquet", folder / "replies.parquet"


def test_one_score_per_question_turn_and_parser_in_order(tmp_path):
    """Question 2 is asked twice; the turn of the step "select" offers no options and is not scored."""
    questions = [question("2", answer=1), question("1", answer=4)]
    replies = [
        asked("1", Reply("E", {"A": -1.0, "E": -2.0})),
        asked("2", Reply("left"), step="select", labels=None),
        asked("2", Reply("A car"), turn=1),
        asked("2", Reply("B"), turn=2, step="forced", labels=tuple("ABCD")),
    ]
    out = tmp_path / "scores.parquet"
    score_table(*written(tmp_path, questions, replies), out, parsers=["official", "robust", "likelihood"])
    assert tables.read_scores(out) == [
        Score("2", 1, "answer", "official", "answered", "A", 0, False),
        Score("2", 1, "answer", "robust", "unparsed", None, None, False),
        Score("2", 1, "answer", "likelihood", "unparsed", None, None, False),
        Score("2", 2, "forced", "official", "answered", "B", 1, True),
        Score("2", 2, "forced", "robust", "answered", "B", 1, True),
        Score("2", 2, "forced", "likelihood", "unparsed", None, None, False),
        Score("1", 0, "answer", "official", "refused", "E", 4, True),
        Score("1", 0, "answer", "robust", "refused", "E", 4, True),
        Score("1", 0, "answer", "likelihood", "answered", "A", 0, False),
    ]


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
    out = tmp_path / "scores.parquet"
    files = written(tmp_path, [question("1")], [asked("1", Reply("A"))])
    score_table(*files, out, parsers=["robust", "likelihood"])
    assert [score.parser for score in tables.read_scores(out)] == ["robust"]


def test_failed_reply_is_failed_under_every_parser(tmp_path):
    reply = Reply("A", {"A": -0.1}, finish="error", error="out of memory")
    out = tmp_path / "scores.parquet"
    score_table(
        *written(tmp_path, [question("1")], [asked("1", reply)]), out, parsers=["official", "robust", "likelihood"]
    )
    scores = tables.read_scores(out)
    assert [(s.outcome, s.label, s.choice, s.correct) for s in scores] == [("failed", None, None, False)] * 3


def test_question_without_an_answer_is_never_correct(tmp_path):
    unanswerable = replace(question("1"), answer=None, refusal=None)
    out = tmp_path / "scores.parquet"
    score_table(*written(tmp_path, [unanswerable], [asked("1", Reply("I see nothing"))]), out, parsers=["robust"])
    assert not tables.read_scores(out)[0].correct


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
    out = tmp_path / "scores.parquet"
    with pytest.raises(DataError, match=complaint) as error:
        score_table(*files, out, parsers=["robust"])
    assert str(files[1]) in str(error.value)
    assert not out.exists()


def test_an_unknown_parser_is_named_with_the_nearest(tmp_path):
    with pytest.raises(ConfigError, match="did you mean 'robust'"):
        score_table(tmp_path / "q", tmp_path / "r", tmp_path / "s", parsers=["robost"])


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


@pytest.mark.parametrize("workers", [1, 2])
def test_damaged_replies_of_some_models_do_not_stop_the_others(tmp_path, workers):
    folders = {"questions": tmp_path / "q", "replies": tmp_path / "r", "out": tmp_path / "s"}
    cells, models = [("original", 0), ("noise", 0)], ("a", "b", "c", "d")
    files = {cell: Path(cell[0], f"seed{cell[1]}.parquet") for cell in cells}
    for file in files.values():
        tables.write_questions(folders["questions"] / file, [question("1", answer=1)])
        for model in models:
            tables.write_replies(folders["replies"] / model / "bench" / file, [asked("1", Reply("B"))])
    damaged = [folders["replies"] / model / "bench" / files[cells[1]] for model in ("b", "c")]
    for path in damaged:
        path.write_bytes(path.read_bytes()[:50])

    def run(code: str = "1") -> None:
        up_to_date = UpToDate(tmp_path / "made_from.json", code=code)
        asked_cells = dict.fromkeys(models, cells)
        score_models(asked_cells, "bench", **folders, parsers=["official"], up_to_date=up_to_date, workers=workers)

    with pytest.raises(SeveralErrors) as found:
        run()
    assert [(type(error), error.file) for error in sorted(found.value.errors, key=str)] == [
        (DamagedError, path) for path in damaged
    ]
    assert found.value.exit_code == DataError.exit_code
    written = {folders["out"] / model / "bench" / file for model in models for file in files.values()}
    made = {path for path in written if path.is_file()}
    assert written - made == {folders["out"] / model / "bench" / "noise/seed0.parquet" for model in ("b", "c")}

    for path in made:  # as Snakemake does after a failed job
        path.unlink()
    for path in damaged:
        tables.write_replies(path, [asked("1", Reply("B"))])
    before = {path.name for path in (tmp_path / "made_from.tables").iterdir()}
    run()
    assert before and all(path.is_file() for path in written)
    assert not (tmp_path / "made_from.tables").exists()


def test_models_are_scored_together_and_unchanged_ones_are_kept(tmp_path, monkeypatch):
    """Two models give the same reply, which is parsed once. Then the reply of one of them changes."""
    folders = {"questions": tmp_path / "q", "replies": tmp_path / "r", "out": tmp_path / "s"}
    file = Path("bench", "original", "seed0.parquet")
    tables.write_questions(folders["questions"] / "original/seed0.parquet", [question("1", answer=1), question("2")])
    for model in ("a", "b"):
        tables.write_replies(folders["replies"] / model / file, [asked("2", Reply("A")), asked("1", Reply("so B"))])
    parsed = []
    official = PARSERS["official"]
    monkeypatch.setitem(PARSERS, "official", lambda turn, q: parsed.append(turn.reply.text) or official(turn, q))

    def run() -> dict[str, list[tuple[str, str | None]]]:
        up_to_date = UpToDate(tmp_path / "made_from.json", code="1")
        cells = {"a": [("original", 0)], "b": [("original", 0)]}
        score_models(cells, "bench", **folders, parsers=["official"], up_to_date=up_to_date)
        scores = {model: tables.read_scores(folders["out"] / model / file) for model in cells}
        return {model: [(score.question_id, score.label) for score in rows] for model, rows in scores.items()}

    assert run() == {"a": [("1", "B"), ("2", "A")], "b": [("1", "B"), ("2", "A")]}
    assert sorted(parsed) == ["A", "so B"]
    tables.write_replies(folders["replies"] / "b" / file, [asked("2", Reply("A")), asked("1", Reply("D"))])
    kept = (folders["out"] / "a" / file).stat().st_ino
    assert run() == {"a": [("1", "B"), ("2", "A")], "b": [("1", "D"), ("2", "A")]}
    assert (folders["out"] / "a" / file).stat().st_ino == kept
    assert sorted(parsed) == ["A", "A", "D", "so B"]
