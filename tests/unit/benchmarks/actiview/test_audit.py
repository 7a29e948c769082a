"""ActiView's published cells: as printed, and what does not follow from the others."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace

import pytest

from known_unknowns.benchmarks.actiview.audit import (
    QUESTIONS,
    TYPES,
    averages,
    overall_accuracies,
    type_averages,
)
from known_unknowns.benchmarks.actiview.averages import AVERAGED
from known_unknowns.benchmarks.actiview.format import CATEGORIES
from known_unknowns.benchmarks.actiview.format import TYPES as TYPES_OF_DATA
from known_unknowns.comparison import load
from known_unknowns.comparison.audit import audit, audit_published, published, with_notes
from known_unknowns.comparison.published import cells_by_row
from tests.paths import SHARED

CELLS = load("actiview")
ROWS = cells_by_row(CELLS)


def cell(table, row, column):
    return ROWS[table, row][column]


def places(findings):
    return {(found.table, found.row, found.column) for found in findings}


def flagged(table):
    """(row, column) of the flagged cells of a table."""
    return {(found.row, found.column) for found in audit("actiview") if found.table == table}


def test_every_table_is_complete():
    assert Counter(table for table, _ in ROWS) == {
        "Table 2": 20,
        "Table 3": 5,
        "Table 5": 6,
        "Table 7": 7,
        "Table 8": 27,
        "Table 9": 25,  # without LLaVA-1.6
        "Table 10": 26,  # without LLaVA-1.6 7B, as the two after it
        "Table 11": 26,
        "Table 12": 26,
        "Table 13": 15,
        "Table 14": 2,
    }
    assert cell("Table 2", "Qwen2-VL", "Shifting-R").printed == "61.23"
    assert cell("Table 3", "Qwen2-VL", "ACC").printed == "65.54"
    assert cell("Table 8", "mPLUG-Owl2-7B", "Obj-Attr").printed == "84.00"
    assert cell("Table 12", "Mini-Gemini-7B", "Event-S").printed == "20.00"
    assert cell("Table 13", "GPT-4o", "ACC_GT").printed == "73.54"
    assert cell("Table 14", "LLaVA-1.6 7B", "6 splits, Zooming").printed == "73.23"


def test_cells_are_of_our_variants_categories_and_metrics():
    assert {c.variant for c in CELLS} == {
        *("full_image", "single_view", "mixed", "groundtruth_views", *AVERAGED),
        *("text_only_commonsense", "text_only_guess", "average", "average_of_two"),
        *(f"{name}_{split}" for name in ("zooming", "shifting_r", "average_of_two") for split in (6, 8, 9, 16)),
    }
    assert {c.category for c in CELLS} == {"Overall", *QUESTIONS}
    own = {"accuracy", "views", "zooms", "shifts", "view_recall_as_published"}
    assert {c.metric for c in CELLS} == own
    assert {c.unit for c in CELLS if c.metric in ("views", "zooms", "shifts")} == {"views"}
    assert {c.unit for c in CELLS if c.metric not in ("views", "zooms", "shifts")} == {"percent"}
    assert {c.model for c in CELLS if c.row == "Idefics3"} == {"Idefics3-8B-Llama3"}
    assert cell("Table 14", "LLaVA-1.6 13B", "9 splits, Shifting-R").variant == "shifting_r_9"
    assert cell("Table 10", "SEAL", "Type II AVG").category == "Type II"


@pytest.mark.skipif(not SHARED.is_dir(), reason="the paper is not here")
def test_every_row_is_in_the_paper():
    (file,) = (SHARED / "papers").glob("003_*.txt")
    lines = [re.findall(r"\d+\.\d+", line) for line in file.read_text().split("\n")]
    printed = {tuple(numbers) for numbers in lines}
    for (table, row), cells in ROWS.items():
        numbers = tuple(c.printed for c in cells.values())
        if table == "Table 3":
            assert any(" ".join(numbers) in " ".join(line) for line in printed), row
        elif table == "Table 5":
            continue  # printed by column, see below
        elif table == "Table 14":
            found = [numbers[k : k + 3] for k in range(0, 15, 3)]
            assert all(any(line[-3:] == three for line in printed) for three in found), row
        else:
            assert any(line[-len(numbers) :] == numbers for line in printed), (table, row)
    for column in ("ACC", "ACC(guess)"):
        assert tuple(cells[column].printed for (table, _), cells in ROWS.items() if table == "Table 5") in printed


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published annotations are not here")
def test_the_numbers_of_questions_are_those_of_the_data():
    rows = json.loads((SHARED / "data/actiview/data.json").read_text())["data"]
    counted = Counter(CATEGORIES[row["category"]] for row in rows)
    assert dict(counted) == {name: QUESTIONS[name] for name in counted}
    assert TYPES == TYPES_OF_DATA
    for name, parts in TYPES.items():
        assert QUESTIONS[name] == sum(counted[part] for part in parts)
    assert QUESTIONS["Overall"] == len(rows) == sum(QUESTIONS[name] for name in TYPES)


def test_all_averages_over_pipelines_are_consistent():
    found = averages(CELLS)
    assert len(found) == 20 + 7 + 2 * 5
    assert all(one.is_consistent for one in found)
    gemini = next(one for one in found if one.cell.row == "Gemini-1.5-pro")
    assert gemini.value == pytest.approx((72.31 + 67.08 + 67.38 + 65.54 + 67.69) / 5)


def test_only_one_type_is_inconsistent():
    assert [(one.cell.table, one.cell.row) for one in type_averages(CELLS) if not one.is_consistent] == [
        ("Table 8", "Mantis")
    ]
    assert len(type_averages(CELLS)) == 3 * (27 + 25 + 26 + 26 + 26)


def test_sub_classes_of_some_models_disagree_with_table_2():
    found = {(one.cell.row, one.cell.column): one for one in overall_accuracies(CELLS)}
    assert len(found) == 27 + 25 + 26 + 26 + 26
    owl = found["mPLUG-Owl2-7B", "Zooming"]  # by hand, from Table 8
    right = 34 + 18 + 37 + 42 + 33 + 24 + 24 + 28
    assert owl.value == pytest.approx(100 * right / 325, abs=0.005) and owl.cell.printed == "55.38"
    assert found["Qwen2-VL", "Zooming"].is_consistent and found["InternVL2-8B", "Shifting-E"].is_consistent
    assert ("mPLUG-Owl2-7B", "Zooming") in flagged("Table 2")
    assert ("Qwen2-VL", "Zooming") not in flagged("Table 2")
    assert sum(not one.is_consistent for one in found.values()) == 50


@pytest.mark.parametrize(
    ("table", "row", "column", "text"),
    [
        ("Table 2", "MiniCPM-Llama3-V-2.5", "Full image", "among 325 questions gives it; the nearest is 64.00"),
        ("Table 2", "SEAL", "Shifting-M", "among 325 questions gives it; the nearest is 40.00"),
        ("Table 8", "Mantis", "Orient", "among 30 questions gives it; the nearest is 40.00"),
        ("Table 13", "LLaVA-1.6 13B", "Zooming ACC_QA", "Table 7 has 65.23."),  # the numbers of LLaVA-1.6 7B
        ("Table 13", "LLaVA-1.6 13B", "Shifting-R ACC_QA", "Table 7 has 45.85."),
        ("Table 13", "MiniCPM-Llama3-V-2.5", "Shifting-R ACC_QA", "Table 2 has 60.92."),
        ("Table 14", "LLaVA-1.6 13B", "4 splits, Shifting-R", "Table 7 has 45.85."),
        ("Table 13", "Qwen2-VL", "Shifting-R R_select", "Equation 1 gives 100. Numbering the used views from 0"),
        ("Table 3", "Qwen2-VL", "#shift", "More views shifted to than views used (2.12)"),
    ],
)
def test_what_is_flagged(table, row, column, text):
    assert text in cell(table, row, column).note


def test_cells_printed_for_another_model():
    seven, thirteen = ROWS["Table 2", "LLaVA-1.6 7B"], ROWS["Table 13", "LLaVA-1.6 13B"]
    assert thirteen["Zooming ACC_QA"].printed == seven["Zooming"].printed
    assert thirteen["Shifting-R ACC_QA"].printed == seven["Shifting-R"].printed


def test_a_changed_digit_is_flagged():
    def changed(table, row, column, value):
        of = (table, row, column)
        cells = [replace(c, value=value, note="") if (c.table, c.row, c.column) == of else c for c in CELLS]
        return places(audit_published(replace(published("actiview"), cells=tuple(cells)))) - places(audit("actiview"))

    assert ("Table 2", "Qwen2-VL", "AVG") in changed("Table 2", "Qwen2-VL", "AVG", 63.96)
    assert ("Table 2", "Qwen2-VL", "Zooming") in changed("Table 8", "Qwen2-VL", "Event-S", 60.00)
    assert ("Table 8", "Qwen2-VL", "Type III AVG") in changed("Table 8", "Qwen2-VL", "Event-S", 60.00)
    assert ("Table 14", "LLaVA-1.6 7B", "8 splits, AVG") in changed("Table 14", "LLaVA-1.6 7B", "8 splits, AVG", 61.77)
    assert ("Table 2", "Qwen2-VL", "AVG") in changed("Table 2", "Qwen2-VL", "AVG", 63.00)
    assert not changed("Table 2", "Qwen2-VL", "AVG", 62.97)  # a unit of the last place is cut off or rounded


def test_notes_of_the_file_precede_flags():
    note = cell("Table 2", "Gemini-1.5-pro", "Zooming").note
    assert note.startswith("Taken from Table 7") and note.endswith("Table 8's sub-classes give 72.61.")
    assert cell("Table 2", "GPT-4o", "Full image").note == ""
    unnoted = [replace(c, note="") for c in CELLS]
    assert {c.key for c in with_notes(unnoted, audit("actiview")) if c.note} == places(audit("actiview"))
