"""Lessons in ActiView's form: the prompts are the protocols' own, and what they say is true of the scene."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from known_unknowns.records import Image, Option, Question, Reply
from known_unknowns_pocket.scenes import COLOURS, HELD_OUT_PAIRS, SHAPES
from known_unknowns_pocket.training.actiview import (
    REASON,
    ActiViewQuestion,
    actiview_sample,
    questions,
    scene,
    without_held_out_options,
)
from known_unknowns_pocket.training.prompts import TrainingPrompt
from known_unknowns_pocket.training.samples import IMAGE_PLACE, TrainingSample
from tests.factories import asked_by

SIZES = {"side": 48, "grid": 6}
PAIR = re.compile(rf"\b({'|'.join(COLOURS)}) ({'|'.join(SHAPES)})")


def test_no_held_out_pair_is_drawn_or_named():
    named = set()
    for number in range(40):
        found, width, height = scene(f"test/{number}")
        assert not {thing.pair for thing in found.objects} & HELD_OUT_PAIRS
        for asked in questions(f"test/{number}", found, width, height):
            named |= set(PAIR.findall(asked.stem + asked.listed))
    assert len(named) > 20
    assert not named & HELD_OUT_PAIRS


def record(stem: str, options: list[str], needed: list[int]) -> Question:
    """A question of ActiView with seven images, as the protocols take it."""
    images = tuple(Image(f"{number}.png", "", 64, 48) for number in range(7))
    lettered = tuple(Option("ABCDEFG"[k], text, f"{'ABCDEFG'[k]}. ") for k, text in enumerate(options))
    extra = {"groundtruth_views": needed, "random_start": 2, "start": {"R": 0, "E": 0, "M": 0, "H": 0}}
    return Question("1", "actiview", stem, lettered, 0, None, images, "", "", extra=extra)


def turns(protocol: str, question: Question, replies: list[str], **settings) -> list[list[str | None]]:
    """The contents of the turns, with `IMAGE` for each image."""
    talk, found = asked_by(protocol, question, **settings), []
    turn = next(talk)
    for said in [*replies, None]:
        pieces = (IMAGE_PLACE if isinstance(piece, Image) else piece.strip() for piece in turn.content)
        found.append([piece for piece in pieces if piece != ""])
        if said is None:
            break
        try:
            turn = talk.send(Reply(text=said))
        except StopIteration:
            break
    return found


@pytest.mark.parametrize(
    ("template", "protocol", "replies"),
    [
        ("full", "full_image", []),
        ("views", "shifting", ["No"]),
        ("more", "shifting", []),
        ("select", "zooming", []),
        ("zoomed", "zooming", ["{views}"]),
        ("mixed", "mixed", ['{{"part": "{views}"}}', '{{"keep": "{views}", "shift": "none"}}']),
        ("zoom", "mixed", []),
        ("operate", "mixed", ['{{"part": "{views}"}}']),
        ("text", "text_only_template", []),
    ],
)
def test_prompts_are_those_of_the_protocols(template, protocol, replies):
    checked = 0
    for number in range(3):
        one = actiview_sample(f"prompts/{number}", template=template, **SIZES)
        found, width, height = scene(f"prompts/{number}")
        about = list(questions(f"prompts/{number}", found, width, height))
        for asked in filter(lambda asked: asked.reply, one.prompts):
            ours = [piece for piece in [*one.prefix, asked.prompt] if piece != ""]
            views = re.findall(r"(upper|lower)(left|right) view", " ".join(filter(None, ours)))
            numbers = [1 + (across == "right") * 2 + (down == "lower") for down, across in views]
            (of,) = [of for of in about if of.stem in asked.prompt]
            if template in ("full", "views", "zoomed", "mixed"):
                of = without_held_out_options(of, found)
            question = record(of.stem, list(of.options), numbers)
            if protocol == "shifting":
                question.extra["random_start"] = numbers[0] - 1
                said = ["Yes"] * (len(numbers) - 1) + replies
            else:
                said = [reply.format(views=",".join(map(str, numbers))) for reply in replies]
            assert turns(protocol, question, said)[-1] == ours
            checked += 1
    assert checked >= 2


def test_replies_are_correct():
    said = Counter()
    for template in ("full", "zoomed", "views", "mixed", "more", "select", "zoom", "operate"):
        for number in range(6):
            one = actiview_sample(f"replies/{number}", template=template, **SIZES)
            found, width, height = scene(f"replies/{number}")
            about = list(questions(f"replies/{number}", found, width, height))
            for asked in filter(lambda asked: asked.reply, one.prompts):
                (of,) = [without_held_out_options(of, found) for of in about if of.stem in asked.prompt]
                assert asked.reply_text in replies_to(template, of, views_named(one, asked))
                said[template] += 1
    assert min(said.values()) > 4


def views_named(one: TrainingSample, asked: TrainingPrompt) -> set[int]:
    text = " ".join(piece for piece in [*one.prefix, asked.prompt] if piece)
    shown = re.findall(r"(upper|lower)(left|right) view", text)
    return {1 + (across == "right") * 2 + (down == "lower") for down, across in shown}


def replies_to(template: str, of: ActiViewQuestion, views: set[int]) -> list[str]:
    """The right reply, as it may be written."""
    needed = ",".join(map(str, sorted(of.needed)))
    if template == "more":
        return ["No" if of.needed <= views else "Yes"]
    if template == "select":
        return [needed]
    if template == "zoom":
        return [json.dumps({"part": needed, "reason": REASON})]
    if template == "operate":
        kept, others = (",".join(map(str, sorted(s))) or "none" for s in (of.needed & views, of.needed - views))
        return [json.dumps({"keep": kept, "shift": others})]
    letter = "ABCDEFG"[of.options.index(of.truth)]
    return [f" {words} Answer: {letter}" for words in meaning(of)]


def meaning(of: ActiViewQuestion) -> list[str]:
    """What an answer may say in a drill's words: the option's own words for it are others."""
    if of.category in ("counting", "event-single"):
        return [of.truth.removeprefix("A ")]
    ways = {"left": "left", "right": "right", "above": "Up|Above", "below": "Down|Below"}
    (way,) = (way for way, word in ways.items() if re.search(word, of.truth))
    return [f"to the {way} of it" if way in ("left", "right") else f"{way} it"]
