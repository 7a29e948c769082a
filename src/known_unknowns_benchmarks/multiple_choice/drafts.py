"""Questions as the files have them, and every mistake in them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from known_unknowns.benchmark.image_places import has_mark, numbered_options
from known_unknowns.benchmark.images import ImageStore
from known_unknowns.errors import DataError
from known_unknowns.progress import Advance
from known_unknowns.records import Image, Option
from known_unknowns_benchmarks.multiple_choice import answers, refusals, row_images
from known_unknowns_benchmarks.multiple_choice.options import ColumnError, no_column, read_options, text_of
from known_unknowns_benchmarks.multiple_choice.settings import LETTERS, Settings, is_empty
from known_unknowns_benchmarks.multiple_choice.table_files import SourceRow, question_files, rows

_SHOWN = 20
_PASS = 1_000_000
"""In MMBench, the index of copy k of a question is that of the question plus k million."""
_VARYING = re.compile(
    r"(?<=none of the options ).*(?= \(read as)|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\d[\d,.]*|\b[A-Z]\b"
)
"""The parts of a message that differ between rows with the same kind of mistake."""


@dataclass(slots=True)
class Draft:
    """One question. ``answer`` is None until all rows are read.

    An image is a reference, or a text and its column: the id of another row of the file, whose images it has.

    ``id`` is that of the row, or else the row's number, and ``has_id`` says which. ``copy_of`` is the id of the
    question of which this is a circular copy: the same with its options in another order.
    """

    file: Path
    number: int
    id: str
    text: str
    hint: str
    options: tuple[Option, ...]
    refusal: int | None
    category: str
    given: Any
    answer_column: str
    images: list[Image | tuple[str, str]]
    has_id: bool
    answer: int | None = None
    copy_of: str = ""

    @property
    def given_answer(self) -> answers.Answer:
        """The answer as the row has it."""
        return answers.Answer(self.given, self.options, f"{self.file.name}, row {self.number}")

    @property
    def has_marks(self) -> bool:
        """Whether the texts say where images stand (`known_unknowns.benchmark.image_places`)."""
        texts = (self.hint, self.text, *(option.text for option in self.options))
        return bool(self.images) and any(map(has_mark, texts))

    def numbered_options(self) -> tuple[Option, ...] | None:
        """Return the options with the numbers of their images; None if it cannot be told which images are theirs."""
        texts = numbered_options((self.hint, self.text), [option.text for option in self.options], len(self.images))
        if texts is None:
            return None
        return tuple(replace(option, text=text) for option, text in zip(self.options, texts, strict=True))


@dataclass(frozen=True, slots=True)
class Problem:
    """A mistake in one row, or in a whole file."""

    file: Path
    number: int | None
    text: str

    @property
    def kind(self) -> tuple[Path, str]:
        """What is equal for the same kind of mistake in another row."""
        return self.file, _VARYING.sub("", self.text)

    def line(self, root: Path) -> str:
        """Return the mistake with its place."""
        if self.file == root:
            return self.text
        name = self.file.relative_to(root).as_posix() if self.file.is_relative_to(root) else str(self.file)
        return f"{name}{'' if self.number is None else f', row {self.number}'}: {self.text}"


@dataclass(slots=True)
class Drafts:
    """All questions of a folder, and all mistakes."""

    folder: Path
    questions: list[Draft] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    answer_is: str = ""  # what the answers are (`answers.MEANINGS`)
    # part of a question to the columns that it was read from
    columns: dict[str, set[str]] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)  # columns that no part of a question was read from
    # the sha256 of each distinct image to the choices that it needs, if images were decoded
    images: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def check(self) -> None:
        """Raise a DataError that lists the mistakes, if there are any."""
        if not self.problems:
            return
        lines = self.lines()
        shown = [*lines[:_SHOWN], *([f"... and {len(lines) - _SHOWN} more mistakes"] if len(lines) > _SHOWN else [])]
        count = f"{len(lines)} mistake{'s' * (len(lines) > 1)}"
        raise DataError("\n  ".join([f"{count} in the questions; nothing is used:", *shown]), file=self.folder)

    def lines(self) -> list[str]:
        """Return a line for each kind of mistake in a file, with the rows that have it."""
        kinds = defaultdict(list)
        for problem in self.problems:
            kinds[problem.kind].append(problem)
        lines = []
        for first, *others in kinds.values():
            rows = ranges([other.number for other in others if other.number is not None])
            more = f"; also in {len(others)} other row{'s' * (len(others) > 1)} ({rows})" if others else ""
            text, feed, remedy = first.line(self.folder).partition("\n")
            lines.append(text + more + feed + remedy)
        return lines

    def refusal_texts(self) -> Counter[str]:
        """Count the texts of the refusal options."""
        return Counter(d.options[d.refusal].text for d in self.questions if d.refusal is not None)


def ranges(numbers: Sequence[int], most: int = 10) -> str:
    """Return numbers as "2, 4-7", with at most so many ranges."""
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    shown = [str(low) if low == high else f"{low}-{high}" for low, high in found[:most]]
    return ", ".join([*shown, "..."] if len(found) > most else shown)


def read_drafts(
    folder: Path, settings: Settings, *, store: ImageStore | None = None, advance: Advance | None = None
) -> Drafts:
    """Read every question in the files of a folder, and decode every image; with a ``store``, store them.

    Raises DataError if there are no files with questions. Mistakes in rows are in the result.
    """
    drafts = Drafts(folder)
    files, reader = question_files(folder, settings.files), _RowImages(drafts, settings, store)
    if settings.images and not (folder / settings.images).is_dir():
        drafts.problems.append(Problem(folder, None, f"there is no folder {settings.images!r}, which images names"))
    for file in files:
        _read_file(file, reader, prefix=f"{file.stem}-" if len(files) > 1 else "", advance=advance)
    if not drafts.questions and not drafts.problems:
        text = f"no rows in {', '.join(file.name for file in files)}; add one per question"
        if settings.only:
            text += f", or correct `only` in params.yaml ({settings.only}), which no row fits"
        drafts.problems.append(Problem(folder, None, text))
    used = {name for names in drafts.columns.values() for name in names}
    listed = settings.fields.get("options")
    used.update([*(listed if isinstance(listed, list) else LETTERS), *settings.only])
    drafts.unused = [name for name in drafts.unused if name not in used]
    _find_duplicates(drafts)
    _resolve_answers(drafts, settings)
    _find_copies(drafts)
    _check_named_refusal(drafts, settings)
    drafts.problems.sort(key=lambda problem: (str(problem.file), problem.number or 0))
    return drafts


class _RowImages(NamedTuple):
    """What reading a row needs: the result so far, the settings, and where images are stored."""

    drafts: Drafts
    settings: Settings
    store: ImageStore | None

    def of(self, row: SourceRow, columns: Sequence[str]) -> list[Image | tuple[str, str]]:
        """Return the images that the columns of a row name."""
        root, settings = self.drafts.folder, self.settings
        if settings.images and not (root / settings.images).is_dir():
            return []
        searched = (root / settings.images,) if settings.images else (row.file.parent, root)
        folder = row_images.ImageFolder(root, searched)
        found = [(cell, c) for c in columns for cell in row_images.cells(row.values[c], c, folder)]
        return [(cell, c) if isinstance(cell, str) else self.keep(cell, c, row.file, row.number) for cell, c in found]

    def keep(self, data: bytes, column: str, file: Path, number: int) -> Image:
        """Store or only decode an image."""
        if self.store is None:
            digest = sha256(data).hexdigest()
            if digest not in self.drafts.images:
                self.drafts.images[digest] = tuple(row_images.choices_of(data, column))
            return Image("", digest, 0, 0)
        try:
            return self.store.add(data, file=file, row=number)
        except DataError as error:
            if (error.file, error.row) == (file, number):
                raise ColumnError(column, error.text) from error
            raise  # of an earlier row, decoded by another process


def _read_file(file: Path, reader: _RowImages, *, prefix: str, advance: Advance | None) -> None:
    drafts, settings = reader.drafts, reader.settings
    first = len(drafts.questions)
    with _collecting(drafts, file):
        for row in rows(file):
            drafts.unused += [name for name in row.values if name and name not in drafts.unused]
            with _collecting(drafts, file, row.number):
                if settings.selects(row.values):
                    drafts.questions.append(_draft(row, reader, prefix))
                    if advance:
                        advance()
    of_file = drafts.questions[first:]
    by_id = {draft.id.removeprefix(prefix): draft for draft in of_file}
    own = {name: [image for image in draft.images if isinstance(image, Image)] for name, draft in by_id.items()}
    for draft in of_file:
        with _collecting(drafts, file, draft.number):
            images: list[Image | tuple[str, str]] = []
            for image in draft.images:
                if isinstance(image, Image):
                    images.append(image)
                elif image[0] not in own:
                    images.append(reader.keep(row_images.decoded(*image), image[1], file, draft.number))
                elif not own[image[0]]:
                    raise ColumnError(image[1], f"row with index {image[0]!r} has no image of its own")
                else:
                    images += own[image[0]]
            draft.images = images


class _collecting:
    """A context that turns the errors of a row or a file into problems."""

    def __init__(self, drafts: Drafts, file: Path, number: int | None = None) -> None:
        self._drafts, self._file, self._number = drafts, file, number

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        if isinstance(error, DataError):
            text = str(error).removeprefix(str(error.file)).removeprefix(f", row {error.row}").removeprefix(": ")
            number = error.row if isinstance(error.row, int) else self._number
            self._drafts.problems.append(Problem(Path(error.file or self._file), number, text))
            return True
        if isinstance(error, ValueError | TypeError | OSError | OverflowError):
            self._drafts.problems.append(Problem(self._file, self._number, str(error)))
            return True
        return False


def _draft(row: SourceRow, reader: _RowImages, prefix: str) -> Draft:
    values, settings, columns = row.values, reader.settings, reader.drafts.columns
    asked = read_options(values, settings)
    named = settings.refusals
    try:
        refusal = refusals.find_refusal([option.text for option in asked.options], named)
    except ValueError as error:
        raise ColumnError(asked.column, str(error)) from error
    answer_column = settings.column("answer", values)
    if answer_column is None:
        raise no_column("answer", values)
    given = values[answer_column]
    if is_empty(given):
        raise ColumnError(answer_column, "no answer; fill it in, or remove the row")
    found = {part: settings.column(part, values) for part in ("id", "category", "hint")}
    used = found | {"question": settings.column("question", values), "options": asked.column, "answer": answer_column}
    for part, column in used.items():
        columns.setdefault(part, set()).update([column] if column else [])
    image_columns = _image_columns(values, settings)
    columns.setdefault("image", set()).update(image_columns)
    category, given_id = _optional(values, found["category"]), _optional(values, found["id"])
    return Draft(
        file=row.file,
        number=row.number,
        id=prefix + (given_id or str(row.number)),
        text=asked.text,
        hint=_optional(values, found["hint"]),
        options=asked.options,
        refusal=refusal,
        category=category or row.file.stem,
        given=asked.letters.get(str(given).strip(), given),
        answer_column=answer_column,
        images=reader.of(row, image_columns),
        has_id=bool(given_id),
    )


def _image_columns(values: Mapping[str, Any], settings: Settings) -> tuple[str, ...]:
    """Return the columns of a row that have an image. Only the last ones may be empty: the text can count them."""
    columns = settings.image_columns(values)
    filled = [name for name in columns if not is_empty(values[name])]
    if not columns and not settings.without_image:
        raise no_column("image", values, ", or set without_image: true")
    if not filled and not settings.without_image:
        raise ColumnError(columns[0], "no image; add it, or set without_image: true if the question needs none")
    for name, expected in zip(filled, columns, strict=False):
        if name != expected:
            raise ColumnError(expected, f"no image, and {name} has one; move the images up, or add it")
    return tuple(filled)


def _optional(values: Mapping[str, Any], column: str | None) -> str:
    if column is None or is_empty(values[column]):
        return ""
    return text_of(values[column], column)


def _find_duplicates(drafts: Drafts) -> None:
    first: dict[str, Draft] = {}
    for draft in drafts.questions:
        if not draft.has_id:
            continue
        other = first.setdefault(draft.id, draft)
        if other is not draft:
            text = f"the id {draft.id!r} is already that of row {other.number} of {other.file.name}; give it another id"
            drafts.problems.append(Problem(draft.file, draft.number, text))


def _resolve_answers(drafts: Drafts, settings: Settings) -> None:
    kind: str = settings.answer_is
    if kind == "auto" and drafts.questions:
        try:
            kind = answers.detect([draft.given_answer for draft in drafts.questions])
        except ValueError as error:
            drafts.problems.append(Problem(drafts.folder, None, str(error)))
            return
    drafts.answer_is = kind
    for draft in drafts.questions:
        try:
            draft.answer = answers.resolve(draft.given, draft.options, kind)
        except ValueError as error:
            drafts.problems.append(Problem(draft.file, draft.number, f"column {draft.answer_column}: {error}"))


def _find_copies(drafts: Drafts) -> None:
    """Recognise the circular copies of MMBench by their indices, if they also have the same texts and answer."""
    known = {draft.id: draft for draft in drafts.questions if draft.has_id and draft.answer is not None}
    for draft in known.values():
        match = re.fullmatch(r"(.*?)(\d{7,9})", draft.id)
        first = known.get(f"{match[1]}{int(match[2]) % _PASS}") if match else None
        if first is not None and first is not draft and _content(first) == _content(draft):
            draft.copy_of = first.id


def _content(draft: Draft) -> tuple[str, list[str], str]:
    assert draft.answer is not None
    return draft.text, sorted(option.text for option in draft.options), draft.options[draft.answer].text


def _check_named_refusal(drafts: Drafts, settings: Settings) -> None:
    """A refusal that no question has is a mistake in params.yaml."""
    if not settings.refusals or not drafts.questions or drafts.refusal_texts():
        return
    texts = Counter(option.text for draft in drafts.questions for option in draft.options)
    common = ", ".join(repr(text[:60]) for text, _ in texts.most_common(3))
    named = " or ".join(map(repr, settings.refusals))
    text = f"no question has the refusal option {named}; the most frequent options are {common}. Correct refusal"
    drafts.problems.append(Problem(drafts.folder, None, text))
