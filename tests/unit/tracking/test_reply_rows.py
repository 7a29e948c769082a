from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from known_unknowns import tables
from known_unknowns.errors import DataError
from known_unknowns.records import AnsweredTurn, Score
from known_unknowns.scoring.reply_rows import reply_rows
from tests.cells import ONE, write_answers

from .world import questions, replies, scores

PARSERS = ["official", "robust"]


def table(
    folder: Path, asked: list[AnsweredTurn], scored: list[Score], parsers: list[str] = PARSERS
) -> list[dict[str, Any]]:
    """Write the three tables and return the rows made of them."""
    files = [folder / name for name in ("questions.parquet", "replies.parquet", "answers.parquet")]
    tables.write_questions(files[0], questions())
    tables.write_replies(files[1], {ONE: asked})
    write_answers(files[2], "original", 0, scored)
    columns, rows = reply_rows(*files, parsers)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def test_a_turn_without_options_has_no_score(tmp_path: Path) -> None:
    asked = replies("oracle")
    asked.insert(1, replace(asked[0], turn=1, step="caption", labels=None))
    found = table(tmp_path, asked, scores("oracle"))
    answer, caption = found[:2]
    assert [answer[name] for name in ("step", "robust", "robust.outcome", "robust.correct")] == [
        "answer",
        "A",
        "answered",
        True,
    ]
    assert [caption[name] for name in ("step", "robust", "robust.outcome", "robust.correct")] == [
        "caption",
        None,
        None,
        None,
    ]


def test_parser_without_input_has_no_score(tmp_path: Path) -> None:
    rows = table(tmp_path, replies("oracle"), scores("oracle"), [*PARSERS, "likelihood"])
    assert {row["likelihood.outcome"] for row in rows} == {None}
    assert {row["robust.outcome"] for row in rows} != {None}


def test_missing_rows_are_errors(tmp_path: Path) -> None:
    asked, scored = replies("oracle"), scores("oracle")
    with pytest.raises(DataError, match=r"replies\.parquet: no reply to question '0'"):
        table(tmp_path, asked[1:], scored)
    with pytest.raises(DataError, match=r"answers\.parquet: 1 scores are missing, such as .*'3', 0, 'robust'"):
        table(tmp_path, asked, scored[:-1])
    with_logprobs = [replace(asked[0], reply=replace(asked[0].reply, logprobs={"A": -0.1})), *asked[1:]]
    with pytest.raises(DataError, match=r"4 scores are missing, such as .*'0', 0, 'likelihood'"):
        table(tmp_path, with_logprobs, scored, [*PARSERS, "likelihood"])
    with pytest.raises(DataError, match=r"replies\.parquet, row 4: a reply to question '9'"):
        table(tmp_path, [*asked, replace(asked[0], question_id="9")], scored)
