"""Worked cases of ActiView as image strips (the paper's Figure 5): the images and replies of each turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from known_unknowns.benchmark.protocol import ANSWER, VIEW
from known_unknowns.images import has_pixels
from known_unknowns.records import AnsweredTurn, Image, Question
from known_unknowns.report import shown_images
from known_unknowns.report.replies import LONGEST_REPLY, ParsedAnswer, Thumbnail, printable, thumbnail
from known_unknowns.report.tables import Run, parser_name
from known_unknowns_benchmarks.actiview.metrics import WITHOUT
from known_unknowns_benchmarks.actiview.outcomes import Outcomes
from known_unknowns_benchmarks.actiview.prompts import shown_views
from known_unknowns_benchmarks.actiview.protocols import CAPTION, MORE, OPERATE, SELECT, ZOOM
from known_unknowns_benchmarks.actiview.views import NAMES

if TYPE_CHECKING:
    import pandas as pd

STEPS = {
    SELECT: "Chooses views",
    MORE: "Needs more?",
    ZOOM: "Zooms",
    OPERATE: "Keeps or shifts",
    VIEW: "Answers from this view",
    ANSWER: "Answers",
    CAPTION: "Describes",
}
PIPELINES = (("zooming",), ("shifting_r", "shifting_h", "shifting_m", "shifting_e"), ("mixed",))
"""Groups of pipelines. There is one strip for the first pipeline of each group that was run, as in Figure 5."""
MOST_PANELS = 20
"""With four views, only pipelines that describe images have more turns."""
_LARGEST = (240, 240)  # pixels of an image
_IMAGES = ("original", "full image", "full image with its grid")
_COMPOSED = "images side by side"


@dataclass(frozen=True, slots=True)
class Panel:
    """One turn: its images, its prompt, and its reply, of which ``cut`` characters are left out."""

    step: str
    images: tuple[Thumbnail, ...]
    asked: str
    reply: str
    cut: int
    error: str | None


@dataclass(frozen=True, slots=True)
class Strip:
    """One dialogue. ``parsed_answers`` are those of its last turn; ``without`` is the answer without these views."""

    pipeline: str
    model: str
    question: Question
    panels: tuple[Panel, ...]
    left_out: int
    parsed_answers: tuple[ParsedAnswer, ...]
    without: ParsedAnswer | None


def worked_cases(run: Run, outcomes: Outcomes, *, data: Path, salt: int = 0) -> list[Strip]:
    """Return one case for each of `PIPELINES`, for the first model that is not scripted, if there is one.

    Cases that are right only with the views come first, then right ones, each in an order that
    ``salt`` draws; dialogues without any view come last. Raises DataError for an absent image.
    """
    model = _model(run)
    if model is None:
        return []
    folder = data / "questions" / run.benchmark
    found = []
    for names in PIPELINES:
        variant = next((name for name in names if name in run.variants), None)
        dialogues = None if variant is None else outcomes.dialogues(model, variant)
        if variant is not None and dialogues:
            right, without = (outcomes.right(model, v, run.main_parser) for v in (variant, WITHOUT.get(variant, "")))
            question, turns = min(dialogues, key=lambda d: _rank(*d, right, without, f"{salt}:{variant}"))
            found.append(_strip(run, outcomes, model, variant, question, turns, folder))
    return found


def _model(run: Run) -> str | None:
    asked = [model for model in run.models if not run.params.is_imported(model)]
    models = [model for model in asked if run.params.model(model).engine != "respondent"]
    return next(iter([*models, *asked]), None)


def _rank(
    question: Question, turns: Sequence[AnsweredTurn], right: pd.Series | None, without: pd.Series | None, salt: str
) -> tuple[bool, bool, bool, str]:
    """Return the sort key of a dialogue. The smallest is shown."""
    looked = any(shown_views(turn.text, question) for turn in turns if turn.step in (ANSWER, VIEW))
    was_right = right is not None and right[question.id] >= 0.5
    needed = was_right and without is not None and without[question.id] < 0.5
    drawn = sha256(f"{salt}:{question.id}".encode()).hexdigest()
    return not looked, not needed, not was_right, drawn


def _strip(
    run: Run,
    outcomes: Outcomes,
    model: str,
    variant: str,
    question: Question,
    turns: Sequence[AnsweredTurn],
    folder: Path,
) -> Strip:
    images = shown_images.dialogue_images(run, model, variant, question, turns)
    parsed_answers = (
        _read(outcomes, model, variant, parser, question, parser_name(parser))
        for parser in run.parsers
        if parser != "likelihood"  # a strip shows replies
    )
    start = WITHOUT.get(variant, "")
    return Strip(
        pipeline=run.section.name(variant),
        model=model,
        question=question,
        panels=tuple(_panel(turn, question, images, folder) for turn in turns[:MOST_PANELS]),
        left_out=max(0, len(turns) - MOST_PANELS),
        parsed_answers=tuple(answer for answer in parsed_answers if answer is not None),
        without=_read(outcomes, model, start, run.main_parser, question, f"from the {run.section.name(start)} alone"),
    )


def _read(
    outcomes: Outcomes, model: str, variant: str, parser: str, question: Question, label: str
) -> ParsedAnswer | None:
    right = outcomes.right(model, variant, parser)
    if right is None:
        return None
    was_right = bool(right[question.id] >= 0.5)
    return ParsedAnswer(label, "right" if was_right else "wrong", was_right)


def _panel(turn: AnsweredTurn, question: Question, images: dict[str, Image], folder: Path) -> Panel:
    shown = [images[digest] for digest in turn.images if digest in images and has_pixels(images[digest])]
    said, error = turn.reply.text, turn.reply.error
    return Panel(
        step=STEPS.get(turn.step, turn.step),
        images=tuple(thumbnail(image, folder, largest=_LARGEST, alt=_name(image, question, turn)) for image in shown),
        asked=printable(turn.text),
        reply=printable(said[:LONGEST_REPLY]),
        cut=max(0, len(said) - LONGEST_REPLY),
        error=None if error is None else printable(error[:LONGEST_REPLY]),
    )


def _name(image: Image, question: Question, turn: AnsweredTurn) -> str:
    """Return the caption of an image ("view 1, upper-left"), or those of images side by side."""
    digests = [other.sha256 for other in question.images]
    if image.sha256 in digests:
        place = digests.index(image.sha256)
        if place < len(_IMAGES):
            return _IMAGES[place]
        number = place - len(_IMAGES) + 1
        return f"view {number}, {NAMES[number - 1]}"
    views = shown_views(turn.text, question)
    return f"{_COMPOSED}: views {', '.join(map(str, views))}" if views else _COMPOSED
