"""Marks at the start of options that contradict the labels of the options."""

from __future__ import annotations

import pytest

from known_unknowns.benchmark.option_marks import contradicting_mark

CONTRADICTING = (
    ("B. Red", "A. Blue"),
    ("(B) Red", "(A) Blue"),
    ("2. Red", "1. Blue"),
    ("2) Red", "1) Blue", "3) Gold"),
    ("b) Red", "a) Blue"),
    ("B.Red", "A.Blue"),
    ("Option B: Red", "Option A: Blue"),
    ("\uff22\uff0eRed", "\uff21\uff0eBlue"),  # full-width
    ("B\u3001红", "A\u3001蓝"),
    ("B. Red", "C. Blue", "D. Gold"),
    ("B. Red", "A. Blue", "None of the above"),
)
AGREEING = (
    ("A. Red", "B. Blue"),
    ("a) Red", "b) Blue"),
    ("1. Red", "2. Blue"),
    ("A. Smith", "C. Brown"),
    ("A. Smith", "M. Jones", "C. Brown"),
    ("C major", "A minor"),
    ("1. FC Köln", "VfB Stuttgart"),
    ("2. Platz", "1. Platz"),
    ("B. Red", "Blue"),
    ("B. Red", "A. Blue", "I cannot tell"),
    ("B.C.", "A.D."),
    ("2.5", "1.5"),
    ("B", "A"),
)


@pytest.mark.parametrize("texts", CONTRADICTING)
def test_marks_that_contradict(texts):
    found = contradicting_mark("ABCD"[: len(texts)], texts)
    assert found is not None and "which begins with the label" in found


@pytest.mark.parametrize("texts", AGREEING)
def test_no_false_alarm(texts):
    assert contradicting_mark("ABCD"[: len(texts)], texts) is None


def test_labels_of_other_kinds():
    assert contradicting_mark(["B", "C"], ["B. Red", "C. Blue"]) is None
    assert contradicting_mark(["B", "C", "D"], ["A. Red", "B. Blue", "C. Gold"]) is not None
    assert contradicting_mark(["1", "2"], ["1. Red", "2. Blue"]) is None
    assert contradicting_mark(["1", "2"], ["2. Red", "1. Blue"]) is not None
