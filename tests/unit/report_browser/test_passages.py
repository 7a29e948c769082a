"""Passages: what a parser parses alone to the recorded answer. Expectations are read off the texts by hand."""

from __future__ import annotations

import pytest

from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.records import ANSWERED, REFUSED, AnsweredTurn, Reply
from known_unknowns.report.browser.passages import PassageFinder, passage, utf16
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
        (" (B).", "B", "B"),
        ("Not Red, but Gold.", "D", "Gold"),
        (LONG, "B", "B"),
        ("None of the above fits.", "E", "None"),
        ("Blue, so the answer is B.", "B", "Blue"),
        ("It is blue.", "B", "blue"),
    ],
)
def test_the_passage_of_the_robust_parser(text, label, found):
    choice = "ABCDE".index(label)
    assert shown(text, "robust", ParsedAnswer(REFUSED if label == "E" else ANSWERED, label, choice)) == found


def test_a_result_that_the_parser_does_not_return_has_no_passage():
    assert shown("B", "robust", ParsedAnswer(ANSWERED, "C", 2)) is None


def test_equal_replies_to_a_question_are_parsed_once(monkeypatch):
    parsed, real = [], PARSERS["robust"]
    monkeypatch.setitem(PARSERS, "robust", lambda part, asked: parsed.append(part.reply.text) or real(part, asked))
    find, answer = PassageFinder(), ParsedAnswer(ANSWERED, "B", 1)
    found = [find(turn("The answer is B."), question(), "robust", answer) for _ in range(2)]
    count = len(parsed)
    assert found == [(14, 15)] * 2 and find(turn("The answer is B."), question(), "robust", answer) == (14, 15)
    assert len(parsed) == count and find(turn("B"), question(), "judge", answer) is None


def test_places_count_as_in_javascript():
    assert [utf16("a\U0001f600b", place) for place in range(4)] == [0, 1, 3, 4]
    assert utf16("abc", 2) == 2
