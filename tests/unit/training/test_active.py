"""Lessons in ActiView's form: the prompts are the protocols' own, and what they say is true of the scene."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from known_unknowns import protocols
from known_unknowns.pocket.actiview_scenes import Picture, clues
from known_unknowns.records import Image, Option, Question, Reply
from known_unknowns.scenes import COLOURS, HELD_OUT_PAIRS, SHAPES
from known_unknowns.training.active import VIEWS, active_lesson, questions, scene
from known_unknowns.training.lessons import PICTURE
from known_unknowns.training.patches import PATCH_LABELS

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


def test_needed_views_are_those_that_hold_a_clue():
    found, width, height = scene("clues")
    small = [k for k, thing in enumerate(found.objects) if thing.size == "small"]
    held = clues(Picture("", found, width, height), small)
    assert any(clue != "no" for clue in held)
    for asked in questions("clues", found, width, height):
        assert asked.truth in asked.options
        assert asked.needed <= set(VIEWS)
        assert all(held[view - 1] != "no" for view in asked.needed)


def record(stem: str, options: list[str], needed: list[int]) -> Question:
    """A question of ActiView with seven pictures, as the protocols take it."""
    images = tuple(Image(f"{number}.png", "", 64, 48) for number in range(7))
    lettered = tuple(Option("ABCDEFG"[k], text, f"{'ABCDEFG'[k]}. ") for k, text in enumerate(options))
    extra = {"groundtruth_views": needed, "random_start": 2, "start": {"R": 0, "E": 0, "M": 0, "H": 0}}
    return Question("1", "actiview", stem, lettered, 0, None, images, "", "", extra=extra)


def turns(protocol: str, question: Question, replies: list[str], **settings) -> list[list[str | None]]:
    """The contents of the turns, with `PICTURE` for each picture."""
    talk, found = protocols.PROTOCOLS[protocol](question, **settings), []
    turn = next(talk)
    for said in [*replies, None]:
        pieces = (PICTURE if isinstance(piece, Image) else piece.strip() for piece in turn.content)
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
        ("zoom", "mixed", []),
        ("operate", "mixed", ['{{"part": "{views}"}}']),
        ("text", "text_only_template", []),
    ],
)
def test_prompts_are_those_of_the_protocols(template, protocol, replies):
    for number in range(6):
        one = active_lesson(f"prompts/{number}", template=template, **SIZES)
        for asked in one.exercises:
            ours = [piece for piece in [*one.prefix, asked.prompt] if piece != ""]
            views = re.findall(r"(upper|lower)(left|right) view", " ".join(filter(None, ours)))
            numbers = [1 + (across == "right") * 2 + (down == "lower") for down, across in views]
            stem, options = stem_and_options(one.exercises.index(asked), number)
            question = record(stem, options, numbers)
            if protocol == "shifting":
                question.extra["random_start"] = numbers[0] - 1
                said = ["Yes"] * (len(numbers) - 1) + replies
            else:
                said = [reply.format(views=",".join(map(str, numbers))) for reply in replies]
            assert turns(protocol, question, said)[-1] == ours


def stem_and_options(place: int, number: int) -> tuple[str, list[str]]:
    found, width, height = scene(f"prompts/{number}")
    asked = list(questions(f"prompts/{number}", found, width, height))[place]
    return asked.stem, list(asked.options)


def test_replies_are_true_of_the_question():
    said = Counter()
    for template in ("full", "zoomed", "more", "select", "zoom", "operate"):
        for number in range(8):
            one = active_lesson(f"replies/{number}", template=template, **SIZES)
            found, width, height = scene(f"replies/{number}")
            for asked, about in zip(one.exercises, questions(f"replies/{number}", found, width, height), strict=False):
                needed, reply = ",".join(map(str, sorted(about.needed))), asked.replied
                text = " ".join(piece for piece in [*one.prefix, asked.prompt] if piece)
                shown = re.findall(r"(upper|lower)(left|right) view", text)
                views = {1 + (across == "right") * 2 + (down == "lower") for down, across in shown}
                if template in ("full", "zoomed"):
                    assert reply == f" {about.truth}"
                elif template == "more":
                    assert reply == ("No" if about.needed <= views else "Yes")
                elif template == "select":
                    assert reply == needed
                elif template == "zoom":
                    assert json.loads(reply)["part"] == needed
                else:
                    told = json.loads(reply)
                    keep, shift = ({int(k) for k in told[key].split(",") if k != "none"} for key in ("keep", "shift"))
                    assert (keep, shift) == (about.needed & views, about.needed - views)
                said[template] += 1
    assert min(said.values()) > 20


def test_pictures_are_those_that_the_prefix_has_and_objects_are_found_through_all_of_them():
    for template, pictures in (("full", {1}), ("zoomed", {2, 3, 4}), ("more", {1, 2, 3, 4}), ("text", {0})):
        seen = set()
        for number in range(8):
            one = active_lesson(f"pictures/{number}", template=template, **SIZES)
            assert one.prefix.count(PICTURE) == len(one.pixels) == len(one.patches)
            seen.add(len(one.pixels))
            for shown, anchor in zip(one.shown, one.anchors, strict=True):
                assert (anchor in shown) or (not shown and anchor == -1)
                for place in shown:
                    picture, patch = divmod(place, SIZES["grid"] ** 2)
                    assert one.patches[picture, PATCH_LABELS.index("texture"), patch] > 0
        assert seen <= pictures
