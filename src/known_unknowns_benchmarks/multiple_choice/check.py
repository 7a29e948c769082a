"""What the user's files hold: numbers, every mistake, recognised refusals and columns (``known-unknowns check``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from known_unknowns.benchmark.checks import ERROR, NOTE, WARNING, Finding, Quantity, leaks, reference_findings
from known_unknowns.benchmark.image_places import has_mark
from known_unknowns.benchmark.question_text import COLUMNS, SHAPES
from known_unknowns.config import DataEntry
from known_unknowns_benchmarks.multiple_choice.drafts import Draft, Drafts, read_drafts
from known_unknowns_benchmarks.multiple_choice.loader import (
    copies_note,
    image_findings,
    position_note,
    reading_note,
    refusal_note,
)
from known_unknowns_benchmarks.multiple_choice.refusals import plain
from known_unknowns_benchmarks.multiple_choice.settings import Settings


def check(raw: Path, *, settings: DataEntry | None = None) -> tuple[Sequence[Quantity], Sequence[Finding]]:
    """Check the files (`known_unknowns.benchmark.interface.Check`)."""
    chosen = Settings.of(settings)
    drafts = read_drafts(raw, chosen)
    findings = [Finding(ERROR, "row", "", line) for line in drafts.lines()]
    findings += [finding for draft in drafts.questions for finding in _of_question(draft)]
    findings += [*_repeated(drafts), *image_findings(drafts)]
    findings.append(Finding(NOTE, "refusal", "", refusal_note(drafts, chosen)))
    findings += [Finding(NOTE, "circular-copies", "", text) for text in copies_note(drafts)]
    findings += [Finding(WARNING, "answer-place", "", text) for text in position_note(drafts)]
    for part, names in COLUMNS.items():
        shapes = [f"{name} ({content})" for name, content in SHAPES.items()] if part == "options" else []
        findings.append(Finding(NOTE, "accepted", part, "; ".join([f"columns {', '.join(names)}", *shapes])))
    findings.append(Finding(NOTE, "columns", "", reading_note(drafts)))
    return _quantities(drafts), findings


def _quantities(drafts: Drafts) -> list[Quantity]:
    questions = drafts.questions
    numbers = {
        "questions": len(questions),
        "questions with a refusal option": sum(d.refusal is not None for d in questions),
        "questions whose right option is the refusal": sum(d.refusal == d.answer is not None for d in questions),
        "questions without an image": sum(not d.images for d in questions),
        "questions that shuffles and nota_only leave out": sum(any(_left_out(d)) for d in questions),
    }
    options = Counter(len(draft.options) for draft in questions)
    numbers |= {f"questions with {count} options": number for count, number in sorted(options.items())}
    categories = Counter(draft.category for draft in questions)
    numbers |= {f"category {name}": number for name, number in categories.items()}
    return [Quantity(name, float(number)) for name, number in numbers.items()]


def _of_question(draft: Draft) -> Iterator[Finding]:
    where = f"{draft.file.name}, row {draft.number}"
    texts = Counter(plain(option.text) for option in draft.options if not (draft.has_marks and has_mark(option.text)))
    for text, count in texts.items():
        if count > 1:
            yield Finding(WARNING, "option-twice", where, f"{count} options read {text!r}")
    for text in leaks(draft.options):
        yield Finding(NOTE, "leak", where, text)
    yield from _left_out(draft)


def _left_out(draft: Draft) -> Iterator[Finding]:
    """Why variants that move or remove options leave the question out."""
    where = f"{draft.file.name}, row {draft.number}"
    yield from reference_findings(draft.options, refusal=draft.refusal, where=where)
    if draft.has_marks and draft.numbered_options() is None:
        text = (
            f"it cannot be told which of {len(draft.images)} images the options have; shuffles and nota_only leave the "
            "question out. Number the images in the texts (<image 1>), or give each image one mark (<image>)"
        )
        yield Finding(WARNING, "image-owner", where, text)


def _repeated(drafts: Drafts) -> Iterator[Finding]:
    """Questions with the same text and options; they may be on different images."""
    places: dict[tuple[str, ...], str] = {}
    for draft in drafts.questions:
        key = (draft.text, *(option.line for option in draft.options))
        where = f"{draft.file.name}, row {draft.number}"
        if key in places:
            text = f"the same question and options as {places[key]}"
            yield Finding(NOTE, "question-twice", where, f"{text}; a question on the same image would count twice")
        places.setdefault(key, where)
