"""Words in another sense, other parts, persons and events, and parallel clauses.

tests/labelled_replies/GUIDELINES.md gives the labels.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from known_unknowns.records import Question
from tests.unit.scoring.parsed import COLORS, YES_NO, chosen_label, question_with


def _asked(text: str, *options: str, refusal: int | None = None) -> Question:
    return replace(question_with(*options, refusal=refusal), text=text)


CHANDELIER = replace(COLORS, text="What color is the chandelier?")
GATE = replace(YES_NO, text="Is the gate open?")
PAINTED = _asked("What color is the upper balcony?", "Red", "Blue", "Green", "White")
POINTING = _asked("Which way does the arrow point?", "Left", "Right", "Up", "Down")
COUNTED = _asked("How many birds are sitting on the wire?", "Two", "Three", "Four", "Five")
OPENED = _asked("In which year was the museum opened?", "1901", "1925", "1950", "1974")
HELD = _asked("What is the girl holding in her left hand?", "A lamp", "A book", "A potted plant", "A kite")
DRUM = _asked("Which instrument are the boys playing?", "Drum", "Guitar", "Piano", "Flute")
FLOOR = _asked("Which floor does the elevator show?", "Second", "Third", "Fourth", "Fifth")


@pytest.mark.parametrize(
    ("text", "question", "letter"),
    [
        ("Out of the blue: it's gold.", CHANDELIER, "D"),
        ("This is a red herring, the chandelier is gold.", CHANDELIER, "D"),
        ("It is blue.", CHANDELIER, "B"),
        ("The driver has left.", POINTING, None),
        ("You are right, it does.", POINTING, None),
        ("It points to the right.", POINTING, "B"),
        ("One by one I counted three birds on the wire.", COUNTED, "B"),
        ("Well over four.", COUNTED, None),
        ("The third option.", FLOOR, "C"),  # the position, although "Third" is an option
    ],
)
def test_words_in_another_sense(text, question, letter):
    assert chosen_label(text, question) == letter


@pytest.mark.parametrize(
    ("text", "question", "letter"),
    [
        ("The upper balcony is green.", PAINTED, "C"),
        ("The ground balcony is green.", PAINTED, None),
        ("The museum was opened in 1925.", OPENED, "B"),
        ("It was painted in 1925.", OPENED, None),
        ("They play the drum.", DRUM, "A"),
        ("Their uncle plays the drum.", DRUM, None),
        ("Usually they play the drum.", DRUM, None),
        ("In another photo they play the drum.", DRUM, None),
        ("A lamp has a shade.", HELD, None),
        ("Two birds are on the wire, so in the mirror the number is 6.", COUNTED, None),
    ],
)
def test_other_things_parts_persons_and_events(text, question, letter):
    assert chosen_label(text, question) == letter


@pytest.mark.parametrize(
    ("text", "question", "letter"),
    [
        ("The lower balcony is red, the upper one white.", PAINTED, "D"),
        ("The lower balcony is red, the middle one white.", PAINTED, None),
        ("Three birds fly around the tower, and on the wire there are five.", COUNTED, "D"),
        ("Three birds and four cats are sitting there.", COUNTED, "B"),
        ("In her right hand she holds a book and in her left hand a kite.", HELD, "D"),
        ("A book and a kite are in her hands.", HELD, None),
    ],
)
def test_parallel_clauses(text, question, letter):
    assert chosen_label(text, question) == letter


@pytest.mark.parametrize(
    ("text", "question", "letter"),
    [
        ("The kids are playing the flute.", replace(DRUM, text="Which instrument are the children playing?"), "D"),
        ("She is gripping a lamp.", HELD, "A"),
        ("It's the plant that she is holding.", HELD, "C"),
        ("She isn't holding a lamp but the plant.", HELD, "C"),
        ("The museum is the Old Mint, which was opened in 1974.", OPENED, "D"),
        ("The inscription dates it to 1901.", OPENED, "A"),
        ("Most people say 1950, and most people are right.", OPENED, "C"),
        ("Yes... hmm, that is a fence. No.", GATE, "B"),
        ("My first answer was yes. I change it to no.", GATE, "B"),
        ("Is it painted? Yes. Is the gate open, then? No.", GATE, "B"),
    ],
)
def test_synonyms_reasons_and_second_thoughts(text, question, letter):
    assert chosen_label(text, question) == letter
