"""Numbers in words, references by position, rankings, tags, tables, and texts that are said of something else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.parser.agreement import parse
from known_unknowns.scoring.robust.numbers import in_words, with_digits, with_words

COLORS = ("Red", "Blue", "Black", "Gold", "None of the above")


def parsed(reply: str, question: str = "What color is the door?", options: tuple[str, ...] = COLORS) -> str:
    labels = dict(zip("ABCDE", options, strict=False))
    return parse({"id": "1", "question": question, "options": labels, "refusal": None, "reply": reply})


@given(st.integers(0, 999_999))
def test_numbers_in_words_are_read_back(value):
    assert with_digits(in_words(value)) == str(value)
    assert with_digits(with_words(f"about {value} leaves")) == f"about {value} leaves"


@pytest.mark.parametrize(
    ("words", "digits"),
    [
        ("twenty one", "21"),
        ("one two", "1 2"),
        ("two hundred and five", "205"),
        ("a hundred", "100"),
        ("nineteen eighty", "19 80"),
        ("someone", "someone"),
    ],
)
def test_number_words_by_hand(words, digits):
    assert with_digits(words) == digits


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("A quarter past nine.", "B"),
        ("half past two", "C"),
        ("It's a quarter to three.", "D"),
        ("Nine fifteen", "B"),
        ("It is three o'clock, or half past two.", "unparsed"),
    ],
)
def test_times_in_words(reply, label):
    assert parsed(reply, "What time does the clock show?", ("3:00", "9:15", "2:30", "2:45")) == label


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("the second option", "B"),
        ("The last choice. It is not visible.", "E"),
        ("Neither the first nor the second option, but the third one.", "C"),
        ("The first and the third option.", "unparsed"),
        ("The second option: gold.", "unparsed"),
        ("My first choice was red, but it is blue.", "B"),
        ("First, the walls are red. Second, the door is blue.", "B"),
        ("Torn between A and C; going with the latter.", "C"),
        ("The sixth option.", "unparsed"),
    ],
)
def test_references_by_position(reply, label):
    assert parsed(reply) == label


def test_ordinals_that_are_options_texts_are_no_positions():
    floors = ("Ground floor", "First floor", "Second floor", "Third floor")
    assert parsed("The second.", "Which floor is the shop on?", floors) == "unparsed"
    assert parsed("The third option, that is, the second floor.", "Which floor is the shop on?", floors) == "C"


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("C > A > B > D > E", "C"),
        ("From the least likely to the most likely: E, D, C, A, B", "B"),
        ("<choice>B</choice><rejected>A, C</rejected>", "B"),
        ("<A>no</A><B>no</B><C>yes</C>", "C"),
        ("| A | B | C |\n|---|---|---|\n| ✗ | ✗ | ✓ |", "C"),
        ("A – no handle. B – possible. C – fits best.", "C"),
        ("A – no handle. B – possible.", "unparsed"),
        ("The user says it's B, and he is right.", "B"),
        ("The user says it's B.", "unparsed"),
        ('A note on the door reads: "The answer is B".', "unparsed"),
        ("C\n(The user wanted B, but that's wrong.)", "C"),
        ("Doğru cevap C şıkkı.", "C"),
    ],
)
def test_structures_and_other_speakers(reply, label):
    assert parsed(reply) == label


@pytest.mark.parametrize(
    ("question", "reply", "label"),
    [
        ("What color is the boat moored next to the pier?", "The boat moored next to the pier is blue.", "B"),
        ("What color is the small boat?", "The large boat is red.", "unparsed"),
        ("What color is the small boat?", "The large boat is red, but the small boat is blue.", "B"),
        ("What color is the glove on his right hand?", "On his left hand, the glove is red.", "unparsed"),
        ("What color is the hat of the tallest man?", "The shortest man has a red hat.", "unparsed"),
        ("What color is the curtain?", "Red for guests, gold for the family.", "unparsed"),
    ],
)
def test_texts_said_of_something_else(question, reply, label):
    assert parsed(reply, question) == label


def test_a_count_of_which_only_a_part_is_meant():
    question = "How many candles are lit on the cake?"
    assert parsed("There are 10 candles, some of which have gone out.", question, ("8", "9", "10")) == "unparsed"
