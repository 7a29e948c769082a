"""Which pictures a model was shown: replies tell their digests, the question and its protocol the pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from known_unknowns.protocols import bound
from known_unknowns.records import AnsweredTurn, Image, Question, Turn
from known_unknowns.report.tables import Run


def pictures(run: Run, model: str, variant: str, question: Question, turns: Sequence[AnsweredTurn]) -> dict[str, Image]:
    """The pictures of a dialogue, by their sha256. ``turns`` are all of it, in order.

    Most are the question's own; those that were made for a turn (views side by side) are made again.
    """
    found = {image.sha256: image for image in question.images}
    if any(sha256 not in found for turn in turns for sha256 in turn.images):
        for turn in _again(run, model, variant, question, turns):
            found |= {image.sha256: image for image in turn.images}
    return found


def _again(run: Run, model: str, variant: str, question: Question, turns: Sequence[AnsweredTurn]) -> Iterator[Turn]:
    """The turns of the dialogue as the protocol asks them when it hears the same replies."""
    takes = run.params.model(model).images
    dialogue = bound(run.params.protocol(run.benchmark, variant), pictures=takes)(question)
    turn = next(dialogue, None)
    for asked in turns:
        if turn is None:
            return
        yield turn
        try:
            turn = dialogue.send(asked.reply)
        except StopIteration:
            return
