"""The margin of a reproduction. Expected values are computed by hand or taken from tables of distributions."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns import tables
from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.comparison.margins import Flips, margin_of, mean_turns, read_flips
from known_unknowns.errors import DataError
from known_unknowns.records import OVERALL, AnsweredTurn, Cell, Metric, Reply

CELL = PublishedCell("b", "Table 1", "LLaVA", "Basic", "shuffled", OVERALL, "accuracy", 62.0, 2, "A paper")
OURS = Metric("ours", "b", "shuffled", 0, 0, "official", OVERALL, "accuracy", 0.6, 0.55, 0.65, 325, "wilson")
T_OF_4 = 2.776445
"""0.975 quantile of Student's t with 4 degrees of freedom, from a table."""


def test_flips_become_points():
    """Binomial(325, 0.005) has P(X <= 3) = 0.918 and P(X <= 4) = 0.975."""
    margin = margin_of(CELL, OURS, flips=Flips(), runs=1)
    assert (margin.rounding, margin.flips, margin.spread) == (0.005, pytest.approx(100 * 4 / 325), 0.0)
    assert margin.total == pytest.approx(0.005 + 100 * 4 / 325)


def test_an_answer_after_several_turns_changes_more_often():
    """The 0.95 quantile of Beta(1, b) is 1 - 0.05^(1/b). 640 unchanged turns are 160 questions of four turns."""
    assert Flips(0, 64).rate() == pytest.approx(1 - 0.05 ** (1 / (597.6474 + 64)))
    assert Flips().rate(4.5) == pytest.approx(0.005)  # the default, whatever the number of turns
    assert Flips(0, 640).rate(4) == pytest.approx(1 - 0.05 ** (1 / (597.6474 + 160)))
    assert Flips(0, 640).source(4) == "at most 0.39% of the answers of 4.0 turns on average; 0 of 640 turns measured"


def test_changed_turns_of_dialogues():
    """20 changes of 2,000 turns, with the default of 5 x 597.6 turns: the upper bound of a Poisson mean after 20 events
    is 29.062 (half the 0.95 quantile of chi square with 42 degrees of freedom, 58.124), that is 0.583% of the turns."""
    bound = 29.062 / (5 * 597.6474 + 2000)
    assert Flips(20, 2000).rate(5) == pytest.approx(1 - (1 - bound) ** 5, rel=0.01)
    assert Flips(20, 2000).rate(5) > 2 * Flips(20, 2000).rate()


def test_the_margin_of_dialogues():
    """No change in 2,000 turns. One turn: r = 0.1153%, and Binomial(325, r) is at most 1 with probability 0.945, at
    most 2 with 0.993. Five: 0.2998%, and Binomial(325, 0.2998%) is at most 2 with 0.925, at most 3 with 0.983."""
    one, five = (margin_of(CELL, OURS, flips=Flips(0, 2000), runs=1, turns=turns) for turns in (1, 5))
    assert (one.flips, five.flips) == (pytest.approx(100 * 2 / 325), pytest.approx(100 * 3 / 325))


@given(lengths=st.lists(st.integers(1, 5), min_size=20, max_size=60), changed=st.integers(0, 6))
def test_the_mean_number_of_turns_bounds_dialogues_of_any_length(lengths: list[int], changed: int):
    """The exact distribution of the number of changed questions, with a probability of its own for each length."""
    flips, mean = Flips(changed, 100), sum(lengths) / len(lengths)
    turn = 1 - (1 - flips.rate(mean)) ** (1 / mean)
    exact = np.ones(1)
    for length in lengths:
        stays = (1 - turn) ** length
        exact = np.convolve(exact, [stays, 1 - stays])
    ours = replace(OURS, n=len(lengths))
    k = round(margin_of(CELL, ours, flips=flips, runs=1, turns=mean).flips * len(lengths) / 100)
    assert math.fsum(exact[: k + 1]) >= 0.95 - 1e-12


def test_turns_are_counted_up_to_the_last_answer(tmp_path: Path):
    """The first question is answered in turn 3 of 4, the second at once."""

    def turns(question: str, steps: Iterable[str]) -> list[AnsweredTurn]:
        return [AnsweredTurn(question, n, step, "?", (), None, "", Reply("A")) for n, step in enumerate(steps)]

    path = tmp_path / "qwen/b/replies.parquet"
    rows = [*turns("q1", ["more", "view", "answer", "forced"]), *turns("q2", ["answer"])]
    tables.write_replies(path, {Cell("shifting", 0): rows})
    assert mean_turns(tmp_path, "qwen", "b", ["shifting"]) == 2.0
    assert mean_turns(tmp_path, "qwen", "b", ["absent"]) == 1.0
    former = turns("q1", ["more", "view", "more", "answer"])
    tables.write_replies(path, {Cell("shifting", 0): rows, Cell("shifting", 1): former})
    assert mean_turns(tmp_path, "qwen", "b", ["shifting"], [Cell("shifting", 0)]) == 2.0


@pytest.mark.parametrize(
    ("unit", "denominator", "flips"),
    [
        ("percent", 50.0, 100 * 4 / 50),  # a ratio changes by more if its denominator is smaller
        # an average over 5 pipelines: P(X <= 13) is 0.962 for Binomial(1625, 0.005)
        ("percent", 1625.0, 100 * 13 / 1625),
        ("questions", None, 4.0),
        ("views", None, 3 * 4 / 325),
    ],
)
def test_other_denominators_and_units(unit: str, denominator: float | None, flips: float):
    ours = replace(OURS, denominator=denominator)
    assert margin_of(replace(CELL, unit=unit), ours, flips=Flips(), runs=1).flips == pytest.approx(flips)


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
