# ruff: noqa: E501 (a reply is as long as it is)
"""Properties of the short parser: labels, order, case and markup do not matter, and any text is parsed in little time."""

from __future__ import annotations

import string

from hypothesis import given
from hypothesis import strategies as st

from known_unknowns import parse_reply
from known_unknowns.scoring.reply_parser.rules import RULES

COLORS = {"A": "Red", "B": "Blue", "C": "Black", "D": "Gold", "E": "None of the above"}
QUESTION = "What color is the chandelier?"


def label(reply, options, question):
    return parse_reply(reply, options, question=question).label


TEXTS = ("gold", "a small dog", "on the left", "42", "Claude Monet", "walking the dog", "3.5 km", "not visible at all")
FRAMES = (
    "{L}",
    "{L}.",
    "({L})",
    "{L}. {T}",
    "({L}) {T}",
    "The answer is {L}.",
    "Answer: {L}. {T}",
    "Option {L} is correct.",
    "I choose {L}.",
    "{T}",
    "Answer: {T}",
)


@st.composite
def questions(draw):
    texts = draw(st.lists(st.sampled_from(TEXTS), min_size=2, max_size=6, unique=True))
    return dict(zip(string.ascii_uppercase, texts, strict=False))


@given(questions(), st.sampled_from(FRAMES), st.data())
def test_relabelled_options_relabel_the_answer(options, frame, data):
    chosen = data.draw(st.sampled_from(list(options)))
    assert label(frame.format(L=chosen, T=options[chosen]), options, "") == chosen
    letters = data.draw(st.permutations("BCDEFGH"))
    renamed = {letters[number]: text for number, text in enumerate(options.values())}
    new = letters[list(options).index(chosen)]
    assert label(frame.format(L=new, T=options[chosen]), renamed, "") == new


@given(questions(), st.data())
def test_text_of_an_option_is_answered_in_any_case_space_and_markdown(options, data):
    chosen = data.draw(st.sampled_from(list(options)))
    text = options[chosen]
    change = data.draw(st.sampled_from([str.upper, str.lower, str.title, str.strip]))
    around = data.draw(
        st.sampled_from(["{}", " {} ", "\n{}\n", "**{}**", "*{}*", "`{}`", "# {}", "- {}", "{}.", '"{}"', "{}</s>"])
    )
    assert label(around.format(change(text)), options, "") == chosen


@given(questions(), st.data())
def test_order_of_options_does_not_matter(options, data):
    chosen = data.draw(st.sampled_from(list(options)))
    order = data.draw(st.permutations(list(options)))
    assert label(options[chosen], {name: options[name] for name in order}, "") == chosen


@given(st.text(max_size=300), questions())
def test_any_text_gives_an_offered_label_or_none(reply, options):
    parsed = parse_reply(reply, options)
    assert (parsed.label in options) == (parsed.outcome == "answered")
    assert parsed.rule.split(":")[0] in {"", *(rule.__name__ for rule in RULES)}


@given(st.text(alphabet="ABC .\n(){}<>[]:,aI1-^$\\*", max_size=400))
def test_signs_alone_raise_nothing(reply):
    parse_reply(reply, COLORS, "E", QUESTION)


def test_long_replies_take_time_in_proportion():
    for part in ("{" * 50, "the answer is ", "(A) ", "A. Red\n", "<think>", "if not ", "\\boxed{", "is most likely "):
        parse_reply(part * (10_000 // len(part)), COLORS, "E", QUESTION)
