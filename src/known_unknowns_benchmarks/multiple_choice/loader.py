"""Questions of the user's own: from the files of a folder to the records of this project (README.md)."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

from known_unknowns.benchmark.checks import Finding, choice_findings
from known_unknowns.benchmark.images import ImageStore
from known_unknowns.benchmark.interface import Contents
from known_unknowns.benchmark.protocol import IMAGE_PLACE, IMAGES_IN_TEXT
from known_unknowns.config import DataEntry
from known_unknowns.errors import DataError
from known_unknowns.progress import Advance
from known_unknowns.records import Image, Question
from known_unknowns_benchmarks.multiple_choice.drafts import Draft, Drafts, images_of, ranges, read_drafts, with_rows
from known_unknowns_benchmarks.multiple_choice.options import ColumnError
from known_unknowns_benchmarks.multiple_choice.settings import Settings
from known_unknowns_benchmarks.multiple_choice.table_files import SourceRow, question_files

NAME = "multiple_choice"
_ID_DIGITS = 12
_SHOWN_TEXTS, _SHOWN_COLUMNS = 5, 10


def contents(folder: Path, *, settings: DataEntry | None = None) -> Contents:
    """Count the questions of a folder (`known_unknowns.benchmark.interface.Contents`).

    Raises
    ------
    DataError
        For all mistakes in the files at once.
    """
    chosen = Settings.of(settings)
    drafts = read_drafts(folder, chosen)
    drafts.check()
    return Contents(
        questions=len(drafts.questions),
        with_refusal=sum(draft.refusal is not None for draft in drafts.questions),
        with_images=sum(bool(draft.image_columns) for draft in drafts.questions),
        notes=(
            refusal_note(drafts, chosen),
            *unused_note(drafts),
            *copies_note(drafts),
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


def load(
    raw: Path,
    folder: Path,
    *,
    settings: DataEntry | None = None,
    advance: Advance | None = None,
    workers: int = 1,
) -> Iterator[Question]:
    """Load the files under ``raw`` (`known_unknowns.benchmark.interface.Load`).

    Raises
    ------
    DataError
        For all mistakes at once, each with its file, row and column. An image that does not decode is reported by
        itself, because images are decoded while they are stored.
    """
    chosen = Settings.of(settings)
    drafts = read_drafts(raw, chosen, decode_images=False)
    drafts.check()
    print(refusal_note(drafts, chosen), file=sys.stderr)
    files = question_files(raw, chosen.files)
    same: Counter[str] = Counter()
    with ExitStack() as stack:
        store = stack.enter_context(ImageStore(folder, workers=workers))
        referenced = _referenced_images(drafts, files, chosen, store)
        for row, draft, ids in with_rows(drafts, files):
            images = _images(row, draft, ids, chosen, raw, store, referenced)
            yield _question(draft, images, draft.id if draft.has_id else _id_of(draft, images, same), chosen)
            if advance:
                advance()


def _referenced_images(
    drafts: Drafts, files: list[Path], settings: Settings, store: ImageStore
) -> dict[tuple[Path, str], tuple[Image, ...]]:
    """Store the images of rows that other rows name by their index (VLMEvalKit stores a repeated image once)."""
    wanted: dict[tuple[Path, str], SourceRow | None] = {}
    for row, draft, ids in with_rows(drafts, files):
        if draft.image_columns:
            found = images_of(row, draft.image_columns, drafts.folder, settings, ids)
            wanted |= {(row.file, cell.row_index): None for cell in found if cell.row_index}
    images: dict[tuple[Path, str], tuple[Image, ...]] = {}
    for row, draft, ids in with_rows(drafts, files) if wanted else ():
        key = (row.file, draft.id.removeprefix(f"{row.file.stem}-") if len(files) > 1 else draft.id)
        if key in wanted and draft.image_columns:
            found = images_of(row, draft.image_columns, drafts.folder, settings, ids)
            images[key] = tuple(
                store.add(cell.data, file=row.file, row=row.number) for cell in found if not cell.row_index
            )
    return images


def _images(
    row: SourceRow,
    draft: Draft,
    ids: set[str],
    settings: Settings,
    root: Path,
    store: ImageStore,
    referenced: Mapping[tuple[Path, str], tuple[Image, ...]],
) -> tuple[Image, ...]:
    found: list[Image] = []
    try:
        for cell in images_of(row, draft.image_columns, root, settings, ids):
            if not cell.row_index:
                found.append(store.add(cell.data, file=row.file, row=row.number))
                continue
            others = referenced.get((row.file, cell.row_index), ())
            if not others:
                raise ColumnError(draft.image_columns[0], f"row with index {cell.row_index!r} has no image of its own")
            found += others
    except ValueError as error:
        raise DataError(str(error), file=row.file, row=row.number) from error
    return tuple(found)


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
    if images and any(map(IMAGE_PLACE.search, (draft.text, *(option.text for option in draft.options)))):
        optional[IMAGES_IN_TEXT] = True
    extra |= {key: value for key, value in optional.items() if value}
    return Question(
        id=name,
        benchmark=NAME,
        text=draft.text,
        options=draft.options,
        answer=draft.answer,
        refusal=draft.refusal,
        images=images,
        category=draft.category,
        group=images[0].sha256 if images else f"question {name}",
        extra=extra,
    )
