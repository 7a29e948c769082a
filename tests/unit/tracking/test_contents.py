from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns.errors import DataError
from known_unknowns.records import OVERALL, Metric
from known_unknowns.tracking.contents import allowed_name, metric_table, metric_values, question_table

from .world import questions, replies, scores

FILE = Path("metrics.parquet")
SCORERS = ["official", "robust"]


def metric(name: str, category: str, value: float | None, **others: float | None) -> Metric:
    low, high = others.get("low"), others.get("high")
    return Metric("m", "mmsap", "original", 0, "robust", category, name, value, low, high, 7, "wilson")


def test_overall_numbers_and_accuracies_by_category_are_logged() -> None:
    metrics = [
        metric("unparsed", OVERALL, 0.0, low=0.0, high=0.35),
        metric("unparsed", "Art", 0.0),
        metric("accuracy", "Art", 0.5, low=0.25),
        metric("f1", OVERALL, None, low=0.1),
    ]
    assert metric_values(metrics, file=FILE) == {
        "robust.unparsed.Overall": 0.0,
        "robust.unparsed.Overall.low": 0.0,
        "robust.unparsed.Overall.high": 0.35,
        "robust.unparsed.Overall.n": 7.0,
        "robust.accuracy.Art": 0.5,
        "robust.accuracy.Art.low": 0.25,
        "robust.accuracy.Art.n": 7.0,
    }


def test_categories_of_the_papers_get_names_that_mlflow_takes() -> None:
    assert allowed_name("Animal & Plant") == "Animal _ Plant"
    assert allowed_name("geo-loc(counrty)") == "geo-loc_counrty_"
    assert allowed_name("Überblick") == "Überblick"


def test_categories_that_would_share_a_name_are_refused() -> None:
    metrics = [metric("accuracy", "a&b", 0.5), metric("accuracy", "a(b", 0.7)]
    with pytest.raises(DataError, match=r"metrics\.parquet.*robust\.accuracy\.a_b"):
        metric_values(metrics, file=FILE)


@given(st.text(min_size=1, max_size=40))
def test_mlflow_takes_every_name(category: str) -> None:
    from mlflow.utils.validation import _validate_metric_name

    for name in metric_values([metric("accuracy", category, 0.5)], file=FILE):
        _validate_metric_name(name)


def test_undefined_values_are_empty_in_the_table() -> None:
    head, row = metric_table([metric("f1", OVERALL, None)]).decode().splitlines()
    assert dict(zip(head.split(","), row.split(","), strict=True)) == {
        "model": "m",
        "benchmark": "mmsap",
        "variant": "original",
        "seed": "0",
        "scorer": "robust",
        "category": "Overall",
        "name": "f1",
        "value": "",
        "low": "",
        "high": "",
        "n": "7",
        "method": "wilson",
        "spread": "",
        "denominator": "",
    }


def test_a_turn_that_is_not_scored_is_in_the_table_without_a_reading() -> None:
    asked = replies("oracle")
    asked.insert(1, replace(asked[0], turn=1, step="forced"))
    table = json.loads(question_table(questions(), asked, scores("oracle"), SCORERS, file=FILE))
    first, forced = (dict(zip(table["columns"], row, strict=True)) for row in table["data"][:2])
    assert (first["step"], first["robust"], first["robust.outcome"], first["robust.correct"]) == (
        "answer",
        "A",
        "answered",
        True,
    )
    assert (forced["step"], forced["robust"], forced["robust.outcome"], forced["robust.correct"]) == (
        "forced",
        None,
        None,
        None,
    )


def test_lost_and_doubled_questions_are_found() -> None:
    put, asked, read = questions(), replies("oracle"), scores("oracle")
    with pytest.raises(DataError, match=r"replies are of 3 questions where 4"):
        question_table(put, asked[1:], read, SCORERS, file=FILE)
    with pytest.raises(DataError, match=r"scorer robust are of 3 questions where 4"):
        question_table(put, asked, read[:-1], SCORERS, file=FILE)
    with pytest.raises(DataError, match=r"scorer likelihood are of 0 questions"):
        question_table(put, asked, read, [*SCORERS, "likelihood"], file=FILE)
    with pytest.raises(DataError, match=r"row 8: question 3, turn 0, is scored twice by robust"):
        question_table(put, asked, [*read, read[-1]], SCORERS, file=FILE)
    with pytest.raises(DataError, match=r"of 5 questions where 4"):
        question_table(put, [*asked, replace(asked[0], question_id="9")], read, SCORERS, file=FILE)
