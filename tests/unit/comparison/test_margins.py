"""The margin of a reproduction. Expected values are computed by hand or taken from tables of distributions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns.comparison.cells import PublishedCell
from known_unknowns.comparison.margins import Flips, margin_of, read_flips
from known_unknowns.errors import DataError
from known_unknowns.records import OVERALL, Metric

CELL = PublishedCell("b", "Table 1", "LLaVA", "Basic", "shuffled", OVERALL, "accuracy", 62.0, 2, "A paper")
OURS = Metric("ours", "b", "shuffled", 0, "official", OVERALL, "accuracy", 0.6, 0.55, 0.65, 325, "wilson")
T_OF_4 = 2.776445
"""0.975 quantile of Student's t with 4 degrees of freedom, from a table."""


def test_the_default_rate_is_half_a_percent():
    assert Flips().rate == pytest.approx(0.005)


def test_unchanged_answers_lower_the_rate():
    """The 0.95 quantile of Beta(1, b) is 1 - 0.05^(1/b)."""
    assert Flips(0, 64).rate == pytest.approx(1 - 0.05 ** (1 / (597.6474 + 64)))


@given(changed=st.integers(0, 20), compared=st.integers(20, 192))
def test_the_rate_grows_with_changed_answers_and_falls_with_unchanged_ones(changed: int, compared: int):
    assert Flips(changed + 1, compared + 1).rate > Flips(changed, compared).rate
    assert Flips(changed, compared + 1).rate < Flips(changed, compared).rate


def test_flips_become_points():
    """Binomial(325, 0.005) has P(X <= 3) = 0.918 and P(X <= 4) = 0.975."""
    margin = margin_of(CELL, OURS, flips=Flips(), runs=1)
    assert (margin.rounding, margin.flips, margin.spread) == (0.005, pytest.approx(100 * 4 / 325), 0.0)
    assert margin.total == pytest.approx(0.005 + 100 * 4 / 325)


def test_a_ratio_changes_by_more_if_its_denominator_is_smaller():
    ratio = margin_of(CELL, replace(OURS, denominator=50.0), flips=Flips(), runs=1)
    assert ratio.flips == pytest.approx(100 * 4 / 50)


def test_an_average_over_pipelines_can_change_with_each_of_its_answers():
    """Of 5 x 325 answers, at most 13 change: P(X <= 13) is 0.962 for Binomial(1625, 0.005), and P(X <= 12) 0.930."""
    average = margin_of(CELL, replace(OURS, denominator=1625.0), flips=Flips(), runs=1)
    assert average.flips == pytest.approx(100 * 13 / 1625)


@pytest.mark.parametrize(("unit", "flips"), [("questions", 4.0), ("views", 3 * 4 / 325)])
def test_other_units(unit: str, flips: float):
    assert margin_of(replace(CELL, unit=unit), OURS, flips=Flips(), runs=1).flips == pytest.approx(flips)


def test_the_printed_spread_bounds_the_difference_of_two_means_of_five_runs():
    cell, pooled = replace(CELL, spread=0.85, runs=5), replace(OURS, seed=None, spread=0.02)
    margin = margin_of(cell, pooled, flips=Flips(), runs=5)
    assert margin.spread == pytest.approx(T_OF_4 * 0.85 * (1 / 5 + 1 / 5) ** 0.5, rel=1e-5)
    own = margin_of(replace(CELL, runs=5), pooled, flips=Flips(), runs=5)
    assert own.spread == pytest.approx(T_OF_4 * 2.0 * (1 / 5 + 1 / 5) ** 0.5, rel=1e-5)  # ours, as none is printed
    # Binomial(1625, 0.005) is at most 13 with probability 0.962, and at most 12 with 0.930.
    assert margin.flips == pytest.approx(100 * 13 / 5 / 325)


def test_one_run_of_ours_beside_a_mean_of_five():
    margin = margin_of(replace(CELL, spread=0.85, runs=5), OURS, flips=Flips(), runs=1)
    assert margin.spread == pytest.approx(T_OF_4 * 0.85 * (1 / 5 + 1) ** 0.5, rel=1e-5)
    assert margin_of(replace(CELL, runs=5), OURS, flips=Flips(), runs=1).spread == 0.0  # no spread is known


def test_flips_are_read_from_the_records_of_the_engine(tmp_path: Path):
    for benchmark, about in {"a": {"flips": 1, "compared": 64}, "b": {"flips": 0, "compared": 30}, "c": None}.items():
        record = tmp_path / "qwen" / benchmark / "engine.json"
        record.parent.mkdir(parents=True)
        record.write_text(json.dumps({"facts": {}, "about": {"certificate": about} if about else {}}))
    assert read_flips(tmp_path, "qwen") == Flips(1, 94)
    assert read_flips(tmp_path, "llava") == Flips(0, 0)
    (tmp_path / "qwen" / "c" / "engine.json").write_text("{")
    with pytest.raises(DataError, match=r"engine\.json"):
        read_flips(tmp_path, "qwen")
