"""The robust parser: what a reply means does not depend on the labels of the options, on markup or on space."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.parser.agreement import parse

NONE, HELP = "None of the above", "Sorry, I can't help with it"
QUESTIONS = {
    "jersey": (
        "Which instrument is the musician in the image playing?",
        ["Oboe", "Clarinet", "Flute", "Bassoon", HELP],
    ),
    "color": ("What color is the car next to the tree?", ["Red", "Blue", "Silver", "Orange", NONE]),
    "count": ("How many chairs are around the round table?", ["Two", "Three", "Four", "Six", NONE]),
    "painter": (
        "Who painted this picture?",
        ["Claude Monet", "Edgar Degas", "Paul C\u00e9zanne", "Camille Pissarro", HELP],
    ),
    "sign": ("What is written on the sign?", ["Stop", "Open", "Closed", "Exit", NONE]),
}


def chosen(name: str, reply: str, labels: str = "ABCDE") -> str:
    """The parsed label, "refusal" or "unparsed", of a reply to one of the questions with these labels."""
    question, texts = QUESTIONS[name]
    options = dict(zip(labels, texts, strict=False))
    refusal = next((label for label, text in options.items() if text in (NONE, HELP)), None)
    return parse({"id": "1", "question": question, "options": options, "refusal": refusal, "reply": reply})


REPLIES = [
    ("color", "The car next to the tree is silver."),
    ("color", "It is red, not blue."),
    ("color", "The tree is red, the car is silver."),
    ("count", "There are four chairs around the table."),
    ("painter", "I think it is Monet."),
    ("jersey", "The musician is playing the oboe."),
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
