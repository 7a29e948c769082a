"""The images that a model was shown. Replies have their digests; the question and its protocol have the images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from known_unknowns.benchmark import registry
from known_unknowns.inference.bound_protocols import bound
from known_unknowns.records import AnsweredTurn, Image, Question, Turn
from known_unknowns.report.tables import Run


def dialogue_images(
    run: Run, model: str, variant: str, question: Question, turns: Sequence[AnsweredTurn]
) -> dict[str, Image]:
    """Return the images of a dialogue by their sha256. ``turns`` are all of its turns, in order.

    Most are images of the question. Images that were composed for a turn (views side by side) are composed again.
    """
    found = {image.sha256: image for image in question.images}
    if any(sha256 not in found for turn in turns for sha256 in turn.images):
        for turn in _replay(run, model, variant, question, turns):
            found |= {image.sha256: image for image in turn.images}
    return found


def _replay(run: Run, model: str, variant: str, question: Question, turns: Sequence[AnsweredTurn]) -> Iterator[Turn]:
    """Yield the turns that the protocol asks after the same replies."""
    protocol = bound(
        registry.get(run.benchmark),
        run.params.protocol(run.benchmark, variant),
        parsers=run.params.parsers,
        model=run.params.model(model).asked_in(run.benchmark),
    )
    dialogue = protocol(question)
    turn = next(dialogue, None)
    for asked in turns:
        if turn is None:
            return
        yield turn
        try:
            turn = dialogue.send(asked.reply)
        except StopIteration:
            return
