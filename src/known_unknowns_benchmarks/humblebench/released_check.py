"""Check of released predictions: whether all files are there and complete, and ask the same questions.

The questions are compared across models and settings: a row must have the text, options and label that the variant
gives the question as published (`released_questions`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from known_unknowns.benchmark.checks import ERROR, NOTE, WARNING, CheckState, Finding, Quantity
from known_unknowns.benchmark.released import ReleasedFile
from known_unknowns.config import ReleasedData
from known_unknowns.data.released import MANIFEST, read_manifest
from known_unknowns.errors import DataError
from known_unknowns.records import Question
from known_unknowns_benchmarks.humblebench.released import OTHER_TEXT, difference, file_problems
from known_unknowns_benchmarks.humblebench.released_files import (
    PROPRIETARY,
    SETTINGS,
    ReleasedReplies,
    Slot,
    other_files,
    read_replies,
    slots,
)
from known_unknowns_benchmarks.humblebench.released_logs import DIFFERS, EXACT, UNREADABLE, compare_logs
from known_unknowns_benchmarks.humblebench.released_questions import OLD_TYPES, Originals

_SHOWN = 3
Varied = Mapping[str, Mapping[str, Question]]
"""Name of a setting to its questions by id."""


def check(raw: Path, settings: ReleasedData) -> tuple[list[Quantity], list[Finding]]:
    """Check the released predictions under ``raw`` (`known_unknowns.benchmark.interface.Check`)."""
    files = read_manifest(raw)
    if files is None:
        raise DataError("no list of fetched files; fetch the data again", file=raw / MANIFEST)
    state, found = CheckState(), slots(files)
    originals = Originals()
    for (_, setting), slot in found.items():
        if slot.has_replies:
            originals.add(setting, read_replies(raw / slot.replies[0].place).rows)
    questions, unreadable = originals.questions()
    for name, reason in unreadable.items():
        state.add(ERROR, "unreadable-question", f"question {name}", reason)
    varied = {name: _varied(name, questions) for name in {setting for _, setting in found}}
    _check_slots(found, settings, files, state)
    rows = sum(_check_file(raw, slot, varied[slot.setting], state) for slot in found.values() if slot.has_replies)
    exact, logs = _check_logs(raw, found, state)
    return _quantities(found, questions, rows, exact, logs), state.findings


def _varied(setting: str, questions: Mapping[str, Question]) -> dict[str, Question]:
    function = SETTINGS[setting].function
    return {name: function(question) for name, question in questions.items()}


def _check_slots(
    found: Mapping[tuple[str, str], Slot], settings: ReleasedData, files: Sequence[ReleasedFile], state: CheckState
) -> None:
    """Report missing and empty files, other versions of files, and files of no known model and setting."""
    models = {model for model, setting in found if setting != PROPRIETARY}
    expected = [setting for setting in (settings.settings or SETTINGS) if setting != PROPRIETARY]
    for model in sorted(models):
        lacking = [name for name in expected if (slot := found.get((model, name))) is None or not slot.has_replies]
        if lacking:
            state.add(WARNING, "missing-predictions", model, f"no predictions in {', '.join(lacking)}; not run")
    for slot in found.values():
        where = f"{slot.model}, {slot.setting}"
        for file in (*slot.replies, *slot.logs):
            if file.size == 0:
                state.add(ERROR, "empty-file", file.path, f"the file is empty at commit {file.commit[:12]}")
        for kind, same in (("predictions", slot.replies), ("logs", slot.logs)):
            if len(filled := [file for file in same if file.size]) > 1:
                others = ", ".join(f"{file.path} at {file.commit[:12]}" for file in filled[1:])
                first = f"{filled[0].path} at {filled[0].commit[:12]}"
                text = f"several versions of the {kind}; {first} counts, not {others}"
                state.add(WARNING, "several-versions", where, text)
        if slot.has_replies and not slot.logs and slot.setting != PROPRIETARY:
            state.add(NOTE, "missing-log", where, "no log was released with the predictions")
    for path in other_files(files):
        state.add(NOTE, "other-file", path, "of no known model and setting; not used")


def _check_file(raw: Path, slot: Slot, questions: Mapping[str, Question], state: CheckState) -> int:
    """Report what is wrong with a file and with its rows; return the number of questions that it answers."""
    file = slot.replies[0]
    parsed = read_replies(raw / file.place)
    for problem in file_problems(parsed):
        state.add(ERROR if parsed.other_form or parsed.unreadable else WARNING, "unreadable-file", file.path, problem)
    missing = [name for name in questions if name not in parsed.rows]
    if missing:
        text = f"{len(missing)} of {len(questions)} questions have no prediction, {_some(missing)}; counted as failed"
        state.add(ERROR, "missing-rows", file.path, text)
    unknown = [name for name in parsed.rows if name not in questions]
    if unknown:
        text = f"{len(unknown)} predictions are of no question of the other files, {_some(unknown)}; not used"
        state.add(ERROR, "unknown-question", file.path, text)
    state.findings += _row_findings(file.path, parsed, questions, slot.setting)
    return len(questions) - len(missing)


def _row_findings(
    path: str, parsed: ReleasedReplies, questions: Mapping[str, Question], setting: str
) -> Iterator[Finding]:
    prefix, has_noise = SETTINGS[setting].prefix, SETTINGS[setting].has_noise
    differing: dict[str, list[str]] = {}
    types: Counter[tuple[str, str]] = Counter()
    without_text = without_reply = 0
    for name, row in parsed.rows.items():
        without_text += row.text is None
        without_reply += row.prediction is None
        if name not in questions:
            continue
        if (problem := difference(row, questions[name], prefix, has_noise)) is not None:
            differing.setdefault(problem, []).append(name)
        if row.text is not None and row.type != questions[name].category:
            types[row.type, questions[name].category] += 1
    for problem, names in differing.items():
        used = "used" if problem == OTHER_TEXT else "counted as failed"
        text = f"{len(names)} rows: the row {problem} than the other files, {_some(names)}; {used}"
        yield Finding(WARNING if problem == OTHER_TEXT else ERROR, "other-question", path, text)
    for (theirs, ours), count in types.items():
        severity = NOTE if OLD_TYPES.get(theirs) == ours else WARNING
        yield Finding(severity, "other-type", path, f"{count} questions of type {ours} are called {theirs}")
    if without_reply:
        yield Finding(WARNING, "no-prediction", path, f"{without_reply} rows have no prediction; counted as failed")
    if without_text:
        text = f"{without_text} rows have only an answer; their questions are those of the other files"
        yield Finding(NOTE, "answers-only", path, text)


def _some(names: Sequence[str]) -> str:
    return f"such as {', '.join(names[:_SHOWN])}"


def _check_logs(raw: Path, found: Mapping[tuple[str, str], Slot], state: CheckState) -> tuple[int, int]:
    """Report logs that the raw files do not reproduce; return the numbers of exact logs and of all."""
    compared = [each for slot in found.values() for each in compare_logs(raw, slot)]
    for each in compared:
        if each.outcome in (DIFFERS, UNREADABLE):
            state.add(WARNING, "log", each.log.path, f"not reproduced: {each.reason}")
        elif each.outcome == EXACT and each.reason:
            state.add(NOTE, "log", each.log.path, f"reproduced {each.reason} ({each.replies})")
        elif each.outcome != EXACT:
            state.add(NOTE, "log", each.log.path, f"not recomputed: {each.reason}")
    return sum(each.outcome == EXACT for each in compared), len(compared)


def _quantities(
    found: Mapping[tuple[str, str], Slot], questions: Mapping[str, Question], rows: int, exact: int, logs: int
) -> list[Quantity]:
    types = Counter(question.category for question in questions.values())
    files = Counter(setting for (_, setting), slot in found.items() if slot.has_replies)
    return [
        Quantity("questions", len(questions), 22_831, "the paper (Table 1)"),
        *(Quantity(f"questions of type {kind}", types[kind]) for kind in sorted(types)),
        Quantity("models", len({model for model, _ in found})),
        *(Quantity(f"files of predictions, {setting}", files[setting]) for setting in SETTINGS if setting in files),
        Quantity("predictions", rows),
        Quantity("logs", logs),
        Quantity("logs reproduced exactly", exact),
    ]
