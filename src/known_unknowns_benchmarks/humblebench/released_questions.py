"""The questions of released predictions. The files repeat them, so that no other data are needed.

A question is taken from the settings that keep its options (`SETTINGS`). If files differ, the text that most files have
counts; the check reports the others (`known_unknowns_benchmarks.humblebench.released_check`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from known_unknowns.benchmark.question_text import parse_question
from known_unknowns.benchmark.released import ReleasedFile
from known_unknowns.benchmark.released_images import with_published_images
from known_unknowns.config import ReleasedData
from known_unknowns.data.released import read_manifest
from known_unknowns.errors import DataError
from known_unknowns.records import Image, Question
from known_unknowns_benchmarks.humblebench.released_files import SETTINGS, ReleasedRow, read_replies, slots

NAME, LETTERS, REFUSAL = "humblebench", "ABCDE", "E"
OLD_TYPES = {"Category": "Object", "Location": "Attribute", "Weather": "Attribute"}
"""Names of the types in older files of the released code. The logs of both versions show which types were merged."""
NOISE_PATH = ".cache/noise_image.png"


_AGAINST_ONE = 3
"""If one file has a question, and at least as many others have not, the question does not exist."""


class Originals:
    """The questions as published, from the rows of all files. The rows of a file are added with `add`."""

    def __init__(self) -> None:
        self._texts: dict[str, Counter[tuple[str, str, str]]] = {}
        self._paths: dict[str, str] = {}
        self._sizes: list[int] = []
        self._only_in: dict[str, int | None] = {}

    def add(self, setting: str, rows: Mapping[str, ReleasedRow]) -> None:
        """Add the rows of a file: the paths of images, and the texts if its setting keeps the options."""
        prefix, keeps_text = SETTINGS[setting].prefix, SETTINGS[setting].keeps_text
        number = len(self._sizes)
        self._sizes.append(len(rows))
        for name, row in rows.items():
            self._only_in[name] = None if name in self._only_in else number
            if keeps_text and row.text is not None and row.text.startswith(prefix):
                found = row.text.removeprefix(prefix), row.label, OLD_TYPES.get(row.type, row.type)
                self._texts.setdefault(name, Counter())[found] += 1
            if row.path and row.path != NOISE_PATH:
                self._paths.setdefault(name, row.path)

    def questions(self) -> tuple[dict[str, Question], dict[str, str]]:
        """Return the questions by id, in the order of their numbers, and the reasons for rows that are none."""
        found: dict[str, Question] = {}
        unreadable: dict[str, str] = {}
        for name in sorted(self._texts.keys() - self._strangers(), key=_order):
            for (text, label, kind), _ in self._texts[name].most_common():
                try:
                    found[name] = _question(name, text, label, kind, self._paths.get(name, ""))
                    break
                except ValueError as error:
                    unreadable.setdefault(name, str(error))
        return found, {name: reason for name, reason in unreadable.items() if name not in found}

    def _strangers(self) -> set[str]:
        """The ids that one file has and no other. Where they are most of their file, the files are of other parts."""
        if len(self._sizes) <= _AGAINST_ONE:
            return set()
        alone = {name: number for name, number in self._only_in.items() if number is not None}
        counts = Counter(alone.values())
        return {name for name, number in alone.items() if 2 * counts[number] < self._sizes[number]}


def _order(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdecimal() else (2**62, name)


def _question(name: str, text: str, label: str, kind: str, path: str) -> Question:
    stem, options = parse_question(text)
    labels = [option.label for option in options]
    for letter, role in ((label, "the label"), (REFUSAL, "the refusal")):
        if letter not in labels:
            raise ValueError(f"no option {letter}, which is {role}; the options are {', '.join(labels)}")
    digest = sha256(path.encode()).hexdigest()
    return Question(
        id=name,
        benchmark=NAME,
        text=stem,
        options=options,
        answer=labels.index(label),
        refusal=labels.index(REFUSAL),
        images=(Image(path, digest, 0, 0),),
        category=kind,
        group=path or f"question {name}",
        extra={"question_id": int(name) if name.isdecimal() else name, "label": label, "image_path": path},
    )


def read_originals(raw: Path, files: Sequence[ReleasedFile]) -> tuple[dict[str, Question], dict[str, str]]:
    """Return `Originals.questions` of the files in a fetched folder."""
    originals = Originals()
    for (_, setting), slot in slots(files).items():
        if slot.has_replies:
            originals.add(setting, read_replies(raw / slot.replies[0].place).rows)
    return originals.questions()


def load(raw: Path, folder: Path, settings: ReleasedData) -> Iterator[Question]:
    """Load the questions of a fetched folder, with the benchmark's own images where they are at hand.

    Parameters
    ----------
    raw : Path
        The fetched folder.
    folder : Path
        The folder of questions; images are linked into it.
    settings : ReleasedData
        The data's entry in params.yaml. ``questions`` names the folder of the benchmark's own questions.

    Raises
    ------
    DataError
        If no file has a question.
    """
    files = read_manifest(raw) or []
    found, _ = read_originals(raw, files)
    if not found:
        raise DataError(
            f"no file of predictions has a question{_other_form(raw, files)}; fetch the data again", file=raw
        )
    return with_published_images(found.values(), settings, folder)


def _other_form(raw: Path, files: Sequence[ReleasedFile]) -> str:
    """A file that is no lines of JSON, for the message."""
    for slot in slots(files).values():
        form = read_replies(raw / slot.replies[0].place).other_form if slot.has_replies else ""
        if form:
            return f"; {slot.replies[0].path} is {form}, not lines of JSON"
    return ""
