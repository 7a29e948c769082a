"""Passages: what a parser parses alone to the recorded answer. Expectations are read off the texts by hand."""

from __future__ import annotations

import pytest

from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.records import ANSWERED, REFUSED, AnsweredTurn, Reply
from known_unknowns.report.browser.passages import PassageFinder, Result, passage, utf16
from known_unknowns.scoring import PARSERS
from tests.factories import question

from .tiny_run import LONG


def turn(text):
    return AnsweredTurn("1", 0, "answer", "", (), tuple("ABCDE"), "", Reply(text))


def shown(text, parser, expected):
    found = passage(turn(text), question(), parser, expected)
    return found and text[slice(*found)]


@pytest.mark.parametrize(
    ("text", "label", "found"),
    [
        ("B", "B", "B"),
        (" (B).", "B", "B"),
        ("B. Blue", "B", "B"),
        ("Not Red, but Gold.", "D", "Gold"),
        (LONG, "B", "B"),
        ("None of the above fits.", "E", "None"),
    ],
)
def test_the_passage_of_the_robust_parser(text, label, found):
    choice = "ABCDE".index(label)
    assert shown(text, "robust", ParsedAnswer(REFUSED if label == "E" else ANSWERED, label, choice)) == found


def test_a_result_that_the_parser_does_not_return_has_no_passage():
    assert shown("B", "robust", ParsedAnswer(ANSWERED, "C", 2)) is None


def test_places_count_as_in_javascript():
    assert [utf16("a\U0001f600b", place) for place in range(4)] == [0, 1, 3, 4]
    assert utf16("abc", 2) == 2


def passages(texts, label):
    asked = question()
    answer = ParsedAnswer(ANSWERED, label, "ABCDE".index(label))
    results = [Result(asked, tuple("ABCDE"), text, "robust", answer, False) for text in texts]
    found = PassageFinder().passages(results, lambda i: turn(texts[i]))
    return [span and texts[i][slice(*span)] for i, span in enumerate(found)]


def test_a_table_that_the_parser_reproduces_is_relied_on(monkeypatch):
    parsed = []
    monkeypatch.setitem(
        PARSERS,
        "robust",
        lambda part, asked, real=PARSERS["robust"]: parsed.append(part.reply.text) or real(part, asked),
    )
    texts = [f"I looked {number} times. The answer is B." for number in range(200)]
    assert passages(texts, "B") == ["B"] * 200
    assert len(parsed) == 20 + 1  # a sample, and the label alone


def test_a_table_with_another_result_in_its_sample_is_not_relied_on():
    texts = ["The answer is C, not B.", *["The answer is B."] * 199]
    assert passages(texts, "B") == [None, *["B"] * 199]


@pytest.mark.parametrize(
    ("text", "label", "found"),
    [
        ("Blue, so the answer is B.", "B", "Blue"),  # the option's text comes first
        ("B? No. The answer is B.", "B", "B"),
        (" Blue.", "B", "Blue"),
        ("It is blue.", "B", "blue"),
    ],
)
def test_passages_of_a_table_that_is_relied_on(text, label, found):
    assert passages([*["The answer is B."] * 40, text], label)[-1] == found
