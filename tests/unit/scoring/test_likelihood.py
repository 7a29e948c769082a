from __future__ import annotations

import math

import pytest

from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.records import ANSWERED, REFUSED, UNPARSED, AnsweredTurn, Reply
from known_unknowns.scoring import has_input, likelihood
from known_unknowns.scoring.likelihood import label_follows_text, label_mass
from tests.factories import question


def parse(logprobs: dict[str, float] | None, labels: str = "ABCDE") -> ParsedAnswer:
    asked = AnsweredTurn("1", 0, "answer", "", (), tuple(labels), "k", Reply("B", logprobs))
    return likelihood(asked, question())


@pytest.mark.parametrize(
    ("logprobs", "expected"),
    [
        ({"A": -2.0, "B": -1.5, "C": -3.0, "D": -9.0, "E": -0.5}, ParsedAnswer(REFUSED, "E", 4)),
        ({"A": -2.0, "B": -1.5, "C": -3.0, "D": -1.0, "E": -1.5}, ParsedAnswer(ANSWERED, "D", 3)),
        ({"E": -1.0, "C": -1.0}, ParsedAnswer(ANSWERED, "C", 2)),  # a tie goes to the earlier option
        ({"A": math.nan, "B": -4.0}, ParsedAnswer(ANSWERED, "B", 1)),
        ({"A": -math.inf, "E": -math.inf}, ParsedAnswer(UNPARSED)),
        ({"Z": -0.1}, ParsedAnswer(UNPARSED)),
        ({}, ParsedAnswer(UNPARSED)),
        (None, ParsedAnswer(UNPARSED)),
    ],
)
def test_label_with_the_highest_log_probability(logprobs, expected):
    assert parse(logprobs) == expected


def test_labels_that_are_not_offered_are_ignored():
    assert parse({"A": -2.0, "B": -1.0, "E": -0.1}, labels="AB") == ParsedAnswer(ANSWERED, "B", 1)


def turn(logprobs: dict[str, float] | None, **changes) -> AnsweredTurn:
    return AnsweredTurn("1", 0, "answer", "", (), tuple("ABCDE"), "k", Reply("B", logprobs, **changes))


def test_input_of_the_likelihood_parser():
    assert has_input("likelihood", [turn(None), turn({"A": -1.0})])
    assert not has_input("likelihood", [turn(None), turn({})])
    assert not has_input("likelihood", [turn(None), turn(None, error="timeout")])
    assert has_input("likelihood", [turn(None, error="timeout")])  # failed requests count as failed
    assert has_input("robust", [turn(None)])


@pytest.mark.parametrize(
    ("text", "follows"),
    [
        ("C", False),
        (" C. Black", False),
        ("(C) Black", False),
        ("**C**", False),
        ("_C_", False),
        ("<think>A or B</think>\n\nC", False),
        ("A cat", False),  # at its first token all the same
        (" yellow C", True),
        ("The answer is C", True),
        ("Apple", True),
        ("A_0", True),
        ("<think>A or", True),
        ("F", True),  # not offered
        ("", True),
    ],
)
def test_log_probabilities_count_where_the_reply_begins_with_a_label(text, follows):
    logprobs = {"A": -3.0, "C": -0.1}
    asked = AnsweredTurn("1", 0, "answer", "", (), tuple("ABCDE"), "k", Reply(text, logprobs))
    assert label_follows_text(asked) == follows
    expected = ParsedAnswer(UNPARSED) if follows else ParsedAnswer(ANSWERED, "C", 2)
    assert likelihood(asked, question()) == expected
    assert (label_mass(asked) is None) == follows


@pytest.mark.parametrize(("text", "follows"), [("10", False), ("1", False), ("100", True), ("yes", True)])
def test_a_label_is_no_part_of_a_longer_number(text, follows):
    asked = AnsweredTurn("1", 0, "answer", "", (), ("1", "10"), "k", Reply(text, {"1": -0.5, "10": -1.0}))
    assert label_follows_text(asked) == follows


@pytest.mark.parametrize(
    ("reasoning", "follows"),
    [
        ("The ball is black.", False),
        ("It may be A. No.", True),  # an engine reads the log-probabilities at this label
        ("Is it USB or Apple?", False),  # parts of words
        ("It may be F.", False),  # not offered
    ],
)
def test_a_label_in_separated_reasoning_may_be_the_one_that_was_read(reasoning, follows):
    reply = Reply("C", {"A": -3.0, "C": -0.1}, raw=f"<think>{reasoning}</think>\n\nC")
    assert label_follows_text(AnsweredTurn("1", 0, "answer", "", (), tuple("ABCDE"), "k", reply)) == follows


def test_without_log_probabilities_nothing_is_left_out():
    assert not label_follows_text(turn(None))
    assert not label_follows_text(turn({"A": -1.0}, error="timeout"))
