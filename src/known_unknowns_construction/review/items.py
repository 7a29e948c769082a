"""What is reviewed: candidates, a benchmark's questions, or a model's wrong answers, with their images."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from known_unknowns import tables
from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.errors import DataError
from known_unknowns.images import COMPOSITES, RECIPES, decode, files_of, has_pixels, open_image, read_file, web_type
from known_unknowns.records import ABSTAINED, CUT, FAILED, REFUSED, UNPARSED, Image, Question
from known_unknowns.tables import Part
from known_unknowns_construction.candidates import Candidate, SceneObject, read_candidates
from known_unknowns_construction.review.decisions import Content, content_of

QUESTIONS, ERRORS = "questions", "errors"
"""The two kinds of review: questions are kept, modified or deleted; wrong answers get a tag."""


@dataclass(frozen=True, slots=True)
class ItemImage:
    """An image of an item. ``read`` returns the bytes of an image file, and raises DataError if there are none."""

    width: int
    height: int
    sha256: str
    read: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """The reply of a model that is tagged, what the parser made of it, and the label that it found ("" without one)."""

    reply: str
    outcome: str
    choice: str


@dataclass(frozen=True, slots=True)
class Item:
    """One question to review."""

    id: str
    group: str
    category: str
    content: Content
    images: tuple[ItemImage, ...]
    objects: tuple[SceneObject, ...] = ()  # objects of the first image to outline
    flags: tuple[tuple[str, str], ...] = ()  # name of a filter, and its reason
    facts: Mapping[str, str] = field(default_factory=dict)  # further texts to show, by name
    wrong: WrongAnswer | None = None  # for reviews of errors


@dataclass(frozen=True, slots=True)
class Source:
    """A list of items with a title.

    ``kind`` is "questions" or "errors". ``needs_reason`` says whether a modification needs a reason, as a correction of
    a published question does.
    """

    title: str
    kind: str
    items: Sequence[Item]
    needs_reason: bool = False


def candidate_source(path: str | Path) -> Source:
    """Return the candidates of a file as items. Raises DataError if a line is no candidate, or there are none."""
    path = Path(path)
    items = [_of_candidate(candidate, path.parent) for candidate in read_candidates(path)]
    if not items:
        raise DataError("the file has no candidates", file=path)
    return Source(path.name, QUESTIONS, items)


def _of_candidate(candidate: Candidate, folder: Path) -> Item:
    image, file = candidate.image, folder / candidate.image.path
    facts = {"licence of the image": image.licence or "not known"}
    facts |= {name: str(value) for name, value in candidate.source.items() if isinstance(value, str | int)}
    return Item(
        id=candidate.id,
        group=candidate.group,
        category=candidate.kind,
        content=content_of(candidate),
        images=(ItemImage(image.width, image.height, image.sha256, lambda: read_file(file, image.sha256)),),
        objects=candidate.objects,
        flags=tuple((flag.filter, flag.reason) for flag in candidate.flags),
        facts=facts,
    )


def servable(image: ItemImage, *, name: str) -> tuple[bytes, str]:
    """Return an image as bytes of which a browser shows what models get, and their media type.

    Raises DataError if it cannot be read or does not decode (`known_unknowns.images.decode`).
    """
    data = image.read()
    pixels = decode(data, file=name)
    media_type = web_type(data, file=name)
    if media_type is None:
        buffer = BytesIO()
        pixels.save(buffer, "PNG")
        return buffer.getvalue(), "image/png"
    return data, media_type


_FLAGS = {
    UNPARSED: ("parser", "the parser found no option in the reply"),
    CUT: ("cut", "the length limit ended the reply before an answer"),
    ABSTAINED: ("abstained", "the reply says that it cannot answer, and chooses no option"),
    REFUSED: ("over-refusal", "the model refused, but an option is correct"),
}
_SHOWN_COLUMNS = ("models", "right", "refused", "abstained", "top", "top_count")


def content_of_question(question: Question) -> Content:
    """Return the content of a published question."""
    answer = None if question.answer is None else question.labels[question.answer]
    return Content(question.text, question.labels, tuple(option.text for option in question.options), answer)


def benchmark_source(title: str, questions: Path, *, listed: Path | None = None) -> Source:
    """Return a benchmark's questions as items; images are in the folder of the table ``questions``.

    ``listed`` is a CSV file with a column ``id``: the questions to review, in this order. Its other columns are shown,
    and a row of ``all_wrong.csv`` becomes a flag. Raises DataError if a file cannot be read, or an id is not one of the
    questions.
    """
    every = tables.read_questions(questions)
    if listed is None:
        return Source(title, QUESTIONS, [_of_question(question, questions.parent) for question in every], True)
    by_id = {question.id: question for question in every}
    items = []
    for row, values in enumerate(_rows(listed)):
        question = by_id.get(values["id"])
        if question is None:
            message = f"question {values['id']!r} is not one of the {len(every)} questions of {questions}"
            raise DataError(message, file=listed, row=row)
        items.append(_of_question(question, questions.parent, values))
    return Source(f"{title}: {listed.name}", QUESTIONS, items, True)


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"cannot read the list of questions: {error}", file=path) from error
    if not rows or "id" not in rows[0]:
        raise DataError("the list of questions is empty, or has no column 'id'", file=path)
    first: dict[str, dict[str, str]] = {}
    for row in rows:
        first.setdefault(row["id"], row)
    return list(first.values())


def _of_question(question: Question, folder: Path, listed: Mapping[str, str] | None = None) -> Item:
    shown = {name: listed[name] for name in _SHOWN_COLUMNS if listed.get(name)} if listed else {}
    flags = []
    if shown.get("right") == "0" and {"models", "top", "top_count"} <= shown.keys():
        chosen = f"{shown['top_count']} of {shown['models']} models chose {shown['top']}"
        flags.append(("models", f"no model chose the published answer; {chosen}"))
    return Item(
        id=question.id,
        group=question.group,
        category=question.category,
        content=content_of_question(question),
        images=tuple(_image(image, folder) for image in question.images if has_pixels(image)),
        flags=tuple(flags),
        facts=shown,
    )


def _image(image: Image, folder: Path) -> ItemImage:
    return ItemImage(image.width, image.height, image.sha256, _reader(image, folder))


def _reader(image: Image, folder: Path) -> Callable[[], bytes]:
    """A function that returns the bytes of a question's image: those of its file, or a PNG of a recipe."""
    for name in files_of(image):
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise DataError(f"the image path {name!r} leaves the folder of the questions", file=folder)
    if image.source.partition(":")[0] in RECIPES | COMPOSITES:
        return lambda: _png(image, folder)
    return lambda: read_file(folder / image.source, image.sha256)


def _png(image: Image, folder: Path) -> bytes:
    buffer = BytesIO()
    open_image(image, folder).save(buffer, "PNG")
    return buffer.getvalue()


def error_source(
    title: str,
    questions: Part,
    answers: Part,
    replies: Part,
    *,
    images: Path,
    parser: str,
    sample: int | None = None,
    seed: int = 0,
) -> Source:
    """Return the wrong answers of a model, by a parser, as items.

    ``questions``, ``answers`` and ``replies`` are rows of the same variant and seed, ``images`` is the folder of the
    images. The items have the order of the questions. A ``sample`` of so many has a random order, so that its first
    ones are a sample too. Raises DataError if a table cannot be read, or no answer is wrong.
    """
    asked = {question.id: question for question in tables.read_questions(questions)}
    parsed = tables.read_answers(answers, ["question_id", "parser", "outcome", "label", "choice", "correct"])
    failed = parsed["outcome"] == FAILED  # a failed request is no error of the model
    is_wrong = (parsed["parser"] == parser) & ~parsed["correct"] & ~failed
    wrong = list(parsed[is_wrong].itertuples(index=False))
    unknown = next((answer.question_id for answer in wrong if answer.question_id not in asked), None)
    if unknown is not None:
        raise DataError(f"question {unknown!r} is not one of {questions}; score again", file=answers)
    if not wrong:
        raise DataError(f"no answer is wrong by the parser {parser!r}", file=answers)
    if sample is not None and sample < len(wrong):
        wrong = random.Random(seed).sample(wrong, sample)
    texts = {turn.question_id: turn.reply.text for turn in tables.read_replies(replies) if turn.step == ANSWER}
    items = [
        _of_error(asked[answer.question_id], answer, texts.get(answer.question_id, ""), images) for answer in wrong
    ]
    return Source(title, ERRORS, items)


def _of_error(question: Question, answer: Any, reply: str, folder: Path) -> Item:
    """The item of a wrong answer, which is a row of the table of answers."""
    item = _of_question(question, folder)
    flags = [_FLAGS[answer.outcome]] if answer.outcome in _FLAGS else []
    if not flags and question.refusal is not None and question.answer == question.refusal:
        flags = [("under-refusal", "the model chose an option, but refusing is correct")]
    wrong = WrongAnswer(reply, answer.outcome, _label(question, answer))
    return replace(item, flags=tuple(flags), wrong=wrong)


def _label(question: Question, answer: Any) -> str:
    if pd.notna(answer.choice) and 0 <= answer.choice < len(question.labels):
        return question.labels[int(answer.choice)]
    return "" if pd.isna(answer.label) else answer.label
