"""The check of released files: all are there and complete, ask the same questions, and give the logged numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from known_unknowns.benchmark.checks import ERROR, NOTE, WARNING, CheckState, Finding, Quantity
from known_unknowns.benchmark.released import ReleasedFile
from known_unknowns.config import ReleasedData
from known_unknowns.data.git import read_manifest
from known_unknowns.data.store import MANIFEST
from known_unknowns.errors import DataError
from known_unknowns.exchange.released_reader import (
    DIFFERS,
    EXACT,
    HISTORY,
    LOG,
    OTHER_TEXT,
    REPLIES,
    UNREADABLE,
    ReleasedReader,
    ReplyFile,
    Setting,
    Slot,
    as_turn,
    by_key,
)
from known_unknowns.records import Question
from known_unknowns.variants import VARIANTS

_SHOWN = 3


def check(released: ReleasedReader, raw: Path, entry: ReleasedData) -> tuple[list[Quantity], list[Finding]]:
    """Report whether all files are there and complete, and ask the same questions."""
    files = read_manifest(raw)
    if files is None:
        raise DataError("no list of fetched files; fetch the data again", file=raw / MANIFEST)
    state, slots = CheckState(), released.slots(files)
    questions, unreadable = released.questions(raw, entry)
    for name, reason in unreadable.items():
        state.add(ERROR, "unreadable-question", f"question {name}", reason)
    varied = {
        name: [VARIANTS[released.layout.settings[name].variant].function(q) for q in questions.values()]
        for name in {setting for _, setting in slots}
    }
    _check_slots(released, slots, entry, files, state)
    answered = sum(_check_replies(released, raw, slot, varied[slot.setting], state) for slot in slots.values())
    compared = [each for slot in slots.values() for each in released.compare(raw, slot, varied[slot.setting])]
    for each in compared:
        if each.outcome in (DIFFERS, UNREADABLE):
            state.add(WARNING, "log", each.log.path, f"not reproduced: {each.reason}")
        elif each.outcome == EXACT and each.reason:
            state.add(NOTE, "log", each.log.path, f"reproduced {each.reason} ({each.replies})")
        elif each.outcome != EXACT:
            state.add(NOTE, "log", each.log.path, f"not recomputed: {each.reason}")
    types = Counter(question.category for question in questions.values())
    with_replies = Counter(setting for (_, setting), slot in slots.items() if slot.first())
    quantities = [
        Quantity("questions", len(questions), released.layout.questions["count"], released.layout.questions["source"]),
        *(Quantity(f"questions of type {kind}", types[kind]) for kind in sorted(types)),
        Quantity("models", len({model for model, _ in slots})),
        *(
            Quantity(f"files of predictions, {name}", with_replies[name])
            for name in released.layout.settings
            if name in with_replies
        ),
        Quantity("predictions", answered),
        Quantity("logs", len(compared)),
        Quantity("logs reproduced exactly", sum(each.outcome == EXACT for each in compared)),
    ]
    return quantities, state.findings


def _check_slots(
    released: ReleasedReader,
    slots: Mapping[tuple[str, str], Slot],
    entry: ReleasedData,
    files: Sequence[ReleasedFile],
    state: CheckState,
) -> None:
    """Report missing and empty files, other versions of files, and files of no known model and setting."""
    settings = released.layout.settings
    alone = {name for name, setting in settings.items() if setting.answers_only}
    expected = [name for name in entry.settings or settings if name not in alone]
    for model in sorted({model for model, name in slots if name not in alone}):
        lacking = [name for name in expected if (slot := slots.get((model, name))) is None or not slot.first()]
        if lacking:
            state.add(WARNING, "missing-predictions", model, f"no predictions in {', '.join(lacking)}; not run")
    for slot in slots.values():
        where = f"{slot.model}, {slot.setting}"
        for file in {file.path: file for same in slot.files.values() for file in same}.values():
            if file.size == 0:
                state.add(ERROR, "empty-file", file.path, f"the file is empty at commit {file.commit[:12]}")
        for kind, name in ((REPLIES, "predictions"), (LOG, "logs")):
            filled = [f"{f.path} at {f.commit[:12]}" for f in slot.files.get(kind, ()) if f.size]
            if len(filled) > 1:
                text = f"several versions of the {name}; {filled[0]} counts, not {', '.join(filled[1:])}"
                state.add(WARNING, "several-versions", where, text)
        if slot.first() and not slot.files.get(LOG) and slot.setting not in alone:
            state.add(NOTE, "missing-log", where, "no log was released with the predictions")
        counted = slot.first()
        if counted and HISTORY in released.layout.files and not slot.first(HISTORY):
            state.add(NOTE, "no-history", counted.path, "the turns before the answer were not released")
    used = {file.path for slot in slots.values() for same in slot.files.values() for file in same}
    for path in sorted({file.path for file in files} - used - set(released.layout.not_replies)):
        state.add(NOTE, "other-file", path, "of no known model and setting; not used")


def _check_replies(
    released: ReleasedReader, raw: Path, slot: Slot, questions: Sequence[Question], state: CheckState
) -> int:
    """Report what is wrong with a file and with its rows; return the number of questions that it answers."""
    file = slot.first()
    if file is None:
        return 0
    parsed = released.read(raw / file.place)
    known = by_key(questions, parsed)
    for problem in parsed.problems:
        state.add(ERROR if parsed.is_broken else WARNING, "unreadable-file", file.path, problem)
    missing = [name for name in known if name not in parsed.rows]
    if missing:
        text = f"{len(missing)} of {len(known)} questions have no prediction, {_some(missing)}; counted as failed"
        state.add(ERROR, "missing-rows", file.path, text)
    unknown = [name for name in parsed.rows if name not in known]
    if unknown:
        text = f"{len(unknown)} predictions are of no question of the other files, {_some(unknown)}; not used"
        state.add(ERROR, "unknown-question", file.path, text)
    _check_rows(released, file.path, parsed, known, released.layout.settings[slot.setting], state)
    turns = {q.id: (as_turn(parsed.rows[key], None),) for key, q in known.items() if key in parsed.rows}
    for note in released.dialogues(raw, slot, questions, turns)[1]:
        state.add(WARNING, "replies", file.path, note)
    return len(known) - len(missing)


def _check_rows(
    released: ReleasedReader,
    path: str,
    parsed: ReplyFile,
    questions: Mapping[str, Question],
    setting: Setting,
    state: CheckState,
) -> None:
    differing: dict[str, list[str]] = {}
    types: Counter[tuple[str, str]] = Counter()
    for name, row in parsed.rows.items():
        if name not in questions:
            continue
        if (problem := released.difference(row, questions[name], setting)) is not None:
            differing.setdefault(problem, []).append(name)
        if row.text is not None and row.type != questions[name].category:
            types[row.type, questions[name].category] += 1
    for problem, names in differing.items():
        severity, used = (WARNING, "used") if problem == OTHER_TEXT else (ERROR, "counted as failed")
        text = f"{len(names)} rows: the row {problem} than the other files, {_some(names)}; {used}"
        state.add(severity, "other-question", path, text)
    for (theirs, ours), count in types.items():
        severity = NOTE if released.layout.types.get(theirs) == ours else WARNING
        state.add(severity, "other-type", path, f"{count} questions of type {ours} are called {theirs}")
    without_reply = sum(row.reply is None for row in parsed.rows.values())
    if without_reply:
        state.add(WARNING, "no-prediction", path, f"{without_reply} rows have no prediction; counted as failed")
    without_text = sum(row.text is None for row in parsed.rows.values())
    if without_text and not parsed.by_number:
        text = f"{without_text} rows have only an answer; their questions are those of the other files"
        state.add(NOTE, "answers-only", path, text)


def _some(names: Sequence[str]) -> str:
    return f"such as {', '.join(names[:_SHOWN])}"
