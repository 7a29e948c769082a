"""Check of HumbleBench's files against its paper (Table 1, Section 2, Figure 2)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from known_unknowns.benchmark.checks import (
    ERROR,
    WARNING,
    CheckState,
    Finding,
    ImageChecks,
    Quantity,
    option_findings,
    with_expected,
)
from known_unknowns.benchmark.loading import Row
from known_unknowns.benchmark.question_text import parse_question
from known_unknowns.config import DataEntry, FolderData, ReleasedData, ScenesData
from known_unknowns.errors import DataError
from known_unknowns.exchange import released_check
from known_unknowns.records import Option
from known_unknowns_benchmarks.humblebench import loader as humblebench
from known_unknowns_benchmarks.humblebench.released import RELEASED

TYPES = ("Object", "Relation", "Attribute")
_REFUSAL = "None of the above"
_OPTIONS = 5


@dataclass
class _State(CheckState):
    """Findings and counts of the rows so far."""

    images: ImageChecks = field(default_factory=lambda: ImageChecks(plain=True))
    types: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    digests: list[str] = field(default_factory=list)
    question_words: int = 0
    option_words: int = 0
    options: int = 0


def check(raw: Path, *, settings: DataEntry | None = None) -> tuple[list[Quantity], list[Finding]]:
    """Check the files under ``raw`` (`known_unknowns.benchmark.interface.Check`).

    The paper's numbers are expected. For rendered data (``source: scenes``), the numbers of ``settings`` are.
    Constructed data (``source: folder``) have none. Released replies (``source: released``) have a check of their
    own.
    """
    if isinstance(settings, ReleasedData):
        return released_check.check(RELEASED, raw, settings)
    state, number = _State(), 0
    try:
        for row in humblebench._rows(raw):
            number += 1
            _row(row, state)
    except DataError as error:
        state.add(ERROR, "unreadable-file", "", f"{error}; the rest was not checked")
    state.findings += [*state.images.findings, *state.images.closing()]
    return _quantities(state, number, settings), state.findings


def _row(row: Row, state: _State) -> None:
    where = f"{row.file.name}, row {row.number}"
    values = row.values
    missing = [name for name in humblebench.COLUMNS if values.get(name) in (None, "")]
    if missing:
        state.add(ERROR, "missing", where, f"no value for {', '.join(missing)}")
    identifier = str(values.get("question_id"))
    state.add_id(identifier, where)
    kind, label = str(values.get("type")), values.get("label")
    state.types[kind] += 1
    state.labels[label if isinstance(label, str) else repr(label)] += 1
    digest = None
    if values.get("image") is not None:
        digest = state.images.add(
            values["image"], row.file.parent, file=row.file, row=row.number, where=f"{where} (question {identifier})"
        )
        if digest is not None:
            state.digests.append(digest)
    if isinstance(values.get("question"), str):
        _question(values["question"], label, digest, f"{where} (question {identifier})", state)


def _question(text: str, label: Any, digest: str | None, where: str, state: _State) -> None:
    try:
        stem, options = parse_question(text)
    except ValueError as error:
        state.add(ERROR, "unreadable-question", where, str(error))
        return
    labels = [option.label for option in options]
    if not isinstance(label, str) or label not in tuple(humblebench.LETTERS):
        state.add(ERROR, "label-out-of-range", where, f"the label is {label!r}, not one of A to E")
    elif label not in labels:
        state.add(ERROR, "answer-missing", where, f"labelled {label}, but the options are {', '.join(labels)}")
    if humblebench.REFUSAL not in labels:
        state.add(ERROR, "refusal-missing", where, f"no option {humblebench.REFUSAL}, only {', '.join(labels)}")
    else:
        refusal = options[labels.index(humblebench.REFUSAL)].text
        if not refusal.strip(" .()[]").casefold().startswith("none of"):
            state.add(WARNING, "refusal", where, f"option E reads {refusal!r}, not {_REFUSAL!r}")
    place = labels.index(humblebench.REFUSAL) if humblebench.REFUSAL in labels else None
    state.findings += option_findings(options, expected=_OPTIONS, refusal=place, where=where)
    state.add_question(digest, text, where)
    _count(stem, options, state)


def _count(stem: str, options: tuple[Option, ...], state: _State) -> None:
    state.question_words += len(stem.split())
    state.option_words += sum(len(option.text.split()) for option in options)
    state.options += len(options)


def _quantities(state: _State, questions: int, settings: DataEntry | None) -> list[Quantity]:
    rendered = settings if isinstance(settings, ScenesData) else None
    own = rendered is not None or isinstance(settings, FolderData)  # the paper says nothing about such data
    expected = rendered.images * rendered.questions_per_image if rendered else None
    source = "the entry of the data" if own else ""
    sizes = [state.images.sizes[digest] for digest in state.digests]
    quantities = [
        Quantity("questions", questions, expected, source),
        Quantity("images", len(state.images.sizes), rendered.images if rendered else None, source),
        Quantity("question types", len(state.types), len(TYPES), "the paper (Table 1)"),
        *(Quantity(f"questions of type {kind}", state.types[kind]) for kind in sorted(state.types)),
        *(Quantity(f"questions labelled {label}", state.labels[label]) for label in sorted(state.labels)),
    ]
    if questions and state.options:
        quantities.append(Quantity("words per question", round(state.question_words / questions, 2)))
        quantities.append(Quantity("words per option", round(state.option_words / state.options, 2)))
    if sizes:
        for what, side in (("width", 0), ("height", 1)):
            mean = round(sum(size[side] for size in sizes) / len(sizes))
            quantities.append(Quantity(f"mean image {what} (px)", mean))
    return with_expected(quantities, Path(__file__).parent, published=not own)
