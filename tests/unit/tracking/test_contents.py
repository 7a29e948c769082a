from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns import tables
from known_unknowns.errors import DataError
from known_unknowns.records import OVERALL, AnsweredTurn, Metric, Score
from known_unknowns.tracking.contents import allowed_name, metric_table, question_table

from .world import questions, replies, scores

SCORERS = ["official", "robust"]


def test_categories_of_the_papers_get_names_that_mlflow_takes() -> None:
    assert allowed_name("Animal & Plant") == "Animal _ Plant"
    assert allowed_name("geo-loc(counrty)") == "geo-loc_counrty_"
    assert allowed_name("Überblick") == "Überblick"


@given(st.text(min_size=1, max_size=40))
def test_mlflow_takes_every_name(name: str) -> None:
    from mlflow.utils.validation import _validate_param_name

    _validate_param_name(f"engine.{allowed_name(name)}")


def test_undefined_values_are_null_in_the_table() -> None:
    undefined = Metric("m", "b", "original", 0, "robust", OVERALL, "f1", None, None, None, 7, "wilson")
    found = json.loads(metric_table([undefined]))
    assert [dict(zip(found["columns"], row, strict=True)) for row in found["data"]] == [
        {
            "variant": "original",
            "seed": 0,
            "scorer": "robust",
            "category": "Overall",
            "name": "f1",
            "value": None,
            "low": None,
            "high": None,
            "n": 7,
            "method": "wilson",
            "spread": None,
            "denominator": None,
        }
    ]


def table(folder: Path, asked: list[AnsweredTurn], scored: list[Score], scorers: list[str] = SCORERS) -> dict[str, Any]:
    """Write the three tables and return the question table made of them."""
    files = [folder / name for name in ("questions.parquet", "replies.parquet", "scores.parquet")]
    tables.write_questions(files[0], questions())
    tables.write_replies(files[1], asked)
    tables.write_scores(files[2], scored)
    return json.loads(question_table(*files, scorers))


def test_a_turn_without_options_has_no_score(tmp_path: Path) -> None:
    asked = replies("oracle")
    asked.insert(1, replace(asked[0], turn=1, step="caption", labels=None))
    found = table(tmp_path, asked, scores("oracle"))
    answer, caption = (dict(zip(found["columns"], row, strict=True)) for row in found["data"][:2])
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


def test_scorer_without_input_has_no_score(tmp_path: Path) -> None:
    found = table(tmp_path, replies("oracle"), scores("oracle"), [*SCORERS, "likelihood"])
    rows = [dict(zip(found["columns"], row, strict=True)) for row in found["data"]]
    assert {row["likelihood.outcome"] for row in rows} == {None}
    assert {row["robust.outcome"] for row in rows} != {None}


def test_missing_rows_are_errors(tmp_path: Path) -> None:
    asked, scored = replies("oracle"), scores("oracle")
    with pytest.raises(DataError, match=r"replies\.parquet: no reply to question '0'"):
        table(tmp_path, asked[1:], scored)
    with pytest.raises(DataError, match=r"scores\.parquet: 1 scores are missing, such as .*'3', 0, 'robust'"):
        table(tmp_path, asked, scored[:-1])
    with_logprobs = [replace(asked[0], reply=replace(asked[0].reply, logprobs={"A": -0.1})), *asked[1:]]
    with pytest.raises(DataError, match=r"4 scores are missing, such as .*'0', 0, 'likelihood'"):
        table(tmp_path, with_logprobs, scored, [*SCORERS, "likelihood"])
    with pytest.raises(DataError, match=r"replies\.parquet, row 4: a reply to question '9'"):
        table(tmp_path, [*asked, replace(asked[0], question_id="9")], scored)
