"""The turns that a model saw, with the images that its protocol composed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from known_unknowns.benchmark import registry
from known_unknowns.inference.bound_protocols import bound
from known_unknowns.records import AnsweredTurn, Question, Turn

if TYPE_CHECKING:
    from known_unknowns.config import Params


def replay(
    params: Params, benchmark: str, model: str, variant: str, question: Question, turns: Sequence[AnsweredTurn]
) -> Iterator[Turn]:
    """Yield the turns that the protocol asks after the same replies, with their images.

    Recorded turns have the digests of their images alone, and a protocol can compose images (views side by side).
    """
    protocol = bound(
        registry.get(benchmark),
        params.protocol(benchmark, variant),
        parsers=params.parsers,
        model=params.model(model).asked_in(benchmark),
        confidence=params.confidence,
    )
    dialogue = protocol(question)
    turn = next(dialogue, None)
    for answered in turns:
        if turn is None:
            return
        yield turn
        try:
            turn = dialogue.send(answered.reply)
        except StopIteration:
            return
