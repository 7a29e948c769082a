"""ActiView in small: one question on one image with its views, and scripted dialogues about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from known_unknowns.benchmark.protocol import Dialogue
from known_unknowns.records import AnsweredTurn, Image, Option, Question, Reply, Turn
from tests.factories import asked_by

IMAGES = ("original", "full", "grid", "ul", "ll", "ur", "lr")
SHA = {name: f"{number:x}" * 64 for number, name in enumerate(IMAGES)}
NAME = {sha: name for name, sha in SHA.items()}


def question(identifier: str = "q", answer: int = 1, **changes: Any) -> Question:
    """ "How many geese?": B is right; the clues are in views 1 and 3; shifting-R starts in view 2 (from 1), -E in 1."""
    size = (1920, 1080)
    values: dict[str, Any] = {
        "id": identifier,
        "benchmark": "actiview",
        "text": "How many geese?",
        "options": tuple(Option(x, text, f"{x}. ") for x, text in zip("ABC", ("Two", "Three", "None"), strict=True)),
        "answer": answer,
        "refusal": None,
        "images": tuple(
            Image(f"images/{name}.png", SHA[name], *(size if name == "original" else (960, 540))) for name in IMAGES
        ),
        "category": "Count-Dis",
        "group": SHA["original"],
        "extra": {
            "question_id": identifier,
            "type": "Type II",
            "distraction": 1,
            "clues": [1, "no", "partial", "no"],
            "groundtruth_views": [1, 3],
            "start": {"E": 0, "M": 2, "H": None},
            "random_start": 1,
            "image_path": "images/geese.jpg",
        },
    }
    return Question(**values | changes)


def converse(name: str, said: Callable[[Turn], str | Reply], asked: Question | None = None, **settings: Any):
    """All turns of a protocol with what ``said`` replies to each."""
    return talk(asked_by(name, asked or question(), **settings), said)


def talk(running: Dialogue, said: Callable[[Turn], str | Reply]) -> list[tuple[Turn, Reply]]:
    """All turns of a dialogue with their replies."""
    pairs, turn = [], next(running)
    while True:
        reply = said(turn)
        pairs.append((turn, reply if isinstance(reply, Reply) else Reply(reply)))
        try:
            turn = running.send(pairs[-1][1])
        except StopIteration:
            return pairs


def recorded(pairs: list[tuple[Turn, Reply]]) -> list[AnsweredTurn]:
    """The turns as the table of replies has them."""
    return [
        AnsweredTurn(
            turn.question_id,
            k,
            turn.step,
            turn.text,
            tuple(i.sha256 for i in turn.images),
            turn.labels,
            f"{turn.question_id}:{k}",
            reply,
        )
        for k, (turn, reply) in enumerate(pairs)
    ]


def scripted(name: str, *replies: str | Reply, **settings: Any) -> list[Turn]:
    """The turns of a protocol that hears these replies, and has to hear all of them and no more."""
    left = list(replies)
    turns = [turn for turn, _ in converse(name, lambda _: left.pop(0), **settings)]
    assert not left, f"the protocol never heard {left}"
    return turns


def shown(turn: Turn) -> list[str]:
    """The names of the images of a turn."""
    return [NAME[image.sha256] for image in turn.images]


def transcript(turns: list[Turn]) -> list[str]:
    """Each turn in one line: its step and its images ("select: grid")."""
    return [f"{turn.step}: {' '.join(shown(turn))}" for turn in turns]


OUT_OF_MEMORY = Reply("", error="out of memory")
