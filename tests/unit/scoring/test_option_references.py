# ruff: noqa: E501 (a reply is as long as it is)
"""Options that speak of other options."""

from __future__ import annotations

import pytest

from known_unknowns.scoring.option_references import speaks_of_options


@pytest.mark.parametrize(
    "text",
    [
        *("Both A and B", "A and B", "A, B and C", "B & C", "The first two", "All of the above", "None of the above", "None of these", "Both of them"),
        *("Neither A nor B", "Only A", "A only", "I and II only", "I, II, and III", "Any of these", "All of them", "The first and the last option", "A or B"),
        *("Either of the two", "All the other options", "Two of the above", "Statements 1 and 2", "both (A) and (B)", "Same as option B", "More than one of these"),
        *("以上都对", "前两个", "Todas las anteriores", "Alle oben genannten", "Beide", "Aucune de ces réponses", "Ambas", "Tutte le precedenti", "Все вышеперечисленные"),
    ],
)  # fmt: skip
def test_options_that_speak_of_options(text):
    assert speaks_of_options(text)


@pytest.mark.parametrize(
    "text",
    ["Red", "A is closer", "A cat and a dog", "Vitamin C", "Both hands on the table are visible", "Point A", "The first image", "5", "Not wrong, Wrong", "Group A"],
)  # fmt: skip
def test_options_that_speak_of_nothing_else(text):
    assert not speaks_of_options(text)
