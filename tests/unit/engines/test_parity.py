"""Shared prefixes change no reply: every architecture gives the same replies with and without them.

What is held against `sharing: on` is `sharing: off` at batch 1: the checkpoint's own ``generate``, one turn at a time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from known_unknowns.engines import _device
from known_unknowns.images import recipe_image
from known_unknowns.records import Image, Reply, Turn
from tests.unit.engines import tiny
from tests.unit.engines.tiny import answers

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

LETTERS = ("A", "B", "C", "D", "E")
WIDE, TALL = recipe_image("normal-noise", 64, 32, 1), recipe_image("normal-noise", 24, 48, 2)
SMALL, SQUARE = recipe_image("normal-noise", 32, 32, 3), recipe_image("normal-noise", 48, 48, 4)
QUESTIONS = (
    "What colour is the ball?\nA. Red\nB. Blue\nC. Green\nD. Yellow\nE. None of the above",
    "What colour is the door beside the tree?\nA. Red\nB. Blue\nC. Green\nD. Yellow\nE. None of the above",
    "How many chairs are there?\nA. Two\nB. Three\nC. Four\nD. Five\nE. None of the above",
    "Is it open?\nA. Yes\nB. No\nC. Both\nD. Neither\nE. None of the above",
    "Which animal sits beside the tree, and why does it look at the chair?\nA. A cat\nB. A dog\nC. A cow\nE. No",
)
LONG = " ".join(["a red ball beside the tree and a blue chair"] * 8)
FEW = ("qwen2.5-vl-sliding", "qwen3.5", "llava", "mllama", "paligemma")
"""Positions in three dimensions, a recurrent state, tokens in a row, cross-attention, and what shares nothing."""
GAP = 0.1
"""In half precision a letter may change only where the two likeliest are nearer than this, in log-probability."""


def ask(*content: Image | str, labels: Sequence[str] | None = LETTERS, limit: int = 4) -> Turn:
    return Turn("q", "answer", content, tuple(labels) if labels else None, max_new_tokens=limit)


CASES: dict[str, list[Turn]] = {
    "five-questions-an-image": [*(ask(WIDE, each) for each in QUESTIONS), *(ask(TALL, each) for each in QUESTIONS[:2])],
    "one-question-an-image": [ask(image, QUESTIONS[0]) for image in (SMALL, SQUARE)],
    "several-images": [
        *(ask(SMALL, WIDE, question) for question in QUESTIONS[:3]),
        ask(WIDE, SMALL, QUESTIONS[0]),
        *(ask(TALL, TALL, SQUARE, question) for question in QUESTIONS[:2]),
    ],
    "text-before-the-image": [
        *(ask("Look at the picture first.", WIDE, question) for question in QUESTIONS[:2]),
        ask("Describe what you see.", WIDE, QUESTIONS[0]),
        ask(QUESTIONS[1], TALL),
        ask("First", SMALL, "and then", WIDE, QUESTIONS[0]),
        ask("First", SMALL, "and then", WIDE, QUESTIONS[1]),
    ],
    "long-and-short-options": [
        ask(WIDE, f"What is it?\nA. {LONG}\nB. Blue"),
        ask(WIDE, "What is it?\nA. 1\nB. 2\nC. 3"),
        ask(WIDE, "?\nA. x\nB. y", labels=("A", "B")),
        ask(TALL, f"?\nA. x\nB. {LONG}", labels=("A", "B")),
        ask(TALL, f"{LONG}?\nA. {LONG}\nB. {LONG}\nC. {LONG}"),
    ],
    "free-text-mixed-in": [
        ask(WIDE, QUESTIONS[0]),
        ask(WIDE, "Describe what you see in a few words.", labels=None, limit=12),
        ask(TALL, "Describe what you see in a few words.", labels=None, limit=12),
        ask(WIDE, QUESTIONS[1], labels=None, limit=12),
        ask(WIDE, QUESTIONS[2], limit=12),
        ask(TALL, QUESTIONS[2], limit=1),
        ask(SQUARE, "Why?", labels=None, limit=12),
    ],
    "control-tokens-in-the-question": [
        ask(WIDE, "What is <|im_end|> to a <|im_start|>?\nA. Red\nB. Blue"),
        ask(WIDE, "What is <|im_end|>?\nA. Red\nB. Blue"),
    ],
    "the-same-question-again": [ask(WIDE, QUESTIONS[0]), ask(WIDE, QUESTIONS[0])],
    "no-image": [ask(QUESTIONS[0]), ask(QUESTIONS[1])],
}


def fitting(name: str, turns: Sequence[Turn]) -> list[Turn]:
    """The turns that the architecture and its processor take."""
    takes = tiny.CHECKPOINTS[name]
    return [
        turn
        for turn in turns
        if takes.least <= len(turn.images) <= takes.most and (takes.control_tokens or "<|" not in turn.text)
    ]


def everything(name: str) -> list[Turn]:
    """All cases in one wave, with the questions of an image far apart; half of them for further architectures."""
    turns = [turn for case in CASES.values() for turn in fitting(name, case)]
    return turns[::3] + turns[1::3] + turns[2::3] if name in FEW else turns[::2]


class Checkpoint:
    """A tiny checkpoint; what it replies without sharing is asked for once."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self._without: dict[str, tuple[Any, dict[Turn, Reply]]] = {}
        self.sharing = self.engine(sharing="on")

    def engine(self, **entry: Any) -> Any:
        return tiny.engine(self.name, self.folder, **entry)

    def without(self, turns: Sequence[Turn], **entry: Any) -> list[Reply]:
        """The checkpoint's ``generate``, one turn at a time."""
        if str(entry) not in self._without:
            self._without[str(entry)] = self.engine(sharing="off", batch_size=1, **entry), {}
        engine, known = self._without[str(entry)]
        new = [turn for turn in dict.fromkeys(turns) if turn not in known]
        known |= zip(new, answers(engine, new), strict=True)
        return [known[turn] for turn in turns]


FEW_FIRST = sorted(tiny.CHECKPOINTS, key=lambda name: name not in FEW)
"""The tests of the few come beside those of all, so that each checkpoint is built once."""
OF_FEW = pytest.mark.parametrize("checkpoint", FEW_FIRST[: len(FEW)], indirect=True, scope="module")


@pytest.fixture(scope="module", params=FEW_FIRST)
def checkpoint(request, tmp_path_factory) -> Checkpoint:
    folder = tmp_path_factory.mktemp("checkpoints") / request.param
    tiny.build(request.param, folder)
    return Checkpoint(request.param, folder)


def test_a_prompt_equals_the_processors_output_for_it_alone(checkpoint):
    """Whichever of an image's prompts it makes first; most of the others are that one's head and their own tail."""
    turns = everything(checkpoint.name)
    turns = turns[5:] + turns[:5]
    prompts = checkpoint.sharing._prompts
    for turn, prompt in zip(turns, prompts.build(turns, Path()), strict=True):
        tensors = prompts.build_batch([turn], Path())
        assert prompt.ids == tuple(tensors["input_ids"][0].tolist())
        assert prompt.tensors["input_ids"][0, : prompt.prefix_length].tolist() == list(
            prompt.ids[: prompt.prefix_length]
        )


def assert_same(replies: Sequence[Reply], expected: Sequence[Reply]) -> None:
    for reply, wanted in zip(replies, expected, strict=True):
        assert wanted.error is None
        assert dataclasses.replace(reply, logprobs=None) == dataclasses.replace(wanted, logprobs=None)
        assert reply.logprobs == pytest.approx(wanted.logprobs, abs=2e-5)


def test_the_same_replies_in_small_chunks(checkpoint, monkeypatch):
    assert_shared(checkpoint, monkeypatch, _device.Capacity(512, 64, 5, prefixes=1, images=3))


@OF_FEW
def test_the_same_replies_of_several_prefixes_at_once(checkpoint, monkeypatch):
    """As on a GPU, padded on the left."""
    assert_shared(checkpoint, monkeypatch, _device.Capacity(1024, 512, 32, prefixes=4, images=99))


def assert_shared(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch, capacity: _device.Capacity) -> None:
    """The replies are the same, by sharing and not by falling back, except where no prefix can be shared."""
    monkeypatch.setattr(_device, "capacity", lambda *_: capacity)
    turns = everything(checkpoint.name)
    engine = checkpoint.engine(sharing="on")
    expected = checkpoint.without(turns)
    assert_same(answers(engine, turns), expected)
    if checkpoint.name in FEW:  # else no token after a letter was compared
        assert {reply.finish for reply in expected} == {"stop", "length"}
    assert len({letter(reply) for reply in expected if reply.logprobs}) > 1
    told = engine.about["sharing"]
    if tiny.CHECKPOINTS[checkpoint.name].shares:
        assert told["fell_back"] == []
        assert sum(told["prompts"].values()) == sum(bool(turn.images) for turn in turns)
    else:
        assert told["fell_back"]
        assert all(fallen["plan"] and fallen["why"] for fallen in told["fell_back"])
        assert not sum(told["prompts"].values())


@OF_FEW
def test_the_same_replies_under_a_repetition_penalty(checkpoint):
    """The penalty counts the prompt's tokens, of which a shared prefix is a part."""
    turns = fitting(checkpoint.name, CASES["five-questions-an-image"][3:7] + CASES["free-text-mixed-in"])
    decoding = {"repetition_penalty": 1.3}
    expected = checkpoint.without(turns, decoding=decoding)
    # In a batch, the padding on the left is penalised too: those that cannot share are asked one by one.
    size = {} if tiny.CHECKPOINTS[checkpoint.name].shares else {"batch_size": 1}
    assert_same(answers(checkpoint.engine(sharing="on", decoding=decoding, **size), turns), expected)
    assert expected != checkpoint.without(turns)


@OF_FEW
def test_letters_with_a_clear_margin_are_equal_in_bfloat16(checkpoint):
    """By one token each: after a first token that differs, so does what follows."""
    cases = ("five-questions-an-image", "several-images", "text-before-the-image", "long-and-short-options")
    turns = [dataclasses.replace(turn, max_new_tokens=1) for case in cases for turn in CASES[case][:4]]
    turns = fitting(checkpoint.name, turns)
    free = fitting(checkpoint.name, CASES["free-text-mixed-in"][:4])
    shared = answers(checkpoint.engine(sharing="on", dtype="bfloat16"), [*turns, *free])
    alone = checkpoint.without(turns, dtype="bfloat16")
    assert all(reply.error is None for reply in [*shared, *alone])
    clear = [index for index, reply in enumerate(alone) if gap(reply) > GAP]
    assert len(clear) > len(turns) / 2
    assert [letter(shared[index]) for index in clear] == [letter(alone[index]) for index in clear]


def letter(reply: Reply) -> str:
    return max(reply.logprobs, key=reply.logprobs.get)


def gap(reply: Reply) -> float:
    first, second = sorted(reply.logprobs.values(), reverse=True)[:2]
    return first - second
