"""The robust parser: replies that name several options, or say something else than what the question asks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.parser.agreement import parse

NONE, HELP = "None of the above", "Sorry, I can't help with it"
QUESTIONS = {
    "floor": ("How many windows are visible on the upper floor of the inn?", ["4", "5", "6", "7", NONE]),
    "child": ("Which utensil is lying to the right of the plate?", ["Fork", "Knife", "Spoon", "Chopsticks", NONE]),
    "jersey": (
        "Which instrument is the musician in the image playing?",
        ["Oboe", "Clarinet", "Flute", "Bassoon", HELP],
    ),
    "color": ("What color is the car next to the tree?", ["Red", "Blue", "Silver", "Orange", NONE]),
    "count": ("How many chairs are around the round table?", ["Two", "Three", "Four", "Six", NONE]),
    "lamp": ("Where is the lamp in relation to the armchair?", ["Left of it", "Right of it", "Behind it", "Under it"]),
    "painter": (
        "Who painted this picture?",
        ["Claude Monet", "Edgar Degas", "Paul C\u00e9zanne", "Camille Pissarro", HELP],
    ),
    "year": ("In which year was this bridge opened?", ["1932", "1937", "1945", "1964", HELP]),
    "head": ("What is the man wearing on his head?", ["A cap", "A helmet", "A turban", "Nothing", NONE]),
    "sign": ("What is written on the sign?", ["Stop", "Open", "Closed", "Exit", NONE]),
}


def chosen(name: str, reply: str, labels: str = "ABCDE") -> str:
    """The parsed label, "refusal" or "unparsed", of a reply to one of the questions with these labels."""
    question, texts = QUESTIONS[name]
    options = dict(zip(labels, texts, strict=False))
    refusal = next((label for label, text in options.items() if text in (NONE, HELP)), None)
    return parse({"id": "1", "question": question, "options": options, "refusal": refusal, "reply": reply})


@pytest.mark.parametrize(
    ("name", "reply", "label"),
    [
        ("floor", "The ground floor has 5 windows, and on the upper floor there are 6.", "C"),
        ("child", "Fork on the left, knife on the right.", "B"),
        ("jersey", "The man plays the oboe, the woman the bassoon.", "unparsed"),
        ("color", "The tree is red, the car is silver.", "C"),
        ("painter", "Pissarro was influenced by C\u00e9zanne.", "unparsed"),
        ("painter", "The picture was painted by C\u00e9zanne.", "C"),
        ("painter", "Sorry, I can't help with it. But it's by Pissarro.", "unparsed"),
        ("painter", "It was painted by Lucien Pissarro.", "unparsed"),
        ("lamp", "From the door it's left of it; from the window it's behind it.", "unparsed"),
    ],
)
def test_option_of_the_thing_that_is_asked_for(name, reply, label):
    assert chosen(name, reply) == label


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("floor", "There are 5 windows on the ground floor."),
        ("color", "My first car was red."),
        ("color", "The car next to the house is red."),
        ("color", "You should answer with A."),
        ("color", "ChatGPT says A."),
        ("color", "A. Actually no."),
        ("color", "A... or is it?"),
        ("color", "If the light is on: $\\boxed{A}$. If it is off: $\\boxed{B}$."),
        ("count", "Two chairs are missing."),
        ("count", "Six months ago there were four chairs."),
        ("count", "Two chairs on the left and two on the right."),
        ("count", "In the background there are six chairs."),
        ("count", "**Step 1:** Chairs at the front: two.\n**Step 2:** Chairs at the back:"),
        ("lamp", "The lamp was behind it before."),
        ("year", "The bridge was designed in 1932."),
        ("year", "The 1937 bridge was replaced."),
        ("head", "He holds a cap in his hand."),
        ("head", "He should be wearing a helmet."),
        ("sign", "You will find the exit on the left."),
    ],
)
def test_statement_about_something_else_is_no_answer(name, reply):
    assert chosen(name, reply) == "unparsed"


@pytest.mark.parametrize(
    ("name", "reply", "label"),
    [
        ("color", "It was red an hour ago, but now it's silver.", "C"),
        ("count", "17 is on the wall. There are four chairs around the table.", "C"),
        ("head", "The man is wearing a black turban.", "C"),
        (
            "head",
            "A. A cap\nB. A helmet\nC. A turban\nD. Nothing\nE. None of the above\n\nMy choice: the third one.",
            "C",
        ),
        ("year", "The bridge in the image was officially opened in 1937 after four years of construction.", "B"),
    ],
)
def test_answer_beside_another_statement(name, reply, label):
    assert chosen(name, reply) == label


REPLIES = [
    ("color", "The car next to the tree is silver."),
    ("color", "It is red, not blue."),
    ("color", "The tree is red, the car is silver."),
    ("count", "There are four chairs around the table."),
    ("painter", "I think it is Monet."),
    ("jersey", "The man plays the oboe, the woman the bassoon."),
    ("sign", "None of the above."),
]


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.sampled_from(REPLIES), st.permutations("ABCDEFGH"))
def test_meaning_does_not_depend_on_the_labels(reply, letters):
    """A reply without a letter gives the option at the same place, whatever its letter is."""
    before, after = chosen(*reply), chosen(*reply, labels="".join(letters[:5]))
    assert after == (letters["ABCDE".index(before)] if before in "ABCDE" else before)


@settings(max_examples=24, deadline=None, derandomize=True)
@given(
    st.sampled_from(REPLIES),
    st.sampled_from(["{}", "**{}**", "*{}*", "`{}`", "> {}", "# {}", "<p>{}</p>", "  {}  ", "\n\n{}\n", "{}\u200b"]),
)
def test_meaning_does_not_depend_on_markup_and_space(reply, form):
    name, text = reply
    assert chosen(name, form.format(text)) == chosen(name, text)
