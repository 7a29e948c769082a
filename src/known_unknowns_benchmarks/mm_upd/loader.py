"""MM-UPD (Miyai et al., "Unsolvable Problem Detection: Robust Understanding Evaluation for Large Multimodal Models").

A question is one pass of one problem. Its options are those of the files of the base setting, and one more that
withholds the answer: "None of the above" (AAD, IASD) or "The image and question are irrelevant." (IVQD), labelled with
the next letter, as Figure 2 shows it. All settings have the same questions, so that they can be compared pairwise; the
prompt of a setting decides whether it shows that option. The check of the data compares the files of the option setting
with this rule.

``Question.answer`` of an unsolvable question is that option. ``Question.extra`` has ``subset``, ``type``, ``problem``
(the index of the first pass), ``pass`` (from 0), ``ability`` and ``masked_answer``.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from known_unknowns.benchmark.images import ImageStore
from known_unknowns.benchmark.loading import Row, questions
from known_unknowns.config import DataEntry
from known_unknowns.progress import Advance
from known_unknowns.records import Option, Question
from known_unknowns_benchmarks.mm_upd.format import (
    BASE,
    NAME,
    PASS,
    REFUSALS,
    STANDARD,
    SUBSETS,
    WITHHOLD,
    file_of,
    image_of,
    index_of,
    options_of,
    required,
    rows,
    text_of,
    type_of,
)


def load(
    raw: Path,
    folder: Path,
    *,
    settings: DataEntry | None = None,
    advance: Advance | None = None,
    workers: int = 1,
) -> Iterator[Question]:
    """Load the three subsets under ``raw`` (`known_unknowns.benchmark.interface.Load`).

    Raises ConfigError for an unknown setting. Raises DataError for a row that is not as published; it names file and
    row.
    """
    with ImageStore(folder, workers=workers, plain=True) as images:
        for subset in SUBSETS:
            file = file_of(raw, settings, subset, BASE)
            build = partial(_question, subset=subset, images=images)
            yield from questions(rows(file), build, source=file, what=f"questions of {subset}", advance=advance)


def _question(row: Row, *, subset: str, images: ImageStore) -> Question:
    index, kind, texts, ability = index_of(row), type_of(row), options_of(row), required(row, "category")
    hint, stem = text_of(row, "hint"), required(row, "question")
    image = images.add(image_of(row), file=row.file, row=row.number)
    return Question(
        id=f"{subset}-{kind}-{index}",
        benchmark=NAME,
        text=f"{hint}\n{stem}" if hint else stem,
        options=with_refusal(texts, subset),
        answer=answer_of(row, kind, texts),
        refusal=len(texts),
        images=(image,),
        category=f"{subset} {ability}",
        group=image.sha256,
        extra={
            "subset": subset,
            "type": kind,
            "problem": index % PASS,
            "pass": index // PASS,
            "ability": ability,
            "l2_category": text_of(row, "l2-category"),
            "masked_answer": text_of(row, "masked_answer"),
            "source": text_of(row, "source"),
        },
    )


def with_refusal(texts: list[str], subset: str) -> tuple[Option, ...]:
    """Return the options A, B, ... and, with the next letter, the one that withholds an answer."""
    lines = zip(string.ascii_uppercase, [*texts, REFUSALS[subset]], strict=False)
    return tuple(Option(letter, text, f"{letter}. ") for letter, text in lines)


def answer_of(row: Row, kind: str, texts: list[str]) -> int:
    """Return the index of the right option; that of the option that withholds an answer for an unsolvable row.

    Raises ValueError if the row's answer is not possible for its type.
    """
    answer = required(row, "answer").strip().upper()
    if kind != STANDARD:
        if answer != WITHHOLD:
            raise ValueError(f"the answer of an unsolvable row is {answer!r}, not {WITHHOLD!r}")
        return len(texts)
    place = string.ascii_uppercase.find(answer) if len(answer) == 1 else -1
    if not 0 <= place < len(texts):
        letters = string.ascii_uppercase[: len(texts)]
        raise ValueError(f"the answer {answer!r} is none of the options {', '.join(letters)}")
    return place
