"""Check of MM-SAP's files against its papers (Section 3.2, Table 6, Figure 3); see `known_unknowns.data.check`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from known_unknowns.benchmark.checks import (
    ERROR,
    CheckState,
    Finding,
    ImageChecks,
    Quantity,
    option_findings,
    with_expected,
)
from known_unknowns.benchmark.loading import Row
from known_unknowns.config import DataEntry, ScenesData
from known_unknowns.errors import DataError
from known_unknowns.records import Option
from known_unknowns_benchmarks.mmsap import loader as mmsap
from known_unknowns_benchmarks.mmsap.format import BEYOND, SUBSETS, Fields, rows

_OPTIONS = 5


@dataclass
class _State(CheckState):
    """Findings and counts of one subset."""

    sub_tasks: Counter[str | None] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    images: set[str] = field(default_factory=set)
    number: int = 0


def check(raw: Path, *, settings: DataEntry | None = None) -> tuple[list[Quantity], list[Finding]]:
    """Check the files under ``raw``, described by ``settings`` (`known_unknowns.benchmark.interface.Check`, `Fields`).

    The papers' numbers are expected, except for rendered data (``source: scenes``).
    """
    fields, images = Fields.from_settings(settings), ImageChecks()
    state: dict[str, _State] = defaultdict(_State)
    for subset in SUBSETS:
        try:
            for row in rows(raw, fields, subset):
                _row(raw, row, fields, subset, images, state[subset])
        except DataError as error:
            state[subset].add(ERROR, "unreadable-file", subset, f"{error}; the rest was not checked")
    findings = [finding for subset in SUBSETS for finding in state[subset].findings]
    published = not isinstance(settings, ScenesData)
    quantities = with_expected(_quantities(state), Path(__file__).parent, published=published)
    return quantities, [*findings, *images.findings, *images.closing()]


def _row(raw: Path, row: Row, fields: Fields, subset: str, images: ImageChecks, state: _State) -> None:
    where = f"{row.file.name}, row {row.number}"
    identifier = str(state.number if fields.id is None else row.values.get(fields.id))
    state.number += 1
    state.add_id(identifier, where)
    if fields.sub_task is not None:
        sub_task = state.attempt("missing", where, lambda: mmsap._sub_task(fields.value(row, "sub_task"), subset))
        state.sub_tasks[sub_task] += 1
    digest = None
    cell = state.attempt("missing", where, lambda: fields.value(row, "image"))
    if cell is not None:
        digest = images.add(cell, fields.image_folder(row, raw), file=row.file, row=row.number, where=where)
        if digest is not None:
            state.images.add(digest)
    text = state.attempt("missing", where, lambda: mmsap._text(fields.value(row, "question"), "question"))
    if text is not None and digest is not None:
        state.add_question(digest, text, where)
    options = state.attempt("unreadable-options", where, lambda: mmsap._options(row, fields))
    if options is not None:
        _options(row, fields, subset, options, where, state)


def _options(row: Row, fields: Fields, subset: str, options: tuple[Option, ...], where: str, state: _State) -> None:
    refusal = state.attempt("refusal-missing", where, lambda: mmsap._refusal(options, fields))
    state.findings += option_findings(options, expected=_OPTIONS, refusal=refusal, where=where)
    if refusal is None:
        return
    state.refusals[options[refusal].label] += 1
    answer = state.attempt("answer-missing", where, lambda: mmsap._answer(row, fields, subset, options, refusal))
    if answer is not None and subset != BEYOND:
        state.answers[options[answer].label] += 1


def _quantities(states: Mapping[str, _State]) -> Iterator[Quantity]:
    for subset in SUBSETS:
        state, sub_tasks = states[subset], mmsap.SUB_TASKS[subset]
        yield Quantity(f"questions of {subset}", state.number)
        yield Quantity(f"images of {subset}", len(state.images))
        yield Quantity(f"sub-tasks of {subset}", len(state.sub_tasks), len(sub_tasks), "Figure 3")
        yield from (Quantity(f"  {name}", state.sub_tasks[name]) for name in sub_tasks)
        yield from (Quantity(f"  right option {label}", state.answers[label]) for label in sorted(state.answers))
        yield from (Quantity(f"  refusal at {label}", state.refusals[label]) for label in sorted(state.refusals))
    yield Quantity("questions", sum(state.number for state in states.values()))
