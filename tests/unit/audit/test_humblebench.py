"""What HumbleBench's published numbers imply. Expected values are computed by hand from the paper and its logs."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from known_unknowns.comparison.published import published
from known_unknowns_audit.audit import findings_on
from tests.paths import SHARED

CELLS = published("humblebench").cells
PAPER = SHARED / "papers" / "004_231fee036f060948.txt"


@cache
def findings():
    return findings_on(published("humblebench"))


def found(table: str, row: str, column: str):
    (one,) = [f for f in findings() if (f.table, f.row, f.column) == (table, row, column)]
    return one


def test_gemma_attribute_accuracy_is_not_that_of_the_log():
    """5671 / 8079 = 70.194%; 5672 / 8079 = 70.207%. The paper prints 70.20."""
    one = found("Table 3", "Gemma-3", "Attribute")
    assert one.printed == "70.20" and "70.19" in one.finding
    assert "(5,671 of 8,079)" in one.arithmetic


def test_replies_that_are_e_but_not_exactly():
    """The differences of Figure 4 and the share of E in the same logs."""
    figure = {f.row: f for f in findings() if f.table == "Figure 4"}
    assert {row: f.arithmetic.rpartition(" = ")[2] for row, f in figure.items()} == {
        "DeepSeek-VL2": "4.69 points",
        "VILA1.5": "0.03 points",
        "LLaVA-Next": "13.53 points",
        "LLaMA-3.2": "8.83 points",
        "Molmo-D": "12.21 points",
        "Idefics3": "25.47 points",
        "InternVL3": "2.50 points",
        "Mulberry": "1.35 points",
        "Ovis-2": "15.56 points",
        "LLaVA-CoT": "35.95 points",
        "R1-Onevision": "0.67 points",
        "GLM-4.1V-Thinking": "54.96 points",
    }
    # 60.68 of Cambrian is above 55.02; above 0.06 are all but the four zeros
    assert "rank 2 of 19, plotted as 15;" in figure["GLM-4.1V-Thinking"].arithmetic


def test_chance_on_humblebench_e():
    """(3326 / 5 + 19505 / 4) / 22831 = (665.2 + 4876.25) / 22831 = 24.27%."""
    one = found("Section 3.2, random guess", "Random guess", "Accuracy on HumbleBench-E")
    assert one.printed == "20" and "gives 24.27" in one.finding and "(85.43%)" in one.arithmetic


def test_the_shares_of_the_right_options():
    """Always C: 27.07%, 7.07 points above the 20% of random guessing."""
    one = found("Figure 2", "C", "Share of right options")
    assert "relatively balanced" in one.finding and one.arithmetic.startswith("27.07 - 20 = 7.07 points")
    shares = [cell for cell in CELLS if cell.table == "Figure 2" and cell.decimals == 2]
    assert sum(cell.value for cell in shares) == pytest.approx(100)


def test_the_other_findings_are_names_and_last_digits():
    tables = {f.table for f in findings()} - {"Figure 2", "Figure 4", "Section 3.2, random guess"}
    assert tables == {"Table 3", "Section 3.2", "Section 3.3, second mention", "Algorithm 1"}


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        (("Table 2", "Kept", "Count"), 18_305.0, "43.75"),  # 18305 / 41843 = 43.747
        (("Table 2", "Deleted", "Share"), 45.43, "45.44"),
        (("Table 3", "Cambrian", "Overall"), 55.58, "types.* 55.56"),  # 1,268,538.61 / 22,831
        (("Table 3", "Cambrian", "Overall"), 55.58, "overall.log.* 55.56"),
        (("Section 3.1", "LLaVA-CoT", "Overall accuracy"), 66.97, "Table 3.* 66.79"),
        (("Section 3", "Models", "Number"), 18.0, "Table 3.* 19"),
        (("Section 3", "Models", "Number"), 18.0, "two groups.* 19"),
    ],
)
def test_a_changed_number_is_found(key, value, text):
    cells = tuple(replace(cell, value=value) if cell.key == key else cell for cell in CELLS)
    assert any(cell.key == key for cell in CELLS)
    new = set(findings_on(replace(published("humblebench"), cells=cells))) - set(findings())
    assert any(re.search(text, f.finding) for f in new)
