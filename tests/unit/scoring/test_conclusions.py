"""The last clause of a reply against earlier mentions. tests/labelled_replies/GUIDELINES.md gives the labels."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.scoring.parsed import COLORS, chosen_label, question_with

CHANDELIER = replace(COLORS, text="What color is the chandelier?")
FLOORS = question_with("Ground floor", "First floor", "Second floor", "Third floor", refusal=None)
FLOORS = replace(FLOORS, text="On which floor is a window open?")
PAINTERS = question_with("Claude Monet", "Edgar Degas", "Max Ernst", "Sorry, I can't help with it")
PAINTERS = replace(PAINTERS, text="Who painted this picture?")


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("The walls are red. The chandelier itself is gold.", "D"),
        ("According to the caption it's red, yet what I see is gold.", "D"),
        ("It was red a year ago, but now it is gold.", "D"),
        ("To the left eye it's blue. To the right eye it's gold.", "D"),
        ("There is a red door. The wall behind it is blue.", None),  # "it" is not the subject
        ("The walls are red. The carpet is gold.", None),
        ("The top is red; the bottom is gold.", None),
        ("The walls are red. The chandelier will be gold soon.", None),
        ("The walls are red. It could be gold.", None),
        ("A red sign hangs here; it's a gold shop.", None),
        ("The lamp: blue.\nThe chandelier in the hall: red.\nSo the answer is D.", "D"),  # not the heading's "red"
    ],
)
def test_last_clause_decides_if_it_is_about_what_is_asked(text, letter):
    assert chosen_label(text, CHANDELIER) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("You suggested B, and I agree with that.", "B"),
        ("You suggested B, but I don't agree.", None),
        ("The third of the five.", "C"),
        ("The third of the four.", None),  # there are five options
        ("The last one on your list.", "E"),
        ("Neither the first nor the second option, but the fourth.", "D"),
        ("There is no denying that it's gold.", "D"),
        ("A resposta correta é a letra B.", "B"),
        ("I'd settle on gold.", "D"),
        ("My best guess would be gold, though I could be wrong.", "D"),
        ("It could be red as well as gold.", None),
    ],
)
def test_agreement_positions_and_announcements(text, letter):
    assert chosen_label(text, CHANDELIER) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("This is no Degas. It is a Monet.", "A"),
        ("It was painted by Degas.", "B"),
        ("It was painted by Jimmy Ernst.", None),  # somebody else
        ("Sorry, I can't help with it. But it's by Monet.", None),
        ("Cluade Mnoet", "A"),
    ],
)
def test_surnames_and_misspelt_names(text, letter):
    assert chosen_label(text, PAINTERS) == letter


def test_a_reply_that_was_cut_off_has_no_conclusion() -> None:
    text = (
        "**Ground floor:** Both windows are closed.\n\n**First floor:** It seems closed.\n\n**Second floor:** There are"
    )
    assert chosen_label(text, FLOORS) is None
