"""Texts of models and endpoints that other programs would execute, and keys that endpoints repeat in part."""

from __future__ import annotations

import base64
import csv
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns.exchange import rows
from known_unknowns.exchange.writers import write_csv
from known_unknowns.files.csv_cells import escape_cell, unescape_cell
from known_unknowns.metrics.summary import _csv
from known_unknowns.records import AnsweredTurn, Reply
from tests.factories import question

FORMULAS = ["=HYPERLINK(A1)", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "'=1"]
KEY = "sk-proj-0123456789+/&SECRET"


@given(st.text())
def test_an_escaped_cell_is_no_formula_and_can_be_read_back(text):
    escaped = escape_cell(text)
    assert unescape_cell(escaped) == text
    assert escaped[:1] not in ("=", "@") and (escaped[:1] not in ("+", "-") or float(escaped) is not None)


def test_numbers_are_not_escaped():
    assert [escape_cell(value) for value in (-0.5, "-0.5", "+3", None, "A")] == [-0.5, "-0.5", "+3", None, "A"]


@pytest.mark.parametrize("text", FORMULAS)
def test_replies_and_names_are_escaped_in_csv_files(tmp_path, text):
    turn = AnsweredTurn("1", 0, "answer", "Which?", (), ("A", "B"), "k", Reply(text))
    path = tmp_path / "replies.csv"
    path.write_text(write_csv([(question("1"), turn)]), newline="")
    (row,) = csv.DictReader(path.open(newline=""))
    assert row["prediction"] == f"'{text}"
    (read,) = rows.parse_table(path)
    assert read.fields["prediction"] == text
    assert f"'{text}" in _csv(["category", "value"], [{"category": text, "value": -0.5}])


def redact(text):
    settings = pytest.importorskip("known_unknowns.engines.endpoint.settings")
    return settings.ApiKey(KEY).redact(text)


@pytest.mark.parametrize("length", [12, len(KEY)])
def test_beginnings_of_the_key_are_removed(length):
    assert redact(f"Incorrect API key: {KEY[:length]}***.") == "Incorrect API key: [key]***."


@pytest.mark.parametrize(
    "encoded",
    [
        quote(KEY, safe=""),
        KEY.encode().hex(),
        KEY.encode().hex().upper(),
        *(base64.b64encode(f"{before}{KEY}".encode()).decode() for before in ("", "Bearer ", "u:", "user:")),
        base64.urlsafe_b64encode(f"{KEY}:".encode()).decode(),
    ],
)
def test_encodings_of_the_key_are_removed(encoded):
    cleaned = redact(f"you sent {encoded}!")
    assert "[key]" in cleaned and len(cleaned) < len("you sent [key]!") + 16


def test_other_texts_stay():
    text = "The answer is B, as sk-proj- and 0123456789 show."
    assert redact({"a": [text, 1, None]}) == {"a": [text, 1, None]}
