"""Text that a spreadsheet would compute gets an apostrophe, and keeps its content."""

from __future__ import annotations

import pytest

from known_unknowns.files.csv_cells import escape_cell, unescape_cell

COMPUTED = [
    *("=1", "+1-2", "-1+2", "@SUM(A1)", "\t=1", "\r=1"),
    *("\n=1", " =1", "\r\n\t =1", "\u00a0=1", "\u3000@a", "\x0b-a", "\u2028=1"),
    *("\u200b=1", "\ufeff=1", "\u202e=1", "\0=1", "\xad+a"),
    *("\uff1d1", "\uff0ba", "\uff0da", "\uff20a", " \uff1d1", "\ufe66a"),
    *("'=1", "' =1", "''\n=1"),
]


@pytest.mark.parametrize("text", COMPUTED)
def test_a_formula_is_escaped(text):
    assert escape_cell(text) == f"'{text}"
    assert unescape_cell(f"'{text}") == text


@pytest.mark.parametrize("text", ["", " ", "a=1", "1=1", "-1.5", " -2", "+3e4", "'a", "\u200b", "\nA", "A\n=1"])
def test_other_text_is_not(text):
    assert escape_cell(text) == text == unescape_cell(text)
