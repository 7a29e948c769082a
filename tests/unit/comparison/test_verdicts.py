"""Verdicts on one number, from its value, interval, margin, rivals and support."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.comparison import (
    COMPATIBLE,
    DIFFERS,
    IDENTICAL,
    INCONCLUSIVE,
    NOT_RUN,
    PARSER,
    REPRODUCED,
    VERDICTS,
)
from known_unknowns.comparison.margins import Margin
from known_unknowns.comparison.verdicts import Candidate, Support, counts, decide, depends_on_parser, support_of
from known_unknowns.records import OVERALL

CELL = PublishedCell("b", "Table 2", "Qwen", "Zooming", "zooming", OVERALL, "accuracy", 64.62, 2, "A paper")
ALONE, SUPPORTED, CONTRADICTED = Support(1, 1), Support(11, 12), Support(3, 12)
RIVALS = tuple(float(value) for value in range(40, 60))


def candidate(value: float, low: float = 0.0, high: float = 0.0, margin: float = 1.0, **others: object) -> Candidate:
    settings: dict = {"n": 325, "rivals": RIVALS, "replies": "zooming"} | others
    low, high = low or value - 5.4, high or value + 5.4
    return Candidate(CELL, value, low, high, margin=Margin(0.005, margin, 0.0), **settings)


def test_equal_as_printed_is_identical_and_one_answer_less_reproduced_if_the_same_replies_agree():
    found = decide(candidate(100 * 210 / 325), SUPPORTED)  # 64.615..., printed as 64.62
    assert (found.verdict, found.matches, found.rivals) == (IDENTICAL, 0, 20)
    assert found.reason == "64.62 equals 64.62 as printed"
    found = decide(candidate(100 * 209 / 325), SUPPORTED)
    assert found.verdict == REPRODUCED
    assert found.reason == "-0.31 points from 64.62, within the margin of 1.00 (rounding 0.005, flips 1)"


def test_a_match_that_the_other_numbers_contradict_is_chance():
    found = decide(candidate(64.62), CONTRADICTED)
    assert found.verdict == INCONCLUSIVE
    assert "only 3 of 12 numbers of this model" in found.reason


def test_a_number_alone_counts_only_if_no_other_model_would_match():
    """With n = 325, a model that is 5 points worse matches with probability 7%; with n = 22,831, practically never."""
    assert not candidate(64.62).stands_alone
    narrow = candidate(64.62, 64.0, 65.24, n=22_831)
    assert narrow.stands_alone and decide(narrow, ALONE).verdict == IDENTICAL
    assert not replace(narrow, rivals=(65.0,)).stands_alone
    near_zero = replace(narrow, cell=replace(CELL, value=0.4), value=0.4, low=0.32, high=0.48)
    assert not near_zero.stands_alone  # no model is 5 points worse


def test_inside_the_interval_is_compatible_only_if_it_excludes_the_other_rows():
    assert decide(candidate(62.0, rivals=RIVALS[:17]), SUPPORTED).verdict == COMPATIBLE  # 40 to 56; from 56.6 on
    found = decide(candidate(62.0), SUPPORTED)
    assert (found.verdict, found.matches) == (INCONCLUSIVE, 3)  # 57, 58 and 59 of 20
    assert "contains 64.62 and 3 of 20 other rows" in found.reason
    one_of_20 = candidate(62.0, rivals=(*RIVALS[:17], 62.0, 30.0, 31.0))
    found = decide(one_of_20, SUPPORTED)
    assert (found.matches, found.verdict) == (1, COMPATIBLE)
    one_of_19 = candidate(62.0, rivals=(*RIVALS[:17], 62.0, 30.0))
    assert decide(one_of_19, SUPPORTED).verdict == INCONCLUSIVE


def test_outside_the_interval_differs_and_still_states_its_discrimination():
    found = decide(candidate(54.0), CONTRADICTED)
    assert (found.verdict, found.matches) == (DIFFERS, 11)  # 49 to 59
    assert found.reason == "54.0 [48.6, 59.4] is -10.6 points from 64.62"


def test_the_margin_may_be_wider_than_the_interval():
    found = candidate(64.0, 63.9, 64.1, margin=0.8)
    assert found.within_interval and decide(found, SUPPORTED).verdict == REPRODUCED


def test_support_is_by_variant_and_by_model_where_a_variant_has_few_numbers():
    cells = [replace(CELL, category=name, value=value) for name, value in zip("ABCD", (64, 65, 66, 90), strict=True)]
    zooming = [replace(candidate(65.0), cell=cell) for cell in cells]
    twice = replace(zooming[0], cell=replace(cells[0], table="Table 8"))  # the same number in another table
    single = replace(candidate(64.62), cell=replace(CELL, variant="single_view"), replies="single_view")
    found = support_of([*zooming, twice, single])
    assert found == {"zooming": Support(3, 4, False), "single_view": Support(4, 5, False)}
    assert not found["zooming"].suffices and not found["single_view"].suffices
    assert Support(11, 12).suffices and not Support(10, 12).suffices  # nine in ten
    assert Support(3, 3).suffices and not Support(2, 2).suffices  # two numbers are too few


def test_a_total_does_not_stand_alone_against_its_parts():
    """Losses in one part hide gains in another: two of three parts are outside their margins."""
    total = candidate(64.62, 64.0, 65.24, n=22_831)
    assert total.stands_alone
    parts = [
        replace(total, cell=replace(CELL, category=name, value=value))
        for name, value in zip("ABC", (64, 60, 70), strict=True)
    ]
    found = support_of([total, *parts])["zooming"]
    assert found == Support(2, 4, parts_agree=False)
    assert decide(total, found).verdict == INCONCLUSIVE
    assert "only 2 of 4 numbers of this model" in decide(total, found).reason
    assert decide(parts[0], found).verdict == REPRODUCED  # a part stands alone
    assert decide(total, support_of([total])["zooming"]).verdict == IDENTICAL


def test_only_an_agreement_that_the_robust_parser_contradicts_depends_on_the_parser():
    agreeing = [(verdict, DIFFERS) for verdict in (IDENTICAL, REPRODUCED, COMPATIBLE)]
    others = [(INCONCLUSIVE, DIFFERS), (DIFFERS, REPRODUCED), (REPRODUCED, COMPATIBLE), (REPRODUCED, NOT_RUN)]
    assert [depends_on_parser(*pair) for pair in (*agreeing, *others)] == [True] * 3 + [False] * 4


def test_verdicts_are_counted_in_the_order_of_the_report():
    assert list(counts([DIFFERS, PARSER, IDENTICAL, DIFFERS]).items()) == [(IDENTICAL, 1), (DIFFERS, 2), (PARSER, 1)]


units = st.integers(0, 10_000)


@given(published=units, value=units, width=st.integers(0, 2_000), margin=st.integers(0, 500), rivals=st.lists(units))
def test_verdicts_follow_the_definitions(published: int, value: int, width: int, margin: int, rivals: list[int]):
    """In integers of a hundredth of a point, without the rounding of binary fractions."""
    found = decide(
        Candidate(
            replace(CELL, value=published / 100),
            value / 100,
            (value - width) / 100,
            (value + width) / 100,
            325,
            Margin(0.005, margin / 100, 0.0),
            tuple(rival / 100 for rival in rivals),
            "zooming",
        ),
        SUPPORTED,
    )
    distance = abs(published - value)
    agrees = distance <= margin
    assert (found.verdict == IDENTICAL) == (distance == 0)
    assert (found.verdict == REPRODUCED) == (agrees and distance > 0)
    reach = margin if agrees else max(width, margin)
    assert found.matches == sum(abs(rival - value) <= reach for rival in rivals)
    if not agrees:
        discriminates = found.matches <= 0.05 * len(rivals)
        inside = COMPATIBLE if discriminates else INCONCLUSIVE
        assert found.verdict == (inside if distance <= width else DIFFERS)
    assert found.verdict in VERDICTS
