"""The images that a model was shown. Replies have their digests; the question and its protocol have the images."""

from __future__ import annotations

from collections.abc import Sequence

from known_unknowns.records import AnsweredTurn, Image, Question
from known_unknowns.report.replies import replay
from known_unknowns.report.tables import Run


def dialogue_images(
    run: Run, model: str, variant: str, question: Question, turns: Sequence[AnsweredTurn]
) -> dict[str, Image]:
    """Return the images of a dialogue by their sha256: those of the question, and those composed for its ``turns``."""
    found = {image.sha256: image for image in question.images}
    if any(sha256 not in found for turn in turns for sha256 in turn.images):
        for turn in replay(run.params, run.benchmark, model, variant, question, turns):
            found |= {image.sha256: image for image in turn.images}
    return found
