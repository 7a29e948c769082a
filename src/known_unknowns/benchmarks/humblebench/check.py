"""What HumbleBench's files hold against its paper's Table 1, Section 2 and Figure 2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from known_unknowns.benchmarks._checks import ERROR, NOTE, WARNING, Finding, Held, Pictures, option_findings
from known_unknowns.benchmarks.humblebench import loader as humblebench
from known_unknowns.errors import DataError
from known_unknowns.records import Option
from known_unknowns.scoring._cleaning import bare

TYPES = ("Object", "Relation", "Attribute")
OLD_TYPES = {"Category": "Object", "Location": "Relation", "Weather": "Attribute"}
"""What older logs of the released code call the types."""
_REFUSAL = "None of the above"
_OPTIONS = 5
_PAPER = "the paper (Table 1)"


@dataclass
class _Seen:
    """What the rows read so far hold."""

    findings: list[Finding] = field(default_factory=list)
    pictures: Pictures = field(default_factory=Pictures)
    ids: dict[str, str] = field(default_factory=dict)
    asked: dict[tuple[str | None, str], str] = field(default_factory=dict)
    types: Counter = field(default_factory=Counter)
    labels: Counter = field(default_factory=Counter)
    refusals: Counter = field(default_factory=Counter)
    marks: Counter = field(default_factory=Counter)
    shown: list[str] = field(default_factory=list)
    question_words: int = 0
    option_words: int = 0
    options: int = 0

    def add(self, severity: str, code: str, where: str, text: str) -> None:
        self.findings.append(Finding(severity, code, where, text))


def check(raw: Path, *, settings: Mapping[str, Any] | None = None) -> tuple[list[Held], list[Finding]]:
    """Numbers held, and findings, of the files under ``raw``. Of the pocket edition (``settings`` say ``source:
    scenes``) its own counts are promised, of any other the paper's."""
    seen, number = _Seen(), 0
    try:
        for row in humblebench._rows(raw):
            number += 1
            _row(row, seen)
    except DataError as error:
        seen.add(ERROR, "unreadable-file", "", f"{error}; what follows it was not checked")
    seen.findings += [*seen.pictures.findings, *seen.pictures.duplicates(), *_habits(seen)]
    return _held(seen, number, settings or {}), seen.findings


def _row(row: humblebench._Row, seen: _Seen) -> None:
    where = f"{row.file.name}, row {row.number}"
    values = row.values
    missing = [name for name in humblebench.COLUMNS if values.get(name) in (None, "")]
    if missing:
        seen.add(ERROR, "missing", where, f"no value for {', '.join(missing)}")
    identifier = str(values.get("question_id"))
    if identifier in seen.ids:
        seen.add(ERROR, "id-twice", where, f"the question id {identifier} is already that of {seen.ids[identifier]}")
    seen.ids[identifier] = where
    kind, label = str(values.get("type")), values.get("label")
    seen.types[kind] += 1
    seen.labels[label if isinstance(label, str) else repr(label)] += 1
    if kind not in TYPES:
        hint = f" (today's {OLD_TYPES[kind]})" if kind in OLD_TYPES else ""
        seen.add(WARNING, "type", where, f"the type is {kind!r}{hint}, not one of {', '.join(TYPES)}")
    digest = None
    if values.get("image") is not None:
        digest = seen.pictures.add(
            values["image"], row.file.parent, file=row.file, row=row.number, where=f"{where} (question {identifier})"
        )
        if digest is not None:
            seen.shown.append(digest)
    if isinstance(values.get("question"), str):
        _question(values["question"], label, digest, f"{where} (question {identifier})", seen)


def _question(text: str, label: Any, digest: str | None, where: str, seen: _Seen) -> None:
    try:
        stem, options = humblebench.parse_question(text)
    except ValueError as error:
        seen.add(ERROR, "unreadable-question", where, str(error))
        return
    labels = [option.label for option in options]
    if not isinstance(label, str) or label not in tuple(humblebench.LETTERS):
        seen.add(ERROR, "label-out-of-range", where, f"the label is {label!r}, not one of A to E")
    elif label not in labels:
        seen.add(ERROR, "answer-missing", where, f"labelled {label}, where the options are {', '.join(labels)}")
    if humblebench.REFUSAL not in labels:
        seen.add(ERROR, "refusal-missing", where, f"no option {humblebench.REFUSAL}, only {', '.join(labels)}")
    else:
        refusal = options[labels.index(humblebench.REFUSAL)].text
        seen.refusals[refusal] += 1
        if not bare(refusal).casefold().startswith("none of"):
            seen.add(WARNING, "refusal", where, f"option E reads {refusal!r}, not {_REFUSAL!r}")
    seen.findings += option_findings(options, expected=_OPTIONS, where=where)
    if digest is not None and (digest, text) in seen.asked:
        seen.add(
            WARNING, "question-twice", where, f"the same question on the same picture as {seen.asked[digest, text]}"
        )
    seen.asked[digest, text] = where
    _count(stem, options, seen)


def _count(stem: str, options: tuple[Option, ...], seen: _Seen) -> None:
    seen.question_words += len(stem.split())
    seen.option_words += sum(len(option.text.split()) for option in options)
    seen.options += len(options)
    seen.marks.update(option.mark.strip() != option.mark.rstrip("\n") for option in options)


def _habits(seen: _Seen) -> Iterator[Finding]:
    """Spellings that vary, which the loader keeps as they are."""
    for text, count in seen.refusals.items():
        if text != _REFUSAL:
            yield Finding(NOTE, "refusal-spelling", "", f"{count} refusal options read {text!r}")
    if len(seen.marks) > 1:
        yield Finding(NOTE, "option-mark", "", f"{seen.marks[False]} options have no space after their letter")


def _held(seen: _Seen, questions: int, settings: Mapping[str, Any]) -> list[Held]:
    pocket = settings.get("source") == "scenes"
    images = settings.get("images") if pocket else None
    promised = images * settings["questions_per_image"] if images else None if pocket else 22_831
    source = "params.yaml" if pocket else _PAPER
    sizes = [seen.pictures.sizes[digest] for digest in seen.shown]
    held = [
        Held("questions", questions, promised, source),
        Held("images", len(seen.pictures.sizes), images, source),
        Held("question types", len(seen.types), 3, _PAPER),
        *(Held(f"questions of type {kind}", seen.types[kind]) for kind in sorted(seen.types)),
        *(Held(f"questions labelled {label}", seen.labels[label]) for label in sorted(seen.labels)),
    ]
    if questions and seen.options:
        held.append(
            Held("words a question", round(seen.question_words / questions, 2), None if pocket else 8.88, _PAPER)
        )
        held.append(
            Held("words an option", round(seen.option_words / seen.options, 2), None if pocket else 2.52, _PAPER)
        )
    if sizes:
        width, height = (round(sum(side) / len(sizes)) for side in zip(*sizes, strict=True))
        held.append(Held("mean image width (px)", width, None if pocket else 594, _PAPER))
        held.append(Held("mean image height (px)", height, None if pocket else 473, _PAPER))
    return held
