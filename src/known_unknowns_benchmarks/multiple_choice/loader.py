"""Questions of the user's own: from the files of a folder to the records of this project (README.md)."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from known_unknowns.benchmark.checks import Finding, choice_findings
from known_unknowns.benchmark.image_places import IMAGES_IN_TEXT, UNASSIGNED
from known_unknowns.benchmark.images import ImageStore
from known_unknowns.benchmark.interface import Contents
from known_unknowns.config import DataEntry
from known_unknowns.progress import Advance
from known_unknowns.records import Image, Question
from known_unknowns_benchmarks.multiple_choice.drafts import Draft, Drafts, ranges, read_drafts
from known_unknowns_benchmarks.multiple_choice.settings import Settings

NAME = "multiple_choice"
_ID_DIGITS = 12
_SHOWN_TEXTS, _SHOWN_COLUMNS = 5, 10
_FEWEST_PLACES, _LARGEST_SHARE = 10, 0.9
"""From how many answerable questions, and from which share of one place among their right options, it is noted."""


def contents(folder: Path, *, settings: DataEntry | None = None) -> Contents:
    """Count the questions of a folder (`known_unknowns.benchmark.interface.Contents`).

    Raises DataError for all mistakes in the files at once.
    """
    chosen = Settings.of(settings)
    drafts = read_drafts(folder, chosen)
    drafts.check()
    return Contents(
        questions=len(drafts.questions),
        with_refusal=sum(draft.refusal is not None for draft in drafts.questions),
        with_images=sum(bool(draft.images) for draft in drafts.questions),
        notes=(
            refusal_note(drafts, chosen),
            *unused_note(drafts),
            reading_note(drafts),
            *copies_note(drafts),
            *position_note(drafts),
            *(each.text for each in image_findings(drafts)),
        ),
    )


def refusal_note(drafts: Drafts, settings: Settings) -> str:
    """Say which options count as the refusal, and in which rows."""
    texts = drafts.refusal_texts()
    total = len(drafts.questions)
    if not texts:
        return f"none of {total} questions has a refusal option; name it with refusal in params.yaml if they do"
    how = "recognised by its phrasing" if settings.refusals is None else "named in params.yaml"
    parts = []
    for text, count in texts.most_common(_SHOWN_TEXTS):
        numbers = [d.number for d in drafts.questions if d.refusal is not None and d.options[d.refusal].text == text]
        parts.append(f"{text[:80]!r} in {count} (row{'s' * (count > 1)} {ranges(numbers)})")
    more = f", and {len(texts) - _SHOWN_TEXTS} other texts" if len(texts) > _SHOWN_TEXTS else ""
    return f"{sum(texts.values())} of {total} questions have a refusal option, {how}: {', '.join(parts)}{more}"


def image_findings(drafts: Drafts) -> Iterator[Finding]:
    """Count the images that need a choice to be shown."""
    counts = Counter(name for choices in drafts.images.values() for name in choices)
    return choice_findings(counts, len(drafts.images))


def reading_note(drafts: Drafts) -> str:
    """Say which columns the parts of the questions are read from, and what the answers are."""
    used = ", ".join(f"{part}: {' and '.join(sorted(names)) or 'none'}" for part, names in drafts.columns.items())
    return f"{used}; the answers are read as {drafts.answer_is or 'nothing'}"


def unused_note(drafts: Drafts) -> tuple[str, ...]:
    """Name the columns without a use, such as a misspelt one; no note if there are none."""
    if not drafts.unused:
        return ()
    shown = ", ".join(name[:40] for name in drafts.unused[:_SHOWN_COLUMNS])
    more = f" and {len(drafts.unused) - _SHOWN_COLUMNS} more" if len(drafts.unused) > _SHOWN_COLUMNS else ""
    return (f"columns that are not used: {shown}{more}",)


def copies_note(drafts: Drafts) -> tuple[str, ...]:
    """Say how many questions are circular copies of others."""
    copied = Counter(draft.copy_of for draft in drafts.questions if draft.copy_of)
    if not copied:
        return ()
    text = (
        f"{copied.total()} rows are circular copies (MMBench) of {len(copied)} questions: the options in another order"
    )
    return (f"{text}; circular_accuracy counts a question as right if it and all its copies are",)


def position_note(drafts: Drafts) -> tuple[str, ...]:
    """Say if the right option nearly always stands at one place. The refusal as the right option does not count."""
    places = [draft.answer for draft in drafts.questions if draft.answer not in (None, draft.refusal)]
    if len(places) < _FEWEST_PLACES:
        return ()
    ((place, count),) = Counter(places).most_common(1)
    if count < _LARGEST_SHARE * len(places):
        return ()
    share = f"{count} of {len(places)} answerable questions ({100 * count / len(places):.0f}%)"
    text = (
        f"the right option is number {place + 1} in {share}: a model that prefers this place is right without looking"
    )
    return (f"{text}; shuffle the options in the files, or use the numbers of shuffled_options",)


def load(
    raw: Path,
    folder: Path,
    *,
    settings: DataEntry | None = None,
    advance: Advance | None = None,
    workers: int = 1,
) -> Iterator[Question]:
    """Load the files under ``raw`` (`known_unknowns.benchmark.interface.Load`).

    Raises DataError for all mistakes at once, each with its file, row and column.
    """
    chosen = Settings.of(settings)
    with ImageStore(folder, workers=workers) as store:
        drafts = read_drafts(raw, chosen, store=store, advance=advance)
        drafts.check()
    print(refusal_note(drafts, chosen), file=sys.stderr)
    same: Counter[str] = Counter()
    for draft in drafts.questions:
        images = tuple(image for image in draft.images if isinstance(image, Image))
        yield _question(draft, images, draft.id if draft.has_id else _id_of(draft, images, same), chosen)


def _id_of(draft: Draft, images: tuple[Image, ...], same: Counter[str]) -> str:
    """Return the id of a question without one: a digest of what a model is shown, so that it is no matter in which row.

    ``same`` counts the questions with the same content, which get a number. The answer is no part of the content.
    """
    options = [option.line for option in draft.options]
    content = [draft.text, draft.hint, options, [image.sha256 for image in images]]
    found = f"q{sha256(json.dumps(content).encode()).hexdigest()[:_ID_DIGITS]}"
    same[found] += 1
    return found if same[found] == 1 else f"{found}-{same[found]}"


def _question(draft: Draft, images: tuple[Image, ...], name: str, settings: Settings) -> Question:
    extra: dict[str, Any] = {"file": draft.file.name, "row": draft.number, "question_id": name}
    optional: dict[str, Any] = {"hint": draft.hint, "copy_of": draft.copy_of}
    optional |= {"prompt": settings.prompt, "refusal_prompt": settings.refusal_prompt}
    options = draft.options
    if draft.has_marks:
        numbered = draft.numbered_options()
        options = options if numbered is None else numbered
        optional |= {IMAGES_IN_TEXT: True, UNASSIGNED: numbered is None}
    extra |= {key: value for key, value in optional.items() if value}
    return Question(
        id=name,
        benchmark=NAME,
        text=draft.text,
        options=options,
        answer=draft.answer,
        refusal=draft.refusal,
        images=images,
        category=draft.category,
        group=images[0].sha256 if images else f"question {name}",
        extra=extra,
    )
