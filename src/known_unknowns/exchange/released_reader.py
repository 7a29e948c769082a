"""Replies that authors released: which files are those of a model and setting, and whether they are what they say.

The files are read as any file of predictions (`known_unknowns.exchange.reader`); released.yaml beside a benchmark says
where they are.

The files of a model and setting can lie under different roots and in different commits; the file of the first commit
counts. Nothing that a file contains raises an error: `known_unknowns.exchange.released_check` reports what is wrong.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict

from known_unknowns import tables
from known_unknowns.benchmark.exchange import NO_PREDICTION, Prediction
from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.benchmark.released import ANSWERS_ONLY, Released, ReleasedCell, ReleasedFile, ReleasedTurn
from known_unknowns.config import ReleasedData
from known_unknowns.data.git import read_manifest
from known_unknowns.errors import DataError
from known_unknowns.exchange.embedded_questions import image_path
from known_unknowns.exchange.reader import parse_file
from known_unknowns.files import link_or_copy
from known_unknowns.images import files_of
from known_unknowns.records import Question
from known_unknowns.yaml_reader import parse_yaml

REPLIES, LOG, HISTORY = "replies", "log", "history"
"""Kinds of files: replies, the numbers computed from them, and the turns before the answers."""
EXACT, DIFFERS, NO_REPLIES, UNREADABLE = "exact", "differs", "no replies", "unreadable"
"""Outcomes of the comparison of released numbers with the replies."""
OTHER_OPTIONS = "asks other options, or the same in another order"
OTHER_LABEL = "has another label"
OTHER_TEXT = "asks the same options with another text"
_AGAINST_ONE = 3
"""If one file has a question, and at least as many others have not, the question does not exist."""


class Setting(BaseModel):
    """What a released setting changes: the question, by a variant, and a text before it.

    ``has_noise`` says that the label stays although the image shows nothing. Replies of a setting with ``answers_only``
    come without questions.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    variant: str = "original"
    before: str = ""
    has_noise: bool = False
    answers_only: bool = False


class Layout(BaseModel):
    """The content of released.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    files: dict[str, list[re.Pattern[str]]]
    """Kind of file ("replies", "log", ...) to the patterns of its paths, with the groups ``model`` and ``setting``."""
    settings: dict[str, Setting]
    """The settings by the names in the paths."""
    not_replies: list[str] = []
    """Paths that are fetched for another purpose."""
    types: dict[str, str] = {}
    """Types of questions in older files to the types that they were merged into."""
    stand_in: str = ""
    """The path of the image that was shown in place of all others."""
    questions: dict[str, Any]
    """The published number of questions, and its source."""
    table: str
    """Name of the released numbers as a published table. It and ``column`` can have {setting}, {variant} and {name}."""
    column: str
    revision: str
    shown: list[str]
    """The numbers that the list of logs shows."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The files of one model in one setting, by kind: the one that counts, other versions, empty ones."""

    model: str
    setting: str
    files: dict[str, list[ReleasedFile]]

    def first(self, kind: str = REPLIES) -> ReleasedFile | None:
        """Return the file of a kind that counts; None if there is none but empty ones."""
        return next((file for file in self.files.get(kind, ()) if file.size), None)


class ReplyRow(NamedTuple):
    """A reply. One without its question has no text, label, type and image."""

    text: str | None
    label: str
    type: str
    image: str
    reply: str | None


@dataclass(frozen=True, slots=True)
class ReplyFile:
    """The rows of a file by question id (or by the question's number), and what is wrong with the file."""

    rows: dict[str, ReplyRow] = field(default_factory=dict)
    """Of an id that occurs several times, the last row counts."""
    lines: list[ReplyRow] = field(default_factory=list)
    """All readable rows in the order of the file."""
    repeats: bool = False
    """Whether an id occurs several times."""
    by_number: bool = False
    """Whether the rows name questions by their number."""
    problems: list[str] = field(default_factory=list)
    """What is wrong, whatever the questions are."""
    is_broken: bool = False
    """Whether some of the file could not be read."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The numbers of a released log, in percent, beside those recomputed from the replies.

    ``replies`` is the file of replies and its commit. ``reason`` says why the outcome is not exact, or which file and
    which rows give the logged numbers.
    """

    slot: Slot
    log: ReleasedFile
    outcome: str
    reason: str
    replies: str = ""
    logged: Mapping[str, float] = field(default_factory=dict)
    recomputed: Mapping[str, float] = field(default_factory=dict)


Numbers = Mapping[str, float]
Turns = Mapping[str, Sequence[ReleasedTurn]]
QuestionsOf = Callable[[str], Sequence[Question]]


class ReleasedReader(Released):
    """Reads the files that released.yaml describes. A benchmark adds what only its files have."""

    folder: ClassVar[Path]
    """The folder of released.yaml."""
    texts: ClassVar[Mapping[str, str]] = {}
    """The texts that settings name."""

    @cached_property
    def layout(self) -> Layout:
        """The content of released.yaml."""
        return Layout.model_validate(parse_yaml((self.folder / "released.yaml").read_text(encoding="utf-8")))

    # What a benchmark adds

    def question(self, name: str, text: str, label: str, kind: str, image: str) -> Question:
        """Return the question that rows of replies contain. ValueError if they do not contain one."""
        raise NotImplementedError

    def label(self, question: Question, setting: Setting) -> str:
        """Return the label that rows of a setting have for a question."""
        raise NotImplementedError

    @abstractmethod
    def read_numbers(self, path: Path) -> dict[str, float]:
        """Return the numbers of a log by name, in percent. DataError if it is none."""

    @abstractmethod
    def recompute(self, rows: Sequence[ReplyRow], questions: Sequence[Question]) -> dict[str, float]:
        """Compute the numbers of a log from the rows of a file, as the released code does."""

    @abstractmethod
    def metric(self, name: str, setting: Setting) -> tuple[str, str, str] | None:
        """Return our metric for a number of a log, its category, and what it is a count of; None if there is none."""

    @abstractmethod
    def counts(self, questions: Sequence[Question], setting: Setting) -> Mapping[str, int]:
        """Return the numbers of questions that the numbers of a log are counts of."""

    def comparable(self, logged: Numbers, found: Numbers) -> tuple[Numbers, Numbers, str]:
        """Return the numbers to compare, and a remark on those that are left out."""
        return logged, found, ""

    def dialogues(
        self, raw: Path, slot: Slot, questions: Sequence[Question], turns: Turns
    ) -> tuple[dict[str, Sequence[ReleasedTurn]], list[str]]:
        """Return the dialogues whose turns before the answer were released too, by question id, and what is wrong."""
        return {}, []

    # Files

    def slots(self, files: Sequence[ReleasedFile]) -> dict[tuple[str, str], Slot]:
        """Return the files by model and setting, in the order of the commits. Other files are left out."""
        found: dict[tuple[str, str], Slot] = {}
        for file in files:
            for kind, match in self._places(file):
                key = match["model"], match["setting"]
                same = found.setdefault(key, Slot(*key, {})).files.setdefault(kind, [])
                if all(other.blob != file.blob for other in same):
                    same.append(file)
        for slot in found.values():
            for same in slot.files.values():
                same.sort(key=lambda file: file.size == 0)
        return dict(sorted(found.items()))

    def _places(self, file: ReleasedFile) -> Iterator[tuple[str, Any]]:
        for kind, patterns in self.layout.files.items():
            match = next((match for pattern in patterns if (match := pattern.fullmatch(file.path))), None)
            if match is not None and match["setting"] in self.layout.settings:
                yield kind, match

    def variants(self, files: Sequence[ReleasedFile], entry: ReleasedData) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for (model, setting), slot in self.slots(files).items():
            variant = entry.settings.get(setting)
            if slot.first() and variant is not None and variant not in found.setdefault(model, []):
                found[model].append(variant)
        return found

    def read(self, path: Path) -> ReplyFile:
        """Read a file of replies."""
        errors: list[DataError] = []
        rows: dict[str, ReplyRow] = {}
        lines: list[ReplyRow] = []
        replies: dict[str, set[str | None]] = {}
        try:
            predictions = parse_file(path, errors).predictions
        except DataError as error:
            return ReplyFile(problems=[error.text], is_broken=True)
        for prediction in predictions:
            try:
                row = _row(prediction)
            except DataError as error:
                errors.append(error)
                continue
            name = prediction.name
            if name in rows:
                replies.setdefault(name, {rows[name].reply}).add(row.reply)
            rows[name] = row
            lines.append(row)
        problems = [_unreadable(errors)] if errors else []
        if replies:
            differing = sum(len(different) > 1 for different in replies.values())
            problems.append(
                f"{len(replies)} questions are answered more than once ({differing} of them differently); the last "
                "line counts, as in the released code"
            )
        by_number = any(prediction.id is None for prediction in predictions)
        return ReplyFile(rows, lines, bool(replies), by_number, problems, is_broken=bool(errors))

    # Questions

    def questions(self, raw: Path, entry: ReleasedData) -> tuple[dict[str, Question], dict[str, str]]:
        """Return the questions by id, in the order of their numbers, and the reasons for rows that are none.

        A question is taken from the settings that keep its options. If files differ, the text that most files have
        counts.
        """
        texts: dict[str, Counter[tuple[str, str, str]]] = {}
        images: dict[str, str] = {}
        sizes: list[int] = []
        only_in: dict[str, int | None] = {}
        for (_, name), slot in self.slots(read_manifest(raw) or []).items():
            file, setting = slot.first(), self.layout.settings[name]
            if file is None:
                continue
            rows, before = self.read(raw / file.place).rows, self._before(setting)
            for identifier, row in rows.items():
                only_in[identifier] = None if identifier in only_in else len(sizes)
                if setting.variant == "original" and row.text is not None and row.text.startswith(before):
                    kind = self.layout.types.get(row.type, row.type)
                    texts.setdefault(identifier, Counter())[row.text.removeprefix(before), row.label, kind] += 1
                if row.image and row.image != self.layout.stand_in:
                    images.setdefault(identifier, row.image)
            sizes.append(len(rows))
        found: dict[str, Question] = {}
        unreadable: dict[str, str] = {}
        for identifier in sorted(texts.keys() - _strangers(only_in, sizes), key=_order):
            for version, _ in texts[identifier].most_common():
                try:
                    found[identifier] = self.question(identifier, *version, images.get(identifier, ""))
                    break
                except ValueError as error:
                    unreadable.setdefault(identifier, str(error))
        return found, {name: reason for name, reason in unreadable.items() if name not in found}

    def _before(self, setting: Setting) -> str:
        return self.texts[setting.before] if setting.before else ""

    def load(self, raw: Path, folder: Path, entry: ReleasedData) -> Iterator[Question]:
        found, _ = self.questions(raw, entry)
        if not found:
            raise DataError(
                f"no file of predictions has a question{self._first_problem(raw)}; fetch the data again", file=raw
            )
        return with_published_images(found.values(), entry, folder)

    def _first_problem(self, raw: Path) -> str:
        for slot in self.slots(read_manifest(raw) or []).values():
            file = slot.first()
            if file and (parsed := self.read(raw / file.place)).problems and not parsed.rows:
                return f"; {file.path}: {parsed.problems[0]}"
        return ""

    # Replies

    def slot(self, files: Sequence[ReleasedFile], entry: ReleasedData, model: str, variant: str) -> Slot | None:
        """Return the model's files of the first setting that stands for the variant and has replies."""
        found = self.slots(files)
        named = [setting for setting, of_setting in entry.settings.items() if of_setting == variant]
        return next((s for name in named if (s := found.get((model, name))) is not None and s.first()), None)

    def replies(
        self,
        raw: Path,
        files: Sequence[ReleasedFile],
        entry: ReleasedData,
        model: str,
        variant: str,
        questions: Sequence[Question],
    ) -> ReleasedCell:
        slot = self.slot(files, entry, model, variant)
        file = slot.first() if slot else None
        if slot is None or file is None:
            return ReleasedCell({}, (), ("no file was released",))
        parsed, setting = self.read(raw / file.place), self.layout.settings[slot.setting]
        known = by_key(questions, parsed)
        found = {key: (question, parsed.rows[key]) for key, question in known.items() if key in parsed.rows}
        problems = {key: self.difference(row, question, setting) for key, (question, row) in found.items()}
        turns = {question.id: (as_turn(row, problems[key]),) for key, (question, row) in found.items()}
        unknown, missing = parsed.rows.keys() - known.keys(), len(questions) - len(turns)
        counts = Counter(problem for problem in problems.values() if problem)
        notes = [*(f"{count} rows: {problem}" for problem, count in counts.items()), *parsed.problems]
        notes += [f"{missing} of {len(questions)} questions have no prediction"] if missing else []
        notes += [f"{len(unknown)} predictions have no question, such as {min(unknown)}"] if unknown else []
        further, of_history = self.dialogues(raw, slot, questions, turns)
        files = (file, *slot.files[HISTORY][:1]) if further else (file,)
        return ReleasedCell({**turns, **further}, files, (*notes, *of_history))

    def difference(self, row: ReplyRow, question: Question, setting: Setting) -> str | None:
        """Return how the question of a row differs from the variant's question; None if it does not.

        White space is not compared.
        """
        if row.text is None:
            return None
        if row.label != self.label(question, setting):
            return OTHER_LABEL
        text = _normal(row.text)
        if text == _normal(self._before(setting) + question.rendered):
            return None
        options = _normal("\n".join(option.line for option in question.options))
        return OTHER_TEXT if text.endswith(options) else OTHER_OPTIONS

    # Numbers

    def compare(self, raw: Path, slot: Slot, questions: Sequence[Question]) -> list[Comparison]:
        """Compare each log of a model and setting with the replies of the same model and setting.

        Every version of the replies is tried, each with the last row of every id and with all rows. The comparison that
        is returned is the first that is exact, or else that of the file that counts.
        """
        logs = slot.files.get(LOG, ())
        tried = list(self._recomputed(raw, slot, questions)) if logs else []
        found = []
        for log in logs:
            try:
                logged = self.read_numbers(raw / log.place)
            except DataError as error:
                found.append(Comparison(slot, log, UNREADABLE, str(error.args[0])))
                continue
            compared = [self._compared(slot, log, logged, *each) for each in tried] or [
                Comparison(slot, log, NO_REPLIES, "no raw file was released", logged=logged)
            ]
            if logged:
                found.append(next((each for each in compared if each.outcome == EXACT), compared[0]))
        return found

    def _recomputed(
        self, raw: Path, slot: Slot, questions: Sequence[Question]
    ) -> Iterator[tuple[str, str, dict[str, float]]]:
        """Yield the name of each file of replies, how it was read, and its numbers; the file that counts first."""
        for place, file in enumerate(slot.files.get(REPLIES, ())):
            parsed, name = self.read(raw / file.place), f"{file.path} at {file.commit[:12]}"
            reading = f"with another version, {name}" if place else ""
            yield name, reading, self.recompute(list(parsed.rows.values()), questions)
            if parsed.repeats:
                yield name, "with every line of repeated ids", self.recompute(parsed.lines, questions)

    def _compared(
        self,
        slot: Slot,
        log: ReleasedFile,
        logged: Mapping[str, float],
        name: str,
        reading: str,
        found: dict[str, float],
    ) -> Comparison:
        left, right, remark = self.comparable(logged, found)
        outcome, reason = EXACT, remark or reading
        if not found:
            outcome, reason = NO_REPLIES, "the raw file has no row with a label"
        elif left != right:
            outcome, reason = DIFFERS, _difference(left, right)
        return Comparison(slot, log, outcome, reason, name, logged, found)

    def published(
        self,
        raw: Path,
        files: Sequence[ReleasedFile],
        entry: ReleasedData,
        names: Mapping[str, str],
        questions: QuestionsOf,
    ) -> tuple[list[PublishedCell], list[dict[str, Any]]]:
        cells: list[PublishedCell] = []
        rows: list[dict[str, Any]] = []
        of_variant = cache(questions)
        for (model, name), slot in self.slots(files).items():
            variant, setting = entry.settings.get(name), self.layout.settings[name]
            asked = of_variant(variant) if variant and slot.files.get(LOG) else ()
            compared = self.compare(raw, slot, asked)
            rows += [self._log_row(each) for each in compared]
            if setting.answers_only and slot.first():
                rows.append({"model": model, "setting": name, "outcome": ANSWERS_ONLY})
            if model in names and variant is not None and compared:
                best = next((each for each in compared if each.outcome == EXACT), compared[0])
                cells += self._cells(best, variant, names[model], self.counts(asked, setting), entry.repository)
        return cells, rows

    def _log_row(self, compared: Comparison) -> dict[str, Any]:
        shown = self.layout.shown
        return {
            "model": compared.slot.model,
            "setting": compared.slot.setting,
            "log": compared.log.path,
            "commit": compared.log.commit,
            "replies": compared.replies,
            "outcome": compared.outcome,
            "reason": compared.reason,
            "numbers": len(compared.logged),
            **{f"logged_{name}": compared.logged.get(name) for name in shown},
            **{f"recomputed_{name}": compared.recomputed.get(name) for name in shown},
        }

    def _cells(
        self, compared: Comparison, variant: str, row: str, counts: Mapping[str, int], repository: str
    ) -> Iterator[PublishedCell]:
        """The numbers of a log that correspond to a metric.

        A log does not state its number of questions. It is ours if the percentage is a whole count of it, else unknown.
        """
        slot = compared.slot
        for name, value in compared.logged.items():
            found = self.metric(name, self.layout.settings[slot.setting])
            if found is None:
                continue
            metric, category, counted = found
            n = counts.get(counted, 0)
            is_whole = n and abs(value * n / 100 - round(value * n / 100)) < 1e-6
            names = {"setting": slot.setting, "variant": variant, "name": name}
            yield PublishedCell(
                benchmark=self.benchmark,
                table=self.layout.table.format_map(names),
                row=slot.model,
                column=self.layout.column.format_map(names),
                variant=variant,
                category=category,
                metric=metric,
                value=value,
                decimals=min(len(f"{value!r}".partition(".")[2]), 12),
                source=f"{compared.log.path} at {compared.log.commit[:12]} of {repository}",
                note=""
                if compared.outcome == EXACT
                else f"The raw file does not reproduce the log: {compared.reason}.",
                model=row,
                parser="official",
                revision=self.layout.revision,
                questions=n if is_whole else None,
            )

    @property
    def benchmark(self) -> str:
        """The benchmark's name."""
        return self.folder.name


def with_published_images(questions: Iterable[Question], settings: ReleasedData, folder: Path) -> Iterator[Question]:
    """Give each question the images and the group of the benchmark's own question of the same id and text.

    ``settings.questions`` names the folder of the benchmark's own questions, which may be absent. Their images are
    linked into ``folder``, the folder of questions to write. A question without such a question is unchanged.
    """
    (folder / "images").mkdir(parents=True, exist_ok=True)
    source = Path(settings.questions or folder / "absent")
    table = source / "questions.parquet"
    own = {question.id: question for question in tables.read_questions(table)} if table.is_file() else {}
    for question in questions:
        same = own.get(question.id)
        if same is None or same.rendered != question.rendered:
            yield question
            continue
        for path in (path for image in same.images for path in files_of(image)):
            _link(source / path, folder / path)
        yield replace(question, images=same.images, group=same.group)


def _link(source: Path, target: Path) -> None:
    """Link an image unless it is there already."""
    if target.exists() or not source.is_file():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    link_or_copy(source, target)


def _row(prediction: Prediction) -> ReplyRow:
    """Return the reply and the parts of its question. Some files have only answers."""
    fields, reply = prediction.fields, None if prediction.error else prediction.text
    if "question" not in fields:
        return ReplyRow(None, "", "", "", reply)
    text, label, kind = fields["question"], fields.get("label"), fields.get("type")
    if not isinstance(text, str) or not isinstance(label, str) or not isinstance(kind, str):
        raise prediction.row.error("a field is not a text")
    return ReplyRow(text, label, kind, image_path(fields), reply)


def _unreadable(errors: Sequence[DataError]) -> str:
    """Return how many lines cannot be read, and why the first of them."""
    first = min(errors, key=lambda error: error.line or 0)
    return f"{len(errors)} unreadable line{'s' * (len(errors) > 1)}, the first is {first.line} ({first.text})"


def by_key(questions: Sequence[Question], parsed: ReplyFile) -> dict[str, Question]:
    """Return the questions by what a file calls them: their id, or their number."""
    return {str(n) if parsed.by_number else question.id: question for n, question in enumerate(questions)}


def _normal(text: str) -> str:
    """Return a text with each run of white space as one space."""
    return " ".join(text.split())


def _strangers(only_in: Mapping[str, int | None], sizes: Sequence[int]) -> set[str]:
    """The ids that one file has and no other. Where they are most of their file, the files are of other parts."""
    if len(sizes) <= _AGAINST_ONE:
        return set()
    alone = {name: number for name, number in only_in.items() if number is not None}
    counts = Counter(alone.values())
    return {name for name, number in alone.items() if 2 * counts[number] < sizes[number]}


def _order(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdecimal() else (2**62, name)


def as_turn(row: ReplyRow, problem: str | None) -> ReleasedTurn:
    """Return the turn of a row, which is failed if its question is another one."""
    if problem in (OTHER_OPTIONS, OTHER_LABEL):
        return ReleasedTurn(row.reply or "", f"the released row {problem}")
    if row.reply is None:
        return ReleasedTurn("", NO_PREDICTION)
    return ReleasedTurn(row.reply, prompt=row.text or "")


def _difference(logged: Numbers, found: Numbers) -> str:
    names = [name for name in logged if logged[name] != found.get(name)]
    if not names:
        return f"only the raw file has {', '.join(sorted(found.keys() - logged.keys()))}"
    first = names[0]
    return (
        f"{len(names)} numbers differ, such as {first}: logged {logged[first]!r}, recomputed {found.get(first)!r}; the "
        "log is of another version of the predictions, or the file was changed"
    )
