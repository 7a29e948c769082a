"""Class labels of the hub: a Parquet file holds numbers, and the names that they stand for in its metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from known_unknowns.exchange.rescore import rescore
from known_unknowns.exchange.rows import parse_table
from tests.unit.benchmarks.multiple_choice.own_files import load, problems
from tests.unit.exchange.rescored import value

NO_YES = {"names": ["No", "Yes"], "_type": "ClassLabel"}
TEXT = {"dtype": "string", "_type": "Value"}
YES_NO = {"options": ["Yes", "No"], "without_image": True}


def hub_table(path: Path, rows: list[dict[str, Any]], **features: Any) -> Path:
    """A file as the package datasets writes it: with its features in the key "huggingface" of the metadata."""
    path.parent.mkdir(parents=True, exist_ok=True)
    described = {name: features.get(name, TEXT) for name in rows[0]}
    metadata = {"huggingface": json.dumps({"info": {"features": described}})}
    pq.write_table(pa.Table.from_pylist(rows).replace_schema_metadata(metadata), path)
    return path.parent


def asked(*answers: Any, **changes: Any) -> list[dict[str, Any]]:
    return [{"question": f"Is {n} even?", "answer": answer} | changes for n, answer in enumerate(answers)]


def test_the_names_of_class_labels_are_the_answers(tmp_path):
    """1 is "Yes", the first option. As an index it would be the second one."""
    folder = hub_table(tmp_path / "own/test.parquet", asked(1, 0, 1), answer=NO_YES)
    assert [question.answer for question in load(folder, tmp_path / "out", **YES_NO)] == [0, 1, 0]


@pytest.mark.parametrize("frame", ["arrow dictionary", "pandas category"])
def test_the_names_of_categories_are_the_answers(frame, tmp_path):
    table = pa.Table.from_pylist(asked("Yes", "No", "Yes"))
    if frame == "arrow dictionary":
        table = table.set_column(1, "answer", table["answer"].dictionary_encode())
        pq.write_table(table, tmp_path / "q.parquet")
    else:
        categories = pandas.CategoricalDtype(["No", "Yes"])
        table.to_pandas().astype({"answer": categories}).to_parquet(tmp_path / "q.parquet")
    assert [question.answer for question in load(tmp_path, tmp_path / "out", **YES_NO)] == [0, 1, 0]


@pytest.mark.parametrize("kind", ["Sequence", "List", "LargeList", "a list"])
def test_class_labels_within_lists_are_options(kind, tmp_path):
    colours = {"names": ["Red", "Green", "Blue"], "_type": "ClassLabel"}
    feature = [colours] if kind == "a list" else {"feature": colours, "_type": kind}
    rows = asked("Blue", "Red", options=[2, 0])
    (first, second) = load(
        hub_table(tmp_path / "own/q.parquet", rows, options=feature), tmp_path / "out", without_image=True
    )
    assert [option.text for option in first.options] == ["Blue", "Red"]
    assert (first.answer, second.answer) == (0, 1)


@pytest.mark.parametrize("form", ["a struct", "a sequence of structs", "a list of structs"])
def test_class_labels_within_structs(form, tmp_path):
    colours = {"names": ["Red", "Green", "Blue"], "_type": "ClassLabel"}
    feature: Any = {"A": colours, "B": colours}
    options: Any = {"A": 2, "B": 0}
    expected: Any = {"A": "Blue", "B": "Red"}
    if form == "a sequence of structs":  # stored as a struct of lists
        feature, options, expected = {"feature": feature, "_type": "Sequence"}, {"A": [2], "B": [0]}, None
        expected = {"A": ["Blue"], "B": ["Red"]}
    if form == "a list of structs":
        feature, options, expected = [feature], [options], [expected]
    hub_table(tmp_path / "q.parquet", asked("A", options=options), options=feature)
    (row,) = parse_table(tmp_path / "q.parquet")
    assert row.fields["options"] == expected


def test_a_number_without_a_name_and_a_label_that_is_not_published(tmp_path):
    folder = hub_table(tmp_path / "one/q.parquet", asked(0, 2), answer=NO_YES)
    assert "column answer: the class label 2 is none of 0 to 1, which the file declares" in problems(folder, **YES_NO)
    folder = hub_table(tmp_path / "two/q.parquet", asked(0, -1), answer=NO_YES)
    assert "q.parquet, row 1: column answer: no answer" in problems(folder, **YES_NO)


def test_class_labels_in_a_file_of_predictions(tmp_path):
    rows = [row | {"question_id": n, "A": "Yes", "B": "No"} for n, row in enumerate(asked(1, 0))]
    rows = [row | {"prediction": text} for row, text in zip(rows, "AB", strict=True)]
    hub_table(tmp_path / "said.parquet", rows, answer=NO_YES)
    assert value(rescore("multiple_choice", [tmp_path / "said.parquet"]), "official", "accuracy") == 1
