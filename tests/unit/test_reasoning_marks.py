# ruff: noqa: E501 (a reply is as long as it is)
"""Notations of reasoning, and replies that have reasoning in them."""

from __future__ import annotations

import pytest

from known_unknowns.reasoning_marks import final_text, opens_reasoning, split_reply
from known_unknowns.scoring.reply_parser import parse_reply

COLORS = {"A": "Red", "B": "Blue", "C": "Black", "D": "Gold", "E": "None of the above"}


def label(reply, **others):
    return parse_reply(reply, COLORS, "E", **others).label


def outcome(reply, **others):
    return parse_reply(reply, COLORS, "E", **others).outcome


OPENINGS = (
    *("<think>{}", "<thinking>{}", "<thought>{}", "<reasoning>{}", "<seed:think>{}", "[THINK]{}", "◁think▷{}"),
    *("<|begin_of_thought|>{}", "<|START_THINKING|>{}", "<unused94>thought\n{}", "<|channel>thought\n{}"),
    *("<|channel|>analysis<|message|>{}", "analysis{}"),
)
CLOSED = (
    *("<think>{}</think>{}", "<thought>{}</thought>{}", "<seed:think>{}</seed:think>{}", "[THINK]{}[/THINK]{}", "◁think▷{}◁/think▷{}"),
    *("{}</think>{}", "<|START_THINKING|>{}<|END_THINKING|>{}", "<unused94>thought\n{}<unused95>{}", "<|channel>thought\n{}<channel|>{}"),
    *("<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>", "analysis{}assistantfinal{}"),
    "<think>{}</think><think>Once more.</think>{}",
)  # fmt: skip


@pytest.mark.parametrize("notation", OPENINGS)
def test_open_reasoning_is_no_answer(notation):
    assert outcome(notation.format("The answer is A.")) == "cut"
    assert outcome(notation.format("Red.\n\nA")) == "cut"


@pytest.mark.parametrize("notation", CLOSED)
def test_closed_reasoning_is_parsed_after_its_end(notation):
    assert label(notation.format("The answer is A.", "D")) == "D"
    assert label(notation.format("The answer is A.", "The answer is **D**.")) == "D"


@pytest.mark.parametrize(
    ("prompt", "opens"),
    [
        ("Which?<|im_start|>assistant\n<think>\n", True),
        ("Which?[THINK]", True),
        ("Which?<seed:think>", True),
        ("Which?<|im_start|>assistant\n<think>\n\n</think>\n\n", False),
        ("Is <think> a tag?<|im_start|>assistant\n", False),
    ],
)
def test_prompts_that_open_reasoning(prompt, opens):
    assert opens_reasoning(prompt) is opens


@pytest.mark.parametrize("notation", CLOSED)
def test_the_reasoning_is_kept_apart(notation):
    split = split_reply(notation.format("It may be A.", "D"))
    assert split.reasoning.splitlines()[0] == "It may be A." and "A." not in split.text and not split.open


def test_reasoning_that_the_template_opens():
    assert final_text("It may be A.", opened=True).open
    assert outcome("It may be A.", opened=True) == "cut"
    assert label("It may be A.</think>D", opened=True) == "D"
    assert label("It may be A.[/THINK]D", opened=True) == "D"
