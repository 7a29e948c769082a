"""What MM-SAP's files hold against its papers (Section 3.2, Table 6, Figure 3); see `known_unknowns.data.check`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from known_unknowns.benchmarks._checks import ERROR, WARNING, Finding, Held, Pictures, option_findings
from known_unknowns.benchmarks.mmsap import loader as mmsap
from known_unknowns.benchmarks.mmsap.categories import BASIC, BEYOND, KNOW, SUBSETS
from known_unknowns.benchmarks.mmsap.format import Fields, Row, rows
from known_unknowns.errors import DataError
from known_unknowns.records import Option

QUESTIONS: Mapping[str, int] = {BASIC: 400, KNOW: 350, BEYOND: 400}
IMAGES: Mapping[str, int | None] = {BASIC: 397, KNOW: None, BEYOND: 308}
_OPTIONS = 5
_PAPER = "the paper (Section 3.2)"


@dataclass
class _Seen:
    """What the rows of one subset hold."""

    findings: list[Finding] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    asked: dict[tuple[str | None, str], str] = field(default_factory=dict)
    sub_tasks: Counter = field(default_factory=Counter)
    answers: Counter = field(default_factory=Counter)
    refusals: Counter = field(default_factory=Counter)
    images: set[str] = field(default_factory=set)
    number: int = 0

    def add(self, severity: str, code: str, where: str, text: str) -> None:
        self.findings.append(Finding(severity, code, where, text))

    def tried(self, code: str, where: str, read: Callable[[], Any]) -> Any:
        """What ``read`` returns; None, and a finding, where it raises."""
        try:
            return read()
        except (ValueError, TypeError, KeyError) as error:
            self.add(ERROR, code, where, str(error))
            return None


def check(raw: Path, *, settings: Mapping[str, Any] | None = None) -> tuple[list[Held], list[Finding]]:
    """Numbers held, and findings, of the files under ``raw``, which ``settings`` describe (`mmsap_format.Fields`). The
    papers' counts are promised, except of the pocket edition (``source: scenes``)."""
    fields, pictures = Fields.from_settings(settings), Pictures()
    seen: dict[str, _Seen] = defaultdict(_Seen)
    for subset in SUBSETS:
        try:
            for row in rows(raw, fields, subset):
                _row(raw, row, fields, subset, pictures, seen[subset])
        except DataError as error:
            seen[subset].add(ERROR, "unreadable-file", subset, f"{error}; what follows it was not checked")
    findings = [finding for subset in SUBSETS for finding in seen[subset].findings]
    held = _held(seen, promise=(settings or {}).get("source") != "scenes")
    return held, [*findings, *pictures.findings, *pictures.duplicates()]


def _row(raw: Path, row: Row, fields: Fields, subset: str, pictures: Pictures, seen: _Seen) -> None:
    where = f"{row.file.name}, row {row.number}"
    identifier = str(seen.number if fields.id is None else row.values.get(fields.id))
    seen.number += 1
    if identifier in seen.ids:
        seen.add(ERROR, "id-twice", where, f"the question id {identifier} is already that of {seen.ids[identifier]}")
    seen.ids[identifier] = where
    if fields.sub_task is not None:
        sub_task = seen.tried("missing", where, lambda: mmsap._sub_task(fields.value(row, "sub_task"), subset))
        seen.sub_tasks[sub_task] += 1
        if sub_task is not None and sub_task not in mmsap.SUB_TASKS[subset]:
            known = ", ".join(mmsap.SUB_TASKS[subset])
            seen.add(WARNING, "sub-task", where, f"the sub-task {sub_task!r} is not one of {subset}'s: {known}")
    digest = None
    cell = seen.tried("missing", where, lambda: fields.value(row, "image"))
    if cell is not None:
        root = row.file.parent if fields.pictures is None else raw / fields.pictures
        digest = pictures.add(cell, root, file=row.file, row=row.number, where=where)
        seen.images |= {digest} - {None}
    text = seen.tried("missing", where, lambda: mmsap._text(fields.value(row, "question"), "question"))
    if text is not None and digest is not None:
        if (digest, text) in seen.asked:
            other = seen.asked[digest, text]
            seen.add(WARNING, "question-twice", where, f"the same question on the same picture as {other}")
        seen.asked[digest, text] = where
    options = seen.tried("unreadable-options", where, lambda: mmsap._options(row, fields))
    if options is not None:
        _options(row, fields, subset, options, where, seen)


def _options(row: Row, fields: Fields, subset: str, options: tuple[Option, ...], where: str, seen: _Seen) -> None:
    seen.findings += option_findings(options, expected=_OPTIONS, where=where)
    refusal = seen.tried("refusal-missing", where, lambda: mmsap._refusal(options, fields))
    if refusal is None:
        return
    seen.refusals[options[refusal].label] += 1
    answer = seen.tried("answer-missing", where, lambda: mmsap._answer(row, fields, subset, options, refusal))
    if answer is not None and subset != BEYOND:
        seen.answers[options[answer].label] += 1


def _held(seen: Mapping[str, _Seen], *, promise: bool) -> list[Held]:
    held = []
    for subset in SUBSETS:
        found = seen[subset]
        held.append(Held(f"questions of {subset}", found.number, QUESTIONS[subset] if promise else None, _PAPER))
        held.append(Held(f"images of {subset}", len(found.images), IMAGES[subset] if promise else None, _PAPER))
        held.append(Held(f"sub-tasks of {subset}", len(found.sub_tasks), len(mmsap.SUB_TASKS[subset]), "Figure 3"))
        held += [Held(f"  {name}", found.sub_tasks[name]) for name in mmsap.SUB_TASKS[subset]]
        held += [Held(f"  right option {label}", found.answers[label]) for label in sorted(found.answers)]
        held += [Held(f"  refusal at {label}", found.refusals[label]) for label in sorted(found.refusals)]
    held.append(Held("questions", sum(found.number for found in seen.values()), 1150 if promise else None, _PAPER))
    return held
