"""What a column can mean is declared, or the only reading; otherwise the run stops and shows each reading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from known_unknowns.data.check import check
from known_unknowns.errors import DataError
from known_unknowns.exchange.rescore import rescore
from known_unknowns_benchmarks.multiple_choice.table_files import question_files
from tests.factories import data_entry
from tests.unit.benchmarks.multiple_choice.own_files import BENCHMARK, load, problems
from tests.workflow import pages


def written(path: Path, *rows: dict[str, Any]) -> Path:
    """JSON lines, in a folder that is returned. Characters are written as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path.parent


def asked(answers: list[Any], options: list[Any]) -> list[dict[str, Any]]:
    return [{"question": f"Item {n}?", "options": options, "answer": answer} for n, answer in enumerate(answers)]


AMBIGUOUS = {
    "numbers as answers and as options": (["3", "1", "2", "1"], ["3", "1", "2", "0"], "text or index or number"),
    "letters that are also texts": (["A", "B", "C", "C"], ["C", "A", "B"], "letter or text"),
    "from 0 or from 1": ([1, 2, 1, 2], ["Red", "Green", "Blue"], "index or number"),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_a_column_with_several_readings_stops_and_shows_three_rows_of_each(name, tmp_path):
    answers, options, kinds = AMBIGUOUS[name]
    folder = written(tmp_path / "own/q.jsonl", *asked(answers, options))
    message = problems(folder, without_image=True)
    assert f"the answers fit several readings; set answer_is in params.yaml to {kinds}:" in message
    lines = [line.strip() for line in message.splitlines()[2:]]
    assert [line.split()[1] for line in lines] == kinds.split(" or ")
    for kind, line in zip(kinds.split(" or "), lines, strict=True):
        found = load(folder, tmp_path / kind, without_image=True, answer_is=kind)
        shown = [f"q.jsonl, row {n + 1}: {answers[n]!r} is {q.options[q.answer].line!r}" for n, q in enumerate(found)]
        assert line == f"answer_is: {kind}   # {'; '.join(shown[:3])}"


def test_each_reading_names_other_options(tmp_path):
    answers, options, _ = AMBIGUOUS["numbers as answers and as options"]
    folder = written(tmp_path / "own/q.jsonl", *asked(answers, options))
    by_kind = {
        kind: [q.answer for q in load(folder, tmp_path / kind, without_image=True, answer_is=kind)]
        for kind in ("text", "index", "number")
    }
    assert by_kind == {"text": [0, 1, 2, 1], "index": [3, 1, 2, 1], "number": [2, 0, 1, 0]}


@pytest.mark.parametrize(
    ("answers", "options", "kind", "expected"),
    [
        (["0", "2"], ["Red", "Green", "Blue"], "index", [0, 2]),
        (["1", "3"], ["Red", "Green", "Blue"], "number", [0, 2]),
        (["A", "C"], ["Red", "Green", "Blue"], "letter", [0, 2]),
        (["12", "7"], ["7", "12"], "text", [1, 0]),
        (["A", "B"], ["A", "B"], "letter", [0, 1]),  # the text says the same
    ],
)
def test_a_reading_that_fits_alone_is_taken_and_named(answers, options, kind, expected, tmp_path):
    folder = written(tmp_path / "own/q.jsonl", *asked(answers, options))
    assert [q.answer for q in load(folder, tmp_path / "out", without_image=True)] == expected
    settings = data_entry("folder", without_image=True)
    assert any(
        f"the answers are read as {kind}" in note for note in BENCHMARK.contents(folder, settings=settings).notes
    )
    findings = check("multiple_choice", folder, settings=settings).findings
    assert any(f"the answers are read as {kind}" in finding.text for finding in findings)


def test_a_file_of_predictions_whose_answer_can_be_two_options(tmp_path):
    line = {"question_id": 1, "question": "Which?", "A": "B", "B": "A", "answer": "A", "prediction": "A"}
    written(tmp_path / "said.jsonl", line)
    with pytest.raises(
        DataError, match=r"line 1: column answer: the answer 'A' can be 'A. B' or 'B. A'; .*--annotations"
    ):
        rescore("multiple_choice", [tmp_path / "said.jsonl"])


GAP = [{"A": 3, "B": 4, "C": 5, "answer": 5}, {"A": 3, "B": 4, "C": None, "answer": 4}]


@pytest.mark.parametrize("form", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_whole_numbers_of_a_column_with_a_gap_are_whole(form, tmp_path):
    """pandas makes the column C one of floats: 5.0."""
    frame = pandas.DataFrame([{"question": f"How many of {n}?"} | row for n, row in enumerate(GAP)])
    assert str(frame["C"].dtype) == "float64"
    folder = tmp_path / "own"
    folder.mkdir()
    if form in ("csv", "tsv"):
        frame.to_csv(folder / f"q.{form}", index=False, sep="\t" if form == "tsv" else ",")
    elif form == "parquet":
        frame.to_parquet(folder / "q.parquet")
    else:
        frame.to_json(folder / f"q.{form}", orient="records", lines=form == "jsonl")
    found = load(folder, tmp_path / "out", without_image=True)
    assert [[option.text for option in q.options] for q in found] == [["3", "4", "5"], ["3", "4"]]
    assert [q.answer for q in found] == [2, 1]


def test_answers_with_a_gap_and_options_within_structs_are_whole(tmp_path):
    """The row with the gap is of another kind, and is left out."""
    rows = [
        {"question": "1?", "options": {"A": 3.0, "B": 4.0, "C": None}, "answer": 4.0, "kind": "choice"},
        {"question": "2?", "options": {"A": 3.0, "B": 4.0, "C": 5.0}, "answer": 5.0, "kind": "choice"},
        {"question": "3?", "options": {"A": None, "B": None, "C": None}, "answer": None, "kind": "open"},
    ]
    (tmp_path / "own").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "own/q.parquet")
    found = load(tmp_path / "own", tmp_path / "out", without_image=True, only={"kind": "choice"})
    assert [[option.text for option in q.options] for q in found] == [["3", "4"], ["3", "4", "5"]]
    assert [q.answer for q in found] == [1, 2]


@pytest.mark.parametrize("texts", [["1.0", "2.0"], ["1.5", "2.0"]])
def test_numbers_with_decimals_are_kept(texts, tmp_path):
    """Of versions, and of a column whose numbers are not all whole."""
    rows = [{"question": f"Item {n}?", "A": texts[0], "B": texts[1], "answer": "AB"[n]} for n in range(2)]
    (tmp_path / "own").mkdir()
    pandas.DataFrame(rows).to_csv(tmp_path / "own/q.csv", index=False)
    (first, _) = load(tmp_path / "own", tmp_path / "out", without_image=True)
    assert [option.text for option in first.options] == texts


@pytest.mark.parametrize(
    "names",
    [
        ["train-00000-of-00001.parquet", "validation-00000-of-00001.parquet", "test-00000-of-00001.parquet"],
        ["train.csv", "test.csv"],
        ["dev.jsonl", "test.jsonl"],
        ["data/train/0.csv", "data/test/0.csv"],
    ],
)
def test_files_of_several_splits_stop_and_name_files(names, tmp_path):
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(DataError, match=r"files of several splits: .*such as  files: \["):
        question_files(tmp_path)
    assert question_files(tmp_path, names[-1:]) == [tmp_path / names[-1]]


@pytest.mark.parametrize(
    "names",
    [
        ["test-00000-of-00002.parquet", "test-00001-of-00002.parquet"],
        ["val.csv", "validation-2.csv"],
        ["train.csv"],
        ["training_course.csv", "testament.csv"],
        ["easy.csv", "hard.csv"],
    ],
)
def test_one_split_is_taken(names, tmp_path):
    for name in names:
        (tmp_path / name).write_bytes(b"")
    assert question_files(tmp_path) == sorted(tmp_path / name for name in names)


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\u0085"])
@pytest.mark.parametrize("name", ["q.json", "q.jsonl"])
def test_separators_of_unicode_are_characters_of_a_text(name, mark, tmp_path):
    text = f"Which{mark}one?"
    rows = [
        {"question": text, "options": [f"Red{mark}A. Rose", "Blue"], "answer": "B"},
        {"question": text, "options": f"A. Red{mark}Rose\nB. Blue", "answer": "A"},
    ]
    found = load(written(tmp_path / "own" / name, *rows), tmp_path / "out", without_image=True)
    assert [q.text for q in found] == [text, text] and [q.answer for q in found] == [1, 0]
    assert found[0].options[0].text == f"Red{mark}A. Rose"
    assert [option.text for option in found[1].options] == [f"Red{mark}Rose", "Blue"]


def test_labels_in_lower_case_are_those_in_upper_case(tmp_path):
    rows = [{"question": "Which?", "options": {"a": "Red", "b": "Blue"}, "answer": answer} for answer in ("b", "A")]
    found = load(written(tmp_path / "own/q.jsonl", *rows), tmp_path / "out", without_image=True)
    assert [question.labels for question in found] == [("A", "B")] * 2 and [q.answer for q in found] == [1, 0]
    rows = [{"question": "Which?", "options": {"a": "Red", "A": "Blue", "b": "Green"}, "answer": "b"}]
    folder = written(tmp_path / "twice/q.jsonl", *rows)
    assert "column options: the label 'A' is given twice" in problems(folder, without_image=True)


def test_options_of_another_shape_are_refused_with_the_lines_that_change_them(tmp_path):
    rows = [{"question": "Which?", "options": "Red\nBlue", "answer": answer} for answer in ("Red", "Blue")]
    folder = written(tmp_path / "own/q.jsonl", *rows)
    message = problems(folder, without_image=True)
    first, *code = message.splitlines()[1:]
    assert "q.jsonl, row 1: column options: the options are a text" in first and "also in 1 other row (2)" in first
    assert len(code) == 3
    changed = "\n".join(line.strip() for line in code).replace("questions.jsonl", (folder / "q.jsonl").as_posix())
    exec(changed, {"pandas": pandas})
    found = load(folder, tmp_path / "out", without_image=True)
    assert [[option.text for option in q.options] for q in found] == [["Red", "Blue"]] * 2
    assert [q.answer for q in found] == [0, 1]


def test_labelled_lines_in_another_order_are_refused(tmp_path):
    folder = written(tmp_path / "q.jsonl", {"question": "Which?", "options": "B. Red\nA. Green", "answer": "A"})
    assert "column options: the options are a text" in problems(folder, without_image=True)


def test_the_lines_of_the_page_change_the_original_files_of_arc(tmp_path, monkeypatch):
    choices = [{"text": "Ice", "label": "A"}, {"text": "Fire", "label": "B"}]
    row = {"id": "a", "question": {"stem": "Which is hot?", "choices": choices}, "answerKey": "B"}
    folder = written(tmp_path / "my_data/arc.jsonl", row)
    code = pages.blocks("docs/own_data.md", "python")[0]
    assert sum(line.startswith("frame") for line in code.splitlines()) == 3
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    (found,) = load(folder, tmp_path / "out", without_image=True)
    assert [option.text for option in found.options] == ["Ice", "Fire"]
    assert (found.text, found.answer) == ("Which is hot?", 1)


def test_a_broken_line_hides_no_mistake_before_it(tmp_path):
    folder = written(tmp_path / "q.jsonl", *asked(["A", "Z"], ["Red", "Blue"]))
    with (tmp_path / "q.jsonl").open("a", encoding="utf-8") as file:
        file.write("[1]\n")
    message = problems(folder, without_image=True)
    assert "q.jsonl, row 2: column answer: 'Z' is none of" in message and "q.jsonl, row 3: '[1]' is not" in message


def test_check_prints_the_accepted_columns_and_shapes(tmp_path):
    folder = written(tmp_path / "own/q.jsonl", *asked(["A", "B"], ["Red", "Blue"]))
    checked = check("multiple_choice", folder, settings=data_entry("folder", without_image=True))
    accepted = {finding.where: finding.text for finding in checked.findings if finding.code == "accepted"}
    assert accepted["question"] == "columns question, query, text"
    assert accepted["answer"] == "columns answer, label, target, answerKey, truth"
    for shape in ("columns (A, B, C", "a list (texts", "an object of labels (A to Z", "lines ('A. ...'"):
        assert shape in accepted["options"]
