"""What a benchmark declares in data files: its section, its expected counts, and relations of its published numbers."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from known_unknowns.benchmark.checks import Quantity, with_expected
from known_unknowns.benchmark.published import Published, PublishedCell
from known_unknowns.benchmark.section import read_section
from known_unknowns_audit.relations import declared_relations


def test_an_unknown_key_of_a_section_is_an_error(tmp_path):
    (tmp_path / "section.yaml").write_text("title: Colours\nheadlines: [original]\n", encoding="utf-8")
    with pytest.raises(ValidationError, match="headlines"):
        read_section(tmp_path / "section.yaml")


def test_expected_counts_are_those_of_published_data_only(tmp_path):
    (tmp_path / "expected.yaml").write_text("Table 1: {questions: 12}\n", encoding="utf-8")
    found = [Quantity("questions", 11), Quantity("images", 3, 4, "params.yaml"), Quantity("types", 2)]
    questions, images, types = with_expected(found, tmp_path, published=True)
    assert (questions.expected, questions.source, questions.agrees) == (12, "Table 1", False)
    assert (images, types) == (found[1], found[2])
    assert with_expected(found, tmp_path, published=False)[0].expected is None


def cell(row: str, column: str, value: float) -> PublishedCell:
    return PublishedCell("colours", "T", row, column, "original", "Overall", "accuracy", value, 1, "here")


@pytest.mark.parametrize(
    ("relation", "findings"),
    [
        ({"sum": {"c": ["a", "b"]}, "text": "Gives {}."}, ["Gives 30.00."]),  # 10 + 20 = 30, and 40 is printed
        ({"mean": {"c": ["a", "b"]}, "text": "Gives {}."}, ["Gives 15.00."]),
        ({"at_most": {"c": ["a", "b"]}, "text": "Above {0}."}, ["Above 10.0."]),
        ({"at_most": {"a": ["b"]}, "text": "Above {0}."}, []),
        ({"sum": {"d": ["a", "b"]}, "text": "Gives {}."}, []),  # no such column in the row
    ],
)
def test_a_number_that_does_not_follow_is_found(relation, findings):
    cells = tuple(cell("x", column, value) for column, value in {"a": 10.0, "b": 20.0, "c": 40.0}.items())
    published = Published("colours", cells, relations=({"tables": ["T"], **relation},))
    assert [finding.finding for finding in declared_relations(published)] == findings


def test_relations_of_columns_and_of_named_cells():
    cells = (cell("x", "a", 10.0), cell("y", "a", 20.0), cell("z", "a", 31.0))
    by_column = {"tables": ["T"], "by": "column", "sum": {"z": ["x", "y"]}, "text": "Gives {}."}
    named = {"cells": {"x": ["T", "x", "a"], "z": ["T", "z", "a"]}, "at_most": {"z": ["x"]}, "text": "Above {0}."}
    published = Published("colours", cells, relations=(by_column, named))
    found = [(finding.finding, finding.strength) for finding in declared_relations(published)]
    assert found == [("Gives 30.00.", "not explained by rounding"), ("Above 10.0.", "")]
