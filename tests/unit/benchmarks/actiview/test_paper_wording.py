"""The prompts of ActiView's Appendix I: the text of every turn, typed from the paper, and the course of the dialogues."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from known_unknowns.records import AnsweredTurn, Reply, Turn
from known_unknowns_benchmarks.actiview.metrics import DialogueViews
from known_unknowns_benchmarks.actiview.parsing import Selection, parse_missing
from known_unknowns_benchmarks.actiview.protocols import expected_reply
from tests.factories import right
from tests.unit.benchmarks.actiview.perceiving import NAME, converse, question, scripted, transcript

QUESTION = "How many geese?"
OPTIONS = "A. Two; B. Three; C. None"
PARTS = "1 is the upper-left part, 2 is the lower-left part, 3 is the upper-right part, and 4 is the lower-right part"


def text(turn: Turn) -> str:
    """The prompt with the name of each image in its place."""
    return "".join(part if isinstance(part, str) else f"<{NAME[part.sha256]}>" for part in turn.content)


def asked(name: str, *said: str | Reply, **settings: str) -> list[str]:
    return [text(turn) for turn in scripted(name, *said, **({"wording": "paper"} | settings))]


def test_mixed():
    zoom, operate, answer = asked("mixed", '{"part": "3,1"}', '{"zoom_keep": "3", "shift": "2"}', "B")
    assert zoom == (
        "You will be presented with a full image <grid> and a corresponding question to answer. The image is split in to 4 "
        f"equal parts, numbered from 1 to 4, where {PARTS}.\n"
        "You can check for detailed visual information via zooming operation that zoom in to your selected part or parts "
        "iwth from the above numbers. Response with the the numbers of parts you wish to zoom in, or response with "
        '"none" if you don\'t need to can check for details.\n'
        f"The quesiton is: {QUESTION}\n"
        "You should not directly answer the question. You should generate the a json dict containing 2 fields:\n"
        '- "part": type str, the selected numbers of index of parts, split by ",", or \'none\' if no zooming required;\n'
        '- "reason": type str, why you choose these parts.\n'
        "Your response:"
    )
    assert operate == (
        "You will be presented with a partial image and a question concerning the full image. image 0 is <ur>, is the "
        "upper-right part of the full image, image 1 is <ul>, is the upper-left part of the full image. Given image 0, image 1, "
        f"please determine if you need more visual information to answer the question: {QUESTION}\n"
        "===\n"
        "Your are given a full image <grid> and a corresponding question to answer. The image is split in to 4 equal parts, "
        f"numbered from 1 to 4, where {PARTS}. Your have chosen to zoom in to these parts, <ur>, the upper-right view, <ul>, "
        "the upper-left view, for detailed checking if they can help to ansewr the quesiton.\n"
        f'Question: {QUESTION} Options: {OPTIONS}. Now, there are two operations: "keep" and "shift".\n'
        '- "keep": choose none or more parts from the zoomed ones to answer the question;\n'
        '- "shift": you can shift to the rest parts to answer questions or answer question with none sub-parts.\n'
        "You should not directly answer the question. You should return you answer in a json dict containing two fields:\n"
        '- "zoom_keep": type str, the index numbers of required parts split by ",", or "none" if the zoomed parts are useless;\n'
        '- "shift": type str, the index numbers of the rest parts, that are useful to the question split by ",", or "none" if '
        "you don't wish to shift.\n"
        "Your response:"
    )
    assert answer == (
        "<grid>Image 0 is the full image. <ll><ur> image 1 is the lower-left view, image 2 is the upper-right view. These are "
        "your selected part of image that must be used to answer the question. Please answer question according to the given "
        f"images from the the given options. Question: {QUESTION} Options: {OPTIONS}. Answer:"
    )
    assert asked("mixed", '{"part": "none"}', "B")[1].startswith("Carefully analysis this image <grid>, and answer")


TRANSCRIPTS = [
    # protocol, settings, what is said, what is asked
    ("shifting", {}, ["NO", "B"], ["more: ll", "answer: ll"]),
    ("shifting", {}, ["upper-left, lower-right", "no", "B"], ["more: ll", "more: ll ul lr", "answer: ll ul lr"]),
    ("shifting", {}, ["Lower-right", "NO", "B"], ["more: ll", "more: ll lr", "answer: ll lr"]),
    ("shifting", {}, ["lower-left", "NO", "B"], ["more: ll", "more: ll ur", "answer: ll ur"]),  # shown: the next one
    ("shifting", {}, ["Yes.", "NO", "B"], ["more: ll", "more: ll ur", "answer: ll ur"]),
    ("shifting", {}, ["NO.", "NO", "B"], ["more: ll", "more: ll ur", "answer: ll ur"]),  # only "no" stops
    ("shifting", {"parser": "robust"}, ["NO.", "B"], ["more: ll", "answer: ll"]),
    ("shifting", {"parser": "robust"}, ["None", "B"], ["more: ll", "answer: ll"]),
    (
        "shifting",
        {},
        ["upper-left, upper-right, lower-right", "B"],  # nothing is left to choose from
        ["more: ll", "answer: ll ul ur lr"],
    ),
    ("shifting", {"level": "E"}, ["?", "?", "?", "B"], ["more: ul", "more: ul ll", "more: ul ll ur", "answer: ul ll ur lr"]),
    ("mixed", {}, ['{"part": "none"}', "B"], ["zoom: grid", "answer: grid"]),
    ("mixed", {}, ['{"part": "7"}', "B"], ["zoom: grid", "answer: grid"]),  # no view to examine
    (
        "mixed",
        {},
        ['{"part": "1"}', '{"keep": "none", "shift": "none"}', "B"],  # not the field that was asked for
        ["zoom: grid", "operate: ul grid ul", "answer: grid ul"],
    ),
    (
        "mixed",
        {"parser": "robust"},
        ['{"part": "1"}', '{"keep": "none", "shift": "none"}', "B"],
        ["zoom: grid", "operate: ul grid ul", "answer: grid"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "settings", "said", "expected"), TRANSCRIPTS)
def test_transcripts(name, settings, said, expected):
    turns = scripted(name, *said, wording="paper", **settings)
    assert transcript(turns) == expected
    assert turns[-1].labels == ("A", "B", "C") and right(question(), turns[-1]) == "B"


def test_replies_to_the_examination():
    assert parse_missing("NO", [2], 4, "official") == Selection((), answers=True)
    assert parse_missing("upper-right and lower-right", [2], 4, "official") == Selection((3, 4))
    assert parse_missing("the lower-left part", [2], 4, "robust") == Selection((), valid=False)  # shown before
    assert parse_missing("I need to see the upper-left part.", [2], 4, "robust") == Selection((1,))
    assert parse_missing("No, I can answer it.", [2], 4, "robust") == Selection((), answers=True)
    assert parse_missing("A. Two", [2], 4, "official") == Selection((), valid=False)
    for parser in ("official", "robust"):  # an empty reply does not say "NO"
        assert parse_missing("", [2], 4, parser) == Selection((), valid=False)


def recorded(pairs: list[tuple[Turn, Reply]]) -> list[AnsweredTurn]:
    return [
        AnsweredTurn("q", k, turn.step, turn.text, tuple(i.sha256 for i in turn.images), turn.labels, str(k), reply)
        for k, (turn, reply) in enumerate(pairs)
    ]


@pytest.mark.parametrize("parser", ["official", "robust"])
def test_expected_replies_lead_to_the_annotated_views(parser):
    """The clues are in views 1 and 3; shifting starts in view 2, and asks for both at once."""

    def perfect(turn: Turn) -> str:
        return "B" if turn.labels else expected_reply(question(), turn)

    asked_for = {
        "zooming": ["select: grid", "answer: full ul ur"],
        "shifting": ["more: ll", "more: ll ul ur", "answer: ll ul ur"],
        "mixed": ["zoom: grid", "operate: ul ur grid ul ur", "answer: grid ul ur"],
    }
    for name, expected in asked_for.items():
        pairs = converse(name, perfect, question(), wording="paper", parser=parser)
        assert transcript([turn for turn, _ in pairs]) == expected
        assert all(one.valid for one in DialogueViews.of(question(), recorded(pairs), parser).selections)


def test_invalid_selections_of_the_examination_are_counted():
    def selections(*said: str, wording: str) -> tuple[bool, ...]:
        left = list(said)
        pairs = converse("shifting", lambda _: left.pop(0), question(), wording=wording)
        found = DialogueViews.of(question(), recorded(pairs), "official").selections
        return tuple(selection.valid for selection in found)

    assert selections("what?", "upper-left", "NO", "B", wording="paper") == (False, True, True)
    assert selections("what?", "no", "B", wording="toolkit") == ()  # yes or no selects no view
