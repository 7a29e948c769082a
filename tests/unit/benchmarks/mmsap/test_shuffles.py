"""MM-SAP's metrics of the consistency of answers across shuffles."""

from __future__ import annotations

from pathlib import Path

import pytest

from known_unknowns.benchmark.metrics import ScoreArrays
from known_unknowns.records import OVERALL, Metric, Question
from known_unknowns_benchmarks.mmsap.loader import BASIC
from tests.unit.benchmarks.mmsap.sapient import benchmark, by_respondent

# --- over shuffles -------------------------------------------------------------------------------------------------


def shuffles(tmp_path: Path, behaviour: str) -> dict[str, Metric]:
    metrics = by_respondent(tmp_path, behaviour, "shuffled_options", seeds=5, questions=benchmark(60, 30, 30))
    found = [m for m in metrics if (m.seed, m.parser, m.category) == (None, "official", OVERALL)]
    return {metric.name: metric for metric in found}


def test_consistent_answers_follow_the_content(tmp_path):
    found = shuffles(tmp_path, "oracle")
    assert [found[n].value for n in ("same_answer", "content_agreement", "content_kept")] == [1, 1, 1]
    assert [found[n].value for n in ("position_kept", "position_alone")] == [0, 0]
    assert found["score_sa"].spread == 0


def test_always_a_follows_the_position(tmp_path):
    found = shuffles(tmp_path, "always_a")
    assert [found[n].value for n in ("content_kept", "position_kept", "position_alone")] == [0, 1, 1]
    assert found["content_agreement"].value == pytest.approx(1 / 5, abs=0.04)  # A holds the same text by chance
    assert found["content_agreement"].method.endswith("over 5 seeds")
    assert found["score_kk"].spread > 0


def by_hand(orders: list[str], choices: list[str | None]) -> dict[str, float]:
    """One question under several orders of its options (their texts), and the text that was chosen, if any."""
    from known_unknowns.metrics.consistency import across_seeds
    from known_unknowns.records import ANSWERED, UNPARSED, Option, Score

    seeds = []
    for order, chosen in zip(orders, choices, strict=True):
        options = tuple(Option(letter, text, "") for letter, text in zip("ABCDE", order, strict=True))
        question = Question("1", "mmsap", "?", options, 0, 4, (), "Other", "g", {"subset": BASIC})
        choice = None if chosen is None else order.index(chosen)
        score = Score("1", 0, "answer", "official", UNPARSED if choice is None else ANSWERED, None, choice, False)
        seeds.append(ScoreArrays.of([question], [score]))
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


def test_unparsed_replies_agree_with_nothing():
    found = by_hand(["xyzvw", "yxzvw", "xyzvw"], [None, None, "x"])
    assert (found["same_answer"], found["content_agreement"], found["content_kept"]) == (0, 0, None)


def test_options_that_keep_their_position_are_not_counted():
    found = by_hand(["xyzvw"] * 3, ["x", "x", "y"])
    assert found["content_agreement"] == pytest.approx(1 / 3)
    assert found["position_kept"] is None
