"""Rows with their line numbers, and errors for lines that are not rows."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns.errors import DataError
from known_unknowns.exchange import rows
from known_unknowns.exchange.rows import parse_identifier, parse_table
from known_unknowns.files.csv_cells import escape_cell


def written(tmp_path: Path, name: str, content: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_json_lines_count_from_one_and_skip_blank_lines(tmp_path):
    found = parse_table(written(tmp_path, "a.jsonl", '{"x": 1}\n\n  \n{"x": "\u2028two"}\n'))
    assert [(row.line, row.fields) for row in found] == [(1, {"x": 1}), (4, {"x": "\u2028two"})]


def test_line_numbers_after_a_multiline_cell(tmp_path):
    found = parse_table(written(tmp_path, "a.csv", '\ufeffid,said\n1,"one\ntwo, and ""three"""\n2,None\n'))
    assert [(row.line, row.fields["said"]) for row in found] == [(2, 'one\ntwo, and "three"'), (4, "None")]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r")), min_size=1, max_size=4))
def test_csv_cells_survive_the_round_trip(tmp_path_factory, said):
    path = tmp_path_factory.mktemp("said") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerows([["said"], *([escape_cell(text)] for text in said)])  # as this project writes them
    assert [row.fields["said"] for row in parse_table(path)] == said


@pytest.mark.parametrize(
    ("name", "content", "line", "reason"),
    [
        ("a.jsonl", '{"x": 1}\n{"x": \n', 2, "not JSON"),
        ("a.jsonl", '{"x": 1}\n[2]\n', 2, "not an object"),
        ("a.json", '[\n{"x": 1},\n{"x" 2}]', 3, "not JSON"),
        ("a.csv", "id,said\n1,A\n2\n", 3, "1 cells under 2 columns"),
        ("a.csv", "id,id\n1,A\n", 1, "duplicate"),
        ("a.csv", 'id,said\n1,A\n2,"open\n', 3, "not readable"),
        ("a.jsonl", b'{"x": 1}\n{"x": "\xff"}\n', 2, "not UTF-8"),
        ("a.jsonl", '{"x":1}\n{"x":' + "[" * 100_000, 2, "nested too deep"),
    ],
)
def test_error_names_the_line(tmp_path, name, content, line, reason):
    with pytest.raises(DataError, match=reason) as caught:
        parse_table(written(tmp_path, name, content))
    assert caught.value.line == line


def test_missing_file_and_unknown_suffix(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        parse_table(tmp_path / "none.csv")
    with pytest.raises(DataError, match="a folder; name its files"):
        parse_table(tmp_path)
    with pytest.raises(DataError, match=r"'\.txt'; known are .*\.parquet$"):
        parse_table(written(tmp_path, "a.txt", "1"))
    with pytest.raises(DataError, match=r"'\.gz'; known are \.jsonl, .*; unpack compressed files first$"):
        parse_table(written(tmp_path, "a.jsonl.gz", b"\x1f\x8b"))
    with pytest.raises(DataError, match="no rows"):
        parse_table(written(tmp_path, "a.csv", "\ufeffid,said\n"))
    with pytest.raises(DataError, match="a list of objects"):
        parse_table(written(tmp_path, "a.json", "{}"))


def test_excel_keeps_the_words_none_and_na(tmp_path):
    pytest.importorskip("openpyxl")
    pandas.DataFrame({"index": [7, 8], "prediction": ["None", "NA"]}).to_excel(tmp_path / "a.xlsx", index=False)
    found = parse_table(tmp_path / "a.xlsx")
    assert [(row.line, dict(row.fields)) for row in found] == [
        (2, {"index": "7", "prediction": "None"}),
        (3, {"index": "8", "prediction": "NA"}),
    ]


def test_parquet_without_image_bytes(tmp_path):
    from tests.factories import published_row, write_published

    found = parse_table(write_published(tmp_path, [published_row(0), published_row(5)]))
    assert found[1].fields["image"] == {"path": "images/1.png"}
    assert found[1].fields["question_id"] == 6


def test_a_parquet_file_of_too_many_values_is_not_read(tmp_path):
    pq.write_table(pa.table({"prediction": pa.nulls(5_000_001, pa.string())}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet: more than 5,000,000 values"):
        parse_table(tmp_path / "a.parquet")


@pytest.mark.parametrize(("value", "name"), [(7, "7"), ("7", "7"), (7.0, "7"), (" KnowVisQA-3 ", "KnowVisQA-3")])
def test_valid_identifiers(tmp_path, value, name):
    (row,) = parse_table(written(tmp_path, "a.jsonl", json.dumps({"question_id": value})))
    assert parse_identifier(row, "question_id") == name


@pytest.mark.parametrize("value", [True, 1.5, "  ", None])
def test_invalid_identifiers(tmp_path, value):
    (row,) = parse_table(written(tmp_path, "a.jsonl", json.dumps({"question_id": value})))
    with pytest.raises(DataError, match="line 1: the question_id is"):
        parse_identifier(row, "question_id")


def test_lone_surrogates_are_replaced(tmp_path):
    (row,) = parse_table(written(tmp_path, "a.jsonl", r'{"\ud83d": ["cut \ud83d", "whole \ud83d\ude00"]}'))
    assert row.fields == {"\ufffd": ["cut \ufffd", "whole \U0001f600"]}


def test_a_small_excel_file_that_needs_gigabytes_is_refused(tmp_path, monkeypatch):
    """Rows are padded to the last column, and much repeated content is compressed well."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["index", "prediction"])
    book.active.cell(2, 16_384, "far")
    book.save(tmp_path / "wide.xlsx")
    with pytest.raises(DataError, match=r"wide\.xlsx: more than 1,000 columns or 5,000,000 cells, empty ones included"):
        parse_table(tmp_path / "wide.xlsx")

    book = openpyxl.Workbook()
    book.active.append(["index", *map(str, range(900))])
    book.active.cell(1_000_000, 1, "far")
    book.save(tmp_path / "long.xlsx")
    with pytest.raises(DataError, match=r"long\.xlsx: more than 1,000 columns or 5,000,000 cells"):
        parse_table(tmp_path / "long.xlsx")

    pandas.DataFrame({"index": ["7"], "prediction": ["a" * 30_000]}).to_excel(tmp_path / "text.xlsx", index=False)
    monkeypatch.setattr(rows, "MAX_SHEET_BYTES", 20_000)
    with pytest.raises(DataError, match=r"text\.xlsx: it unpacks to [\d,]+ bytes; the limit is 20,000"):
        parse_table(tmp_path / "text.xlsx")
