"""The released logs: their numbers, and the same numbers recomputed from the raw predictions.

A log is an object with "Accuracy" (each type, Overall_accuracy, E_accuracy) and "Proportions" (A to E, NA), in percent.
Older logs are lines of text that end in the same object. The released code computes each number as a count divided by a
count, times 100, so that equal counts give exactly equal numbers.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from known_unknowns.benchmark.released import ReleasedFile
from known_unknowns.errors import DataError
from known_unknowns_benchmarks.humblebench.official import letter
from known_unknowns_benchmarks.humblebench.released_files import ReleasedRow, Slot, read_replies
from known_unknowns_benchmarks.humblebench.released_questions import LETTERS, OLD_TYPES, REFUSAL

EXACT, DIFFERS, NO_REPLIES, UNREADABLE = "exact", "differs", "no replies", "unreadable"
"""Outcomes of the comparison of a log with its raw file."""
_PARTS = ("Accuracy", "Proportions")


@dataclass(frozen=True, slots=True)
class LogComparison:
    """A released log beside the numbers recomputed from the raw file.

    Attributes
    ----------
    model, setting : str
        Names of the folders.
    log : ReleasedFile
        The log.
    replies : str
        The raw file with which the numbers were computed, and its commit; empty if there is none.
    outcome : str
        `EXACT`, `DIFFERS`, `NO_REPLIES` or `UNREADABLE`.
    reason : str
        Why the outcome is not exact, or which file and which rows give the logged numbers.
    logged, recomputed : mapping of str to float
        Name of each number to its value in percent.
    """

    model: str
    setting: str
    log: ReleasedFile
    replies: str
    outcome: str
    reason: str
    logged: Mapping[str, float]
    recomputed: Mapping[str, float]


def read_log(path: Path) -> dict[str, float]:
    """Return the numbers of a log by name. Raises DataError if it is none."""
    text = path.read_text(encoding="utf-8", errors="replace")
    content = _object(text)
    try:
        numbers = {name: float(value) for part in _PARTS for name, value in content[part].items()}
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise DataError("not a log of the released code: no object with Accuracy and Proportions", file=path) from error
    for name, value in numbers.items():
        if not 0 <= value <= 100:
            raise DataError(f"not a log of the released code: {name} {value!r} is not a percentage", file=path)
    return numbers


def _object(text: str) -> Any:
    """The last object of a text, which starts with its "Accuracy": as JSON, or as Python prints it."""
    for start in reversed([place for place in range(len(text)) if text[place] == "{"]):
        if text[start + 1 :].lstrip()[1:9] != "Accuracy":
            continue
        end = text.rfind("}") + 1
        for parse in (json.loads, ast.literal_eval):
            try:
                return parse(text[start:end])
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return None


def recompute(rows: Iterable[ReleasedRow]) -> dict[str, float]:
    """Compute the numbers of a log from the rows of a file, as the released code does (``compute_metrics``).

    Rows without a label are left out. A prediction that is not a text counts as an empty one.
    """
    letters: Counter[str] = Counter()
    total: Counter[str] = Counter()
    right: Counter[str] = Counter()
    of_refusal = exact = n = 0
    for row in rows:
        if row.text is None:
            continue
        found = letter(row.prediction or "")
        n += 1
        letters[found or "NA"] += 1
        total[row.type] += 1
        right[row.type] += found == row.label
        if row.label == REFUSAL:
            of_refusal += 1
            exact += row.prediction == REFUSAL
    if not n:
        return {}
    accuracy = {f"{kind}_accuracy": right[kind] / total[kind] * 100 for kind in total}
    return {
        **accuracy,
        "Overall_accuracy": right.total() / n * 100,
        "E_accuracy": exact / max(of_refusal, 1) * 100,
        **{f"{name}_proportion": letters[name] / n * 100 for name in (*LETTERS, "NA")},
    }


def compare_logs(raw: Path, slot: Slot) -> list[LogComparison]:
    """Compare each log of a model and setting with the raw files of the same model and setting.

    Every version of the raw file is tried, each with the last row of every id and with all rows. The comparison that is
    returned is the first that is exact, or else that of the file that counts.
    """
    if not slot.logs:
        return []
    interpretations = list(_interpretations(raw, slot))
    found = []
    for log in slot.logs:
        try:
            logged = read_log(raw / log.place)
        except DataError as error:
            text = str(error.args[0])
            found.append(LogComparison(slot.model, slot.setting, log, "", UNREADABLE, text, {}, {}))
            continue
        tried = [_compared(slot, log, logged, *reading) for reading in interpretations]
        none = LogComparison(slot.model, slot.setting, log, "", NO_REPLIES, "no raw file was released", logged, {})
        first = tried[0] if tried else none
        found.append(next((each for each in tried if each.outcome == EXACT), first))
    return found


def _interpretations(raw: Path, slot: Slot) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Yield the name of each raw file, how it was read, and its numbers. The file that counts comes first."""
    for place, file in enumerate(slot.replies):
        replies = read_replies(raw / file.place)
        name = f"{file.path} at {file.commit[:12]}"
        yield name, f"with another version, {name}" if place else "", recompute(replies.rows.values())
        if replies.repeated:
            yield name, "with every line of repeated ids", recompute(replies.lines)


def _compared(
    slot: Slot, log: ReleasedFile, logged: Mapping[str, float], name: str, reading: str, found: Mapping[str, float]
) -> LogComparison:
    outcome, reason = EXACT, reading
    left, right = dict(logged), dict(found)
    if _has_old_types(left) != _has_old_types(right):
        left, right = _without_attributes(left), _without_attributes(right)
        reason = "the log and the raw file divide the attributes differently; all other numbers are equal"
    differing = [number for number in left if left[number] != right.get(number)]
    if not found:
        outcome, reason = NO_REPLIES, "the raw file has no row with a label"
    elif differing or left.keys() != right.keys():
        outcome, reason = DIFFERS, _difference(left, right, differing)
    return LogComparison(slot.model, slot.setting, log, name, outcome, reason, dict(logged), dict(found))


def _has_old_types(numbers: Mapping[str, float]) -> bool:
    return any(f"{kind}_accuracy" in numbers for kind in OLD_TYPES)


def _without_attributes(numbers: Mapping[str, float]) -> dict[str, float]:
    """Rename the objects, and leave out the types that older files divide differently."""
    of_objects = {f"{old}_accuracy": f"{new}_accuracy" for old, new in OLD_TYPES.items() if new == "Object"}
    left_out = {f"{kind}_accuracy" for pair in OLD_TYPES.items() for kind in pair} - {"Object_accuracy", *of_objects}
    return {of_objects.get(name, name): value for name, value in numbers.items() if name not in left_out}


def _difference(logged: Mapping[str, float], found: Mapping[str, float], names: Sequence[str]) -> str:
    if not names:
        return f"only the raw file has {', '.join(sorted(found.keys() - logged.keys()))}"
    first = names[0]
    return (
        f"{len(names)} numbers differ, such as {first}: logged {logged[first]!r}, recomputed {found.get(first)!r}; the "
        "log is of another version of the predictions, or the file was changed"
    )
