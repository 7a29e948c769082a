"""The loader of MM-SAP, in both published versions.

Wang et al., "MM-SAP: A Comprehensive Benchmark for Assessing Self-Awareness of Multimodal Large Language Models in
Perception".

``Question.answer`` is the right option. For a BeyondVisQA question it is the refusal, because only the refusal is
right. ``Question.extra["subset"]`` is the name of the subset. In KnowVisQA a refusal can be accepted too; the metrics
decide this by the forced choice (`known_unknowns.protocols.forced_choice`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from known_unknowns.benchmark.images import ImageStore
from known_unknowns.benchmark.loading import Row, questions
from known_unknowns.config import DataEntry
from known_unknowns.progress import Advance
from known_unknowns.records import Option, Question
from known_unknowns_benchmarks.mmsap.format import (
    BASIC,
    BEYOND,
    KNOW,
    REFUSAL,
    SETTINGS,
    SUB_TASKS,
    SUBSETS,
    Fields,
    rows,
)
from known_unknowns_benchmarks.mmsap.official import normalise_text, official

__all__ = [
    "BASIC",
    "BEYOND",
    "KNOW",
    "NAME",
    "REFUSAL",
    "SUBSETS",
    "SUB_TASKS",
    "Fields",
    "forced_choice_applies",
    "load",
    "official",
    "prompt",
    "refusal_prompt",
]

NAME = "mmsap"
LETTERS = "ABCDEFGH"

_INSTRUCTION = "Answer with the option's letter from the given choices directly."  # Section 4.5
_REFUSAL_INSTRUCTION = f"{_INSTRUCTION} If you don't know the answer, please reply with 'Sorry, I can't help with it'."
_LETTERED = re.compile(r"\s*([A-H])\s*[.):]\s*(?=\S)")
_RESERVED = frozenset({"subset", "question_id", "image_path", "relettered", "removed"})


def prompt(question: Question) -> str:
    """Return the question, the options one per line, and the sentence of Section 4.5.

    Figure 6, which shows the prompts, was not available. The order and the line breaks are our choice.
    """
    return f"{question.rendered}\n{_INSTRUCTION}"


def refusal_prompt(question: Question) -> str:
    """Return the text of `prompt` with the refusal prompt of Section 4.5 (Table 3) as its last sentence."""
    return f"{question.rendered}\n{_REFUSAL_INSTRUCTION}"


def forced_choice_applies(question: Question) -> bool:
    """Return whether a refused question is re-asked without the refusal: only in KnowVisQA (Equation 3)."""
    return question.extra["subset"] == KNOW


def load(
    raw: Path,
    folder: Path,
    *,
    settings: DataEntry | None = None,
    advance: Advance | None = None,
    workers: int = 1,
) -> Iterator[Question]:
    """Load the three subsets under ``raw`` (`known_unknowns.benchmark.interface.Load`).

    ``settings`` is the data's entry in params.yaml, which names files and fields (`Fields`). All other texts, numbers
    and Booleans of a row are kept in ``Question.extra``.

    Raises ConfigError for an unknown setting. Raises DataError for data that do not match the settings; it names file,
    row and field.
    """
    fields = Fields.from_settings(settings)
    with ImageStore(folder, workers=workers) as images:
        for subset in SUBSETS:
            source = raw / fields.files[subset]
            numbers = count()
            yield from questions(
                rows(raw, fields, subset),
                partial(_question, raw=raw, fields=fields, subset=subset, images=images, numbers=numbers),
                source=source,
                what=f"questions of {subset}",
                advance=advance,
            )


def _question(
    row: Row, *, raw: Path, fields: Fields, subset: str, images: ImageStore, numbers: Iterator[int]
) -> Question:
    number = next(numbers)
    identifier = str(number if fields.id is None else fields.value(row, "id"))
    options = _options(row, fields)
    refusal = _refusal(options, fields)
    cell = fields.value(row, "image")
    image = images.add_cell(cell, fields.image_folder(row, raw), file=row.file, row=row.number)
    others = {
        name: value
        for name, value in row.values.items()
        if name not in fields.names | _RESERVED and isinstance(value, str | int | float | bool)
    }
    return Question(
        id=f"{subset}-{identifier}",  # ids of different subsets may be equal
        benchmark=NAME,
        text=_text(fields.value(row, "question"), "question"),
        options=options,
        answer=_answer(row, fields, subset, options, refusal),
        refusal=refusal,
        images=(image,),
        category=subset if fields.sub_task is None else _sub_task(fields.value(row, "sub_task"), subset),
        group=image.sha256,
        extra=others
        | {
            "subset": subset,
            "question_id": identifier,
            "image_path": cell if isinstance(cell, str) else cell.get("path") or "",
        },
    )


def _text(value: Any, what: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
        raise ValueError(f"the {what} is {value!r}, not a text")
    return str(value)


def _sub_task(value: Any, subset: str) -> str:
    """Return a sub-task in its published spelling if only case and punctuation differ, otherwise unchanged."""
    text = _text(value, "sub-task")

    def bare(name: str) -> str:
        return re.sub(r"\W", "", name).casefold()

    return next((name for name in SUB_TASKS[subset] if bare(name) == bare(text)), text)


def _options(row: Row, fields: Fields) -> tuple[Option, ...]:
    """Return the options, with the letters A, B, C, ... in their order unless the field has letters."""
    if isinstance(fields.options, str):
        value = fields.value(row, "options")
    else:
        value = [fields.value(row, "options", name) for name in fields.options]
    if isinstance(value, Mapping):
        lettered = [(str(label).strip(), text) for label, text in value.items() if text is not None]
        if not {label for label, _ in lettered} <= set(LETTERS):
            raise ValueError(f"the options' letters are {', '.join(map(str, value))}, not from A to H")
        options = [Option(label, _text(text, "option"), f"{label}. ") for label, text in lettered]
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        options = _options_from_texts([_text(text, "option") for text in value])
    else:
        raise ValueError(f"the options are {str(value)[:80]!r}, neither a list of texts nor letters with texts")
    if not 2 <= len(options) <= len(LETTERS):
        raise ValueError(f"{len(options)} options, but 2 to {len(LETTERS)} are possible; MM-SAP has five")
    return tuple(options)


def _options_from_texts(texts: list[str]) -> list[Option]:
    if len(texts) > len(LETTERS):
        raise ValueError(f"{len(texts)} options, but 2 to {len(LETTERS)} are possible; MM-SAP has five")
    marks = [_LETTERED.match(text) for text in texts]
    if all(mark and mark[1] == label for mark, label in zip(marks, LETTERS, strict=False)):
        return [Option(mark[1], text[mark.end() :], mark[0]) for mark, text in zip(marks, texts, strict=True) if mark]
    return [Option(label, text, f"{label}. ") for label, text in zip(LETTERS, texts, strict=False)]


def _refusal(options: Sequence[Option], fields: Fields) -> int:
    found = [
        index for index, option in enumerate(options) if normalise_text(option.text) == normalise_text(fields.refusal)
    ]
    if len(found) != 1:
        raise ValueError(
            f"{len(found) or 'none'} of the options {' / '.join(option.text for option in options)} "
            f"{'is' if not found else 'are'} the refusal {fields.refusal!r}, where one must be; "
            f"set its text as {SETTINGS}.refusal in params.yaml"
        )
    return found[0]


def _answer(row: Row, fields: Fields, subset: str, options: Sequence[Option], refusal: int) -> int:
    if subset == BEYOND and row.values.get(fields.answer) in (None, ""):
        return refusal
    value = fields.value(row, "answer")
    chosen = _answer_index(value, options, fields.answer_is)
    if (chosen == refusal) != (subset == BEYOND):
        raise ValueError(
            f"the answer {value!r} is {'the refusal' if chosen == refusal else 'another option than the refusal'}, "
            f"which it cannot be in {subset}"
        )
    return chosen


def _answer_index(value: Any, options: Sequence[Option], answer_is: str) -> int:
    """Return the index of the option that an answer names (see `Fields`)."""
    text = str(value).strip()
    meanings = {
        "text": {
            i for i, o in enumerate(options) if normalise_text(text) in (normalise_text(o.text), normalise_text(o.line))
        },
        "letter": {i for i, o in enumerate(options) if text.upper().strip("().") == o.label},
        "index": _index(value, len(options), digits=answer_is == "index"),
    }
    chosen = set().union(*meanings.values()) if answer_is == "auto" else meanings[answer_is]
    shown = " / ".join(option.line for option in options)
    if not chosen:
        raise ValueError(f"the answer {value!r} is none of the options {shown}")
    if len(chosen) > 1:
        raise ValueError(
            f"the answer {value!r} can be several of the options {shown}: set {SETTINGS}.answer_is in params.yaml "
            "to text, letter or index"
        )
    return chosen.pop()


def _index(value: Any, count: int, *, digits: bool) -> set[int]:
    """Return the index from 0, if the value is one. With ``digits``, a text of digits is a number."""
    if digits and isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not float(value).is_integer():
        return set()
    return {int(value)} if 0 <= value < count else set()
