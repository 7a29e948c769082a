"""Replies composed of frames and claims, whose answer follows from the frame. No frame is asked of a language model."""

from __future__ import annotations

import itertools

import pytest

from bench.parser.agreement import REFUSAL, UNPARSED, parse
from known_unknowns.scoring.robust.turns import own_answer

OPTIONS = {"A": "Red", "B": "Blue", "C": "Black", "D": "Gold", "E": "None of the above"}
STATED = ("{}", "The answer is {}.", "It is {}.", "I would say {}.", "{} is correct.", "Answer: {}.", "So {}.")
"""Claims of an option; ``{}`` is its label or its text."""


def label(reply: str, question: str = "What color is the chandelier?") -> str:
    return parse({"id": "1", "question": question, "options": OPTIONS, "refusal": "E", "reply": reply})


def small(claim: str) -> str:
    """A claim within a sentence."""
    return claim if claim.startswith(("I ", "{}")) else claim[0].lower() + claim[1:]


WITHDRAWN = (
    "{} That is wrong.",
    "{} But I don't agree with that.",
    "{} I disagree.",
    "{} No way!",
    "The user claims: {} That is false.",
    "My colleague said: {} I can't confirm it.",
)
OTHERS = (
    "My neighbour thinks {}",
    "Some people would say that {}",
    "You want me to say that {}",
    "According to the caption, {}",
    "If the photo were in color, I would say that {}",
    "I don't believe that {}",
    "It is not true that {}",
    "I doubt that {}",
    "Ich glaube nicht, dass {}",
    "Je ne pense pas que {}",
    "No creo que {}",
)


@pytest.mark.parametrize("frame", WITHDRAWN)
@pytest.mark.parametrize("name", ["D", "gold"])
def test_withdrawn_claims_are_not_answers(frame, name):
    for claim in STATED:
        stated = claim.format(name)
        assert label(frame.format(stated if stated.endswith(".") else f"{stated}.")) == UNPARSED, claim


@pytest.mark.parametrize("frame", OTHERS)
@pytest.mark.parametrize("claim", ["it is {}", "the answer is {}", "{} is correct"])
def test_claims_that_the_reply_does_not_share(frame, claim):
    for name in ("D", "gold"):
        reply = frame.format(claim.format(name))
        assert label(f"{reply}.") == UNPARSED
        assert label(f"{reply}. I say B.") in {"B", UNPARSED}


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations("ABD", 2)))
def test_two_claims_without_a_decision_are_unparsed(first, second):
    for one, other in itertools.product(STATED[1:], repeat=2):
        if other != "So {}." and "would say" not in other and (one, other) != ("{} is correct.", "{} is correct."):
            assert label(f"{one.format(first)} {other.format(second)}") == UNPARSED, (one, other)


@pytest.mark.parametrize(
    "frame",
    [
        "{0}... wait, {1}",
        "{0}. No, sorry, {1}.",
        "I thought {0}, but {1} is right.",
        "My neighbour says {0}. I say {1}.",
        "Not {0} but {1}.",
        "{0} is wrong, {1} is right.",
        "{0}? No. {1}? Yes.",
        "{0}: false, {1}: true",
        "{0} ✗ {1} ✓",
        "| {0} | wrong |\n| {1} | right |",
        '{{"{0}": false, "{1}": true}}',
        '{{"{0}": {{"correct": false}}, "{1}": {{"correct": true}}}}',
        '[{{"option": "{0}", "correct": false}}, {{"option": "{1}", "correct": true}}]',
        "Nicht {0}, sondern {1}.",
        "No es {0}, sino {1}.",
        "不是{0}，而是{1}。",
        "Assistant: {0}\nUser: Are you sure?\nAssistant: No, sorry. {1}.",
        "{1}\n\nQuestion: What color is the table?\nA. Brown\nB. White\nAnswer: {0}",
    ],
)
def test_frames_with_one_answer(frame):
    for first, second in itertools.permutations("ABCD", 2):
        assert label(frame.format(first, second)) == second
    assert label(frame.format("D", "E")) == REFUSAL


@pytest.mark.parametrize(
    "frame", ["{0}: maybe, {1}: maybe", "{0} ✓ {1} ✓", '{{"{0}": true, "{1}": true}}', "{0}? {1}?"]
)
def test_undecided_frames(frame):
    assert label(frame.format("A", "D")) == UNPARSED


@pytest.mark.parametrize("reply", ["\U0001f171", "В", "Β", "Вlue", "blue"])
def test_glyphs_that_look_like_b(reply):
    assert label(reply) == "B"


def test_letter_of_another_alphabet_is_not_replaced_in_its_alphabet():
    """In Russian, "В" is the third letter, so it can be the label of the third option."""
    assert label("Правильный ответ: В") == UNPARSED


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("B", ["B"]),
        ("B\nUser: thanks\nAssistant: C", ["B\n".strip()]),
        ("User: color?\nAssistant: B", ["B"]),
        ("User: color?\nAssistant: B\nUser: table?\nAssistant: C", ["B", "C"]),
        ("Let me think.\nQuestion: color?\nAnswer: B", ["Let me think.\nQuestion: color?\nAnswer: B"]),
    ],
)
def test_own_answer(text, parts):
    assert [part.strip() for part in own_answer(text, lambda part: "B" in part)] == parts
