"""MM-SAP's metrics of the consistency of answers across shuffles."""

from __future__ import annotations

import pytest

from known_unknowns.metrics.consistency import across_seeds
from known_unknowns.records import ANSWERED, UNPARSED, Option, Question, Score
from known_unknowns_benchmarks.mmsap.loader import BASIC
from tests.unit.metrics.answered import cell_of


def by_hand(orders: list[str], choices: list[str | None]) -> dict[str, float]:
    """One question under several orders of its options (their texts), and the text that was chosen, if any."""
    seeds = []
    for order, chosen in zip(orders, choices, strict=True):
        options = tuple(Option(letter, text, "") for letter, text in zip("ABCDE", order, strict=True))
        question = Question("1", "mmsap", "?", options, 0, 4, (), "Other", "g", {"subset": BASIC})
        choice = None if chosen is None else order.index(chosen)
        score = Score("1", 0, "answer", "official", UNPARSED if choice is None else ANSWERED, None, choice, False)
        seeds.append(cell_of([(question, score)]))
    return {
        name: float(ratio.numerator[0] / ratio.denominator[0]) if ratio.denominator[0] else None
        for name, ratio in across_seeds(seeds).items()
    }


def test_three_shuffles_by_hand():
    """x stands at A, A and B; chosen are x (A), y (B) and x (B).

    Pairs, the ordered ones that tell in brackets: 1-2 [from 2: y stood at C; x keeps neither]; from 1 it does not
    tell, since x is still at A. 1-3 [both ways: x moved from A to B and was chosen]. 2-3 [from 2: y at B moved to C;
    x (B) keeps the position; from 3: x at B was at A; y (B) keeps the position].
    """
    found = by_hand(["xzyvw", "xyzvw", "zxyvw"], ["x", "y", "x"])
    assert found["same_answer"] == 0
    assert found["content_agreement"] == pytest.approx(1 / 3)
    assert found["content_kept"] == pytest.approx(2 / 5)
    assert found["position_kept"] == pytest.approx(2 / 5)
    assert found["position_alone"] == pytest.approx((2 - 1 / 3) / 5)


def test_options_that_keep_their_position_are_not_counted():
    found = by_hand(["xyzvw"] * 3, ["x", "x", "y"])
    assert found["content_agreement"] == pytest.approx(1 / 3)
    assert found["position_kept"] is None
