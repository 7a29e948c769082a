"""The parser robust on turns: what a turn offers, what a variant removed, and what a benchmark's refusal means."""

from __future__ import annotations

import pytest

from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.records import (
    ABSTAINED,
    ANSWERED,
    CUT,
    NOT_OFFERED,
    REFUSED,
    UNPARSED,
    AnsweredTurn,
    Option,
    Question,
    Reply,
)
from known_unknowns.scoring import robust
from known_unknowns.scoring.dialogues import score_turn
from known_unknowns.variants import nota_only, without_refusal


def asked(*texts: str, benchmark: str = "humblebench", refusal: int | None = -1, **extra: object) -> Question:
    options = tuple(Option(letter, text, f"{letter}. ") for letter, text in zip("ABCDEFG", texts, strict=False))
    place = None if refusal is None else refusal % len(options)
    return Question("1", benchmark, "What color is the lamp?", options, 0, place, (), "Object", "g", extra)


def parse(text: str, question: Question, *, labels: tuple[str, ...] | None = None) -> ParsedAnswer:
    return robust(AnsweredTurn("1", 0, "answer", "", (), labels or question.labels, "k", Reply(text)), question)


COLORS = asked("Red", "Blue", "Yellow", "Gold", "None of the above")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("D", ParsedAnswer(ANSWERED, "D", 3)),
        ("The lamp is gold.", ParsedAnswer(ANSWERED, "D", 3)),
        ("E", ParsedAnswer(REFUSED, "E", 4)),
        ("None of these colors is right.", ParsedAnswer(REFUSED, "E", 4)),
        ("It cannot be determined from the image.", ParsedAnswer(ABSTAINED)),
        ("I'm sorry, but I can't help with that.", ParsedAnswer(ABSTAINED)),
        ("Red or blue.", ParsedAnswer(UNPARSED)),
        ("F", ParsedAnswer(UNPARSED, "F")),
    ],
)
def test_outcomes(text, expected):
    assert parse(text, COLORS) == expected


def test_options_of_a_later_turn():
    """The forced choice offers no refusal, so that "None of the above" chooses none of its options."""
    offered = tuple("ABCD")
    assert parse("E", COLORS, labels=offered) == ParsedAnswer(UNPARSED, "E")
    assert parse("None of the above", COLORS, labels=offered) == ParsedAnswer(ABSTAINED)
    assert parse("D", COLORS, labels=offered) == ParsedAnswer(ANSWERED, "D", 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Red", ParsedAnswer(UNPARSED, NOT_OFFERED)),
        ("The answer is red.", ParsedAnswer(UNPARSED, NOT_OFFERED)),
        ("A. Red", ParsedAnswer(UNPARSED)),  # A is "Blue" now
        ("A. Blue", ParsedAnswer(ANSWERED, "A", 0)),
        ("D. None of the above. It is red.", ParsedAnswer(REFUSED, "D", 3)),
    ],
)
def test_a_removed_option(text, expected):
    assert parse(text, nota_only(COLORS, relettered=True)) == expected


def test_a_removed_refusal_is_an_abstention():
    assert parse("None of the above", without_refusal(COLORS)) == ParsedAnswer(ABSTAINED, NOT_OFFERED)


@pytest.mark.parametrize(
    ("question", "cannot_tell", "none_right"),
    [
        (COLORS, ABSTAINED, REFUSED),
        (asked("Red", "Blue", "Sorry, I can't help with it", benchmark="mmsap"), REFUSED, ABSTAINED),
        (asked("Red", "Blue", "None of the above", benchmark="mm_upd", subset="AAD"), ABSTAINED, REFUSED),
        (asked("Red", "Blue", "The image is irrelevant.", benchmark="mm_upd", subset="IVQD"), REFUSED, ABSTAINED),
        (asked("Red", "Blue", benchmark="actiview", refusal=None), ABSTAINED, ABSTAINED),
        (asked("Red", "Blue", "I don't know", benchmark="multiple_choice"), REFUSED, ABSTAINED),
        (asked("Red", "Blue", "None of these", benchmark="a benchmark of nobody"), ABSTAINED, REFUSED),
    ],
)
def test_what_the_refusal_means(question, cannot_tell, none_right):
    assert parse("It is not possible to tell from the image.", question).outcome == cannot_tell
    assert parse("None of the options is correct.", question).outcome == none_right


@pytest.mark.parametrize("parser", ["official", "robust"])
@pytest.mark.parametrize(
    ("text", "finish", "outcome"),
    [
        ("The lamp in the", "length", CUT),
        ("The lamp in the", "stop", UNPARSED),
        ("<think>It may be red or", "stop", CUT),
        ("B", "length", ANSWERED),
        ("<think>It may be red.</think>I am red and blue", "stop", UNPARSED),
    ],
)
def test_a_reply_that_the_limit_ended_is_cut_if_it_has_no_answer(parser, text, finish, outcome):
    turn = AnsweredTurn("1", 0, "answer", "", (), COLORS.labels, "k", Reply(text, finish=finish))
    assert score_turn(turn, COLORS, parser).outcome == outcome
