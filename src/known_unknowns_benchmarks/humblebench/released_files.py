"""The files of released predictions: which model and setting a path is of, and the rows of a file.

    <root>/<setting>/<model>/<model>.jsonl    one JSON object for each question
    <root>/<setting>/<model>/<model>.log      the metrics that the released code computed from it
    <root>/proprietary/<model>.jsonl          only question_id and model_answer, of the questions as published

The two files of a model and setting can lie under different roots and in different commits. Compressed files are named
in the check and not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from known_unknowns import variants
from known_unknowns.benchmark.released import ReleasedFile
from known_unknowns.benchmark.variant import Variant
from known_unknowns_benchmarks.humblebench.protocols import CAUTIOUS, FORCED_GROUNDING

PROPRIETARY = "proprietary"
"""The setting of files without questions."""
ANSWERS_ONLY = "answers only"
"""The outcome for a file without questions and without a setting in its name."""
REPLIES, LOG = "jsonl", "log"
_PLACE = re.compile(r"(?:.*/)?(?P<setting>[^/]+)/(?P<model>[^/]+)/(?P=model)\.(?P<kind>jsonl|log)(?:\.gz)?")
_ANSWERS_ONLY = re.compile(rf"(?:.*/)?{PROPRIETARY}/(?P<model>[^/]+)\.jsonl(?:\.gz)?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_OTHER_FORMS: Mapping[bytes, str] = {
    b"version https://git-lfs.github.com/spec/": "a pointer to Git LFS",
    b"\x1f\x8b": "compressed with gzip",
    b"PK\x03\x04": "a zip archive",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}
"""The first bytes of files that are no lines of JSON, and what the file is."""


class Setting(NamedTuple):
    """What a setting changes: a text before the question, and the question itself."""

    prefix: str
    function: Variant
    has_noise: bool = False

    @property
    def keeps_text(self) -> bool:
        """Whether the row of a question has its options as published."""
        return self.function is variants.original


SETTINGS: Mapping[str, Setting] = {
    "common": Setting("", variants.original),
    "nota_only": Setting("", variants.nota_only),
    "noise_image": Setting("", variants.original, has_noise=True),
    "shuffle_nota_position": Setting("", variants.shuffled_all_options),
    "cautious_prompt": Setting(CAUTIOUS, variants.original),
    "noise_image__forced_grounding_prompt": Setting(FORCED_GROUNDING, variants.original, has_noise=True),
    PROPRIETARY: Setting("", variants.original),
}
"""The released settings by the names of their folders."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The files of one model in one setting.

    Attributes
    ----------
    model, setting : str
        Names of the folders.
    replies, logs : list of ReleasedFile
        The file that counts first, then other versions. Empty files come last.
    """

    model: str
    setting: str
    replies: list[ReleasedFile] = field(default_factory=list)
    logs: list[ReleasedFile] = field(default_factory=list)

    @property
    def has_replies(self) -> bool:
        return bool(self.replies) and self.replies[0].size > 0


def slots(files: Iterable[ReleasedFile]) -> dict[tuple[str, str], Slot]:
    """Return the files by model and setting, in the order of the commits. Other files are left out."""
    found: dict[tuple[str, str], Slot] = {}
    for file in files:
        match = _PLACE.fullmatch(file.path) or _ANSWERS_ONLY.fullmatch(file.path)
        if match is None:
            continue
        named = {"setting": PROPRIETARY, "kind": REPLIES} | match.groupdict()
        if named["setting"] not in SETTINGS:
            continue
        key = named["model"], named["setting"]
        slot = found.setdefault(key, Slot(*key))
        same = slot.replies if named["kind"] == REPLIES else slot.logs
        if all(other.blob != file.blob for other in same):
            same.append(file)
    for slot in found.values():
        for same in (slot.replies, slot.logs):
            same.sort(key=lambda file: file.size == 0)
    return dict(sorted(found.items()))


def other_files(files: Iterable[ReleasedFile]) -> list[str]:
    """Return the paths of replies and logs of no known model and setting."""
    files = list(files)
    used = {file.path for slot in slots(files).values() for file in [*slot.replies, *slot.logs]}
    return sorted({file.path for file in files} - used)


class ReleasedRow(NamedTuple):
    """A line of a file. A line that has only an answer has no text, label, type and path."""

    text: str | None
    label: str
    type: str
    path: str
    prediction: str | None


@dataclass(frozen=True, slots=True)
class ReleasedReplies:
    """The rows of a file by question id, and what is wrong with the file.

    Attributes
    ----------
    rows : dict
        Of an id that occurs several times, the last row counts, as in the released code.
    lines : list of ReleasedRow
        All readable rows in the order of the file.
    unreadable : list of int
        Numbers of the lines that are not rows, from 1.
    reason : str
        What is wrong with the first of them.
    repeated : dict of str to int
        Ids that occur several times, and how many different predictions they have.
    other_form : str
        What the file is in place of lines of JSON, such as a pointer to Git LFS; empty for lines of JSON.
    is_cut : bool
        Whether the last line is incomplete.
    """

    rows: dict[str, ReleasedRow]
    lines: list[ReleasedRow]
    unreadable: list[int]
    repeated: dict[str, int]
    reason: str = ""
    other_form: str = ""
    is_cut: bool = False


def read_replies(path: Path) -> ReleasedReplies:
    """Read a file of predictions. Nothing that it contains raises an error."""
    content = path.read_bytes()
    for start, form in _OTHER_FORMS.items():
        if content.startswith(start):
            return ReleasedReplies({}, [], [], {}, other_form=form)
    rows: dict[str, ReleasedRow] = {}
    lines: list[ReleasedRow] = []
    unreadable: dict[int, str] = {}
    predictions: dict[str, set[str | None]] = {}
    parts = content.decode("utf-8-sig", errors="replace").split("\n")
    for number, line in enumerate(parts, start=1):
        if not line.strip():
            continue
        try:
            name, row = _row(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            unreadable[number] = _reason(error)
            continue
        if name in rows:
            predictions.setdefault(name, {rows[name].prediction}).add(row.prediction)
        rows[name] = row
        lines.append(row)
    repeated = {name: len(different) for name, different in predictions.items()}
    reason = next(iter(unreadable.values()), "")
    return ReleasedReplies(rows, lines, list(unreadable), repeated, reason, is_cut=len(parts) in unreadable)


def _reason(error: Exception) -> str:
    """Why a line is not a row."""
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]}"
    if isinstance(error, json.JSONDecodeError | RecursionError):
        return "it is not JSON"
    return str(error) if isinstance(error, ValueError) else "it is not an object"


def _row(values: Mapping[str, Any]) -> tuple[str, ReleasedRow]:
    name = values["question_id"]
    if isinstance(name, bool) or not isinstance(name, int | str) or _clean(str(name)) != str(name):
        raise ValueError(f"the id is {name!r}")
    if "model_answer" in values:
        return str(name), ReleasedRow(None, "", "", "", _clean(values["model_answer"]))
    text, label, kind = (_clean(values[key]) for key in ("question", "label", "type"))
    if text is None or label is None or kind is None:
        raise ValueError("a field is not a text")
    path = _clean((values.get("image") or {}).get("path")) or ""
    return str(name), ReleasedRow(text, label, kind, path, _clean(values["prediction"]))


def _clean(value: Any) -> str | None:
    """A text without lone surrogates, which cannot be written as UTF-8; None for anything else."""
    if not isinstance(value, str):
        return None
    return value if value.isascii() else _SURROGATE.sub("\ufffd", value)


def normal(text: str) -> str:
    """Return a text with each run of white space as one space."""
    return " ".join(text.split())
