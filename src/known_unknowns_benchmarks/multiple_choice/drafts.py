"""Questions as the files have them, and every mistake in them, before any image is decoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from known_unknowns.errors import DataError
from known_unknowns.records import Option
from known_unknowns_benchmarks.multiple_choice import answers, refusals, row_images
from known_unknowns_benchmarks.multiple_choice.options import ColumnError, NoColumnError, read_options, text_of
from known_unknowns_benchmarks.multiple_choice.settings import LETTERS, Settings, is_empty
from known_unknowns_benchmarks.multiple_choice.table_files import SourceRow, question_files, rows

_SHOWN = 20


@dataclass(slots=True)
class Draft:
    """One question without its images. ``answer`` is None until all rows are read."""

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
    image_column: str
    answer: int | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """A mistake in one row, or in a whole file."""

    file: Path
    number: int | None
    text: str

    def line(self, root: Path) -> str:
        """Return the mistake with its place."""
        if self.file == root:
            return self.text
        name = self.file.relative_to(root).as_posix() if self.file.is_relative_to(root) else str(self.file)
        return f"{name}{'' if self.number is None else f', row {self.number}'}: {self.text}"


@dataclass(slots=True)
class Drafts:
    """All questions of a folder, and all mistakes.

    Attributes
    ----------
    questions : list of Draft
    problems : list of Problem
    answer_is : str
        What the answers are (`answers.MEANINGS`).
    columns : dict
        Part of a question to the columns that it was read from.
    unused : list of str
        Columns that no part of a question was read from.
    images : dict
        The sha256 of each distinct image to the choices that it needs, if images were decoded.
    """

    folder: Path
    questions: list[Draft] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    answer_is: str = ""
    columns: dict[str, set[str]] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    images: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def check(self) -> None:
        """Raise a DataError that lists the mistakes, if there are any."""
        if not self.problems:
            return
        lines = [problem.line(self.folder) for problem in self.problems[:_SHOWN]]
        if len(self.problems) > _SHOWN:
            lines.append(f"... and {len(self.problems) - _SHOWN} more mistakes")
        number = len(self.problems)
        raise DataError(
            "\n  ".join([f"{number} mistake{'s' * (number > 1)} in the questions; nothing is used:", *lines]),
            file=self.folder,
        )

    def has(self, problem: Problem) -> bool:
        """Return whether another row of the same file has the same mistake."""
        return any((known.file, known.text) == (problem.file, problem.text) for known in self.problems)

    def refusal_texts(self) -> Counter[str]:
        """Count the texts of the refusal options."""
        return Counter(d.options[d.refusal].text for d in self.questions if d.refusal is not None)


def images_of(row: SourceRow, column: str, root: Path, settings: Settings, ids: set[str]) -> list[row_images.ImageCell]:
    """Return the images that a row names; see `row_images.cells`."""
    searched = (root / settings.images,) if settings.images else (row.file.parent, root)
    return row_images.cells(row.values[column], column, row_images.ImageFolder(root, searched), ids)


def read_drafts(folder: Path, settings: Settings, *, decode_images: bool = True) -> Drafts:
    """Read every question.

    Parameters
    ----------
    folder : Path
        The folder of the files.
    settings : Settings
        How the files are read.
    decode_images : bool
        Whether each image is decoded. If not, it is only searched.

    Raises
    ------
    DataError
        If there are no files with questions. Mistakes in rows are in the result.
    """
    drafts = Drafts(folder)
    files, find_images = question_files(folder, settings.files), True
    if settings.images and not (folder / settings.images).is_dir():
        drafts.problems.append(Problem(folder, None, f"there is no folder {settings.images!r}, which images names"))
        find_images = False
    for file in files:
        _read_file(file, drafts, settings, prefix=f"{file.stem}-" if len(files) > 1 else "")
    if not drafts.questions and not drafts.problems:
        drafts.problems.append(
            Problem(folder, None, f"no rows in {', '.join(file.name for file in files)}; add one per question")
        )
    used = {name for names in drafts.columns.values() for name in names}
    listed = settings.fields.get("options")
    used.update(listed if isinstance(listed, list) else LETTERS)
    drafts.unused = [name for name in drafts.unused if name not in used]
    _find_duplicates(drafts)
    _resolve_answers(drafts, settings)
    _check_named_refusal(drafts, settings)
    if find_images:
        _check_images(drafts, files, settings, decode=decode_images)
    drafts.problems.sort(key=lambda problem: (str(problem.file), problem.number or 0))
    return drafts


def _read_file(file: Path, drafts: Drafts, settings: Settings, *, prefix: str) -> None:
    with _collecting(drafts, file):
        for row in rows(file):
            drafts.unused += [name for name in row.values if name and name not in drafts.unused]
            with _collecting(drafts, file, row.number):
                drafts.questions.append(_draft(row, settings, drafts.columns, prefix))


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
            self._drafts.problems.append(Problem(self._file, number, text))
            return True
        if isinstance(error, ValueError | TypeError | OSError | OverflowError):
            problem = Problem(self._file, self._number, str(error))
            if not isinstance(error, NoColumnError) or not self._drafts.has(problem):
                self._drafts.problems.append(problem)
            return True
        return False


def _draft(row: SourceRow, settings: Settings, columns: dict[str, set[str]], prefix: str) -> Draft:
    values = row.values
    text, options, option_columns = read_options(values, settings)
    named = settings.refusals
    try:
        refusal = refusals.find_refusal([option.text for option in options], named)
    except ValueError as error:
        raise ColumnError(option_columns, str(error)) from error
    answer_column = settings.column("answer", values)
    if answer_column is None:
        raise NoColumnError("answer", values)
    if is_empty(values[answer_column]):
        raise ColumnError(answer_column, "no answer; fill it in, or remove the row")
    found = {part: settings.column(part, values) for part in ("id", "category", "hint", "image")}
    image = found["image"]
    if image is None and not settings.without_image:
        raise NoColumnError("image", values, ", or set without_image: true")
    if image is not None and is_empty(values[image]):
        if not settings.without_image:
            raise ColumnError(image, "no image; add it, or set without_image: true if the question needs none")
        image = None
    used = found | {"question": settings.column("question", values), "options": option_columns, "answer": answer_column}
    for part, column in used.items():
        columns.setdefault(part, set()).update([column] if column else [])
    category = _optional(values, found["category"])
    return Draft(
        file=row.file,
        number=row.number,
        id=prefix + (_optional(values, found["id"]) or str(row.number)),
        text=text,
        hint=_optional(values, found["hint"]),
        options=options,
        refusal=refusal,
        category=category or row.file.stem,
        given=values[answer_column],
        answer_column=answer_column,
        image_column=image or "",
    )


def _optional(values: Mapping[str, Any], column: str | None) -> str:
    if column is None or is_empty(values[column]):
        return ""
    value = values[column]
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # pandas stores a column of integers with a gap as floats
    return text_of(value, column)


def _find_duplicates(drafts: Drafts) -> None:
    first: dict[str, Draft] = {}
    for draft in drafts.questions:
        other = first.setdefault(draft.id, draft)
        if other is not draft:
            text = f"the id {draft.id!r} is already that of row {other.number} of {other.file.name}; give it another id"
            drafts.problems.append(Problem(draft.file, draft.number, text))


def _resolve_answers(drafts: Drafts, settings: Settings) -> None:
    kind: str = settings.answer_is
    if kind == "auto" and drafts.questions:
        try:
            kind = answers.detect([(draft.given, draft.options) for draft in drafts.questions])
        except ValueError as error:
            drafts.problems.append(Problem(drafts.folder, None, str(error)))
            return
    drafts.answer_is = kind
    for draft in drafts.questions:
        try:
            draft.answer = answers.resolve(draft.given, draft.options, kind)
        except ValueError as error:
            drafts.problems.append(Problem(draft.file, draft.number, f"column {draft.answer_column}: {error}"))


def _check_named_refusal(drafts: Drafts, settings: Settings) -> None:
    """A refusal that no question has is a mistake in params.yaml."""
    if not settings.refusals or not drafts.questions or drafts.refusal_texts():
        return
    texts = Counter(option.text for draft in drafts.questions for option in draft.options)
    common = ", ".join(repr(text[:60]) for text, _ in texts.most_common(3))
    named = " or ".join(map(repr, settings.refusals))
    text = f"no question has the refusal option {named}; the most frequent options are {common}. Correct refusal"
    drafts.problems.append(Problem(drafts.folder, None, text))


def _check_images(drafts: Drafts, files: list[Path], settings: Settings, *, decode: bool) -> None:
    for row, draft, ids in with_rows(drafts, files):
        if draft.image_column:
            with _collecting(drafts, row.file, row.number):
                for cell in images_of(row, draft.image_column, drafts.folder, settings, ids):
                    if decode and not cell.row_index:
                        digest = sha256(cell.data).hexdigest()
                        if digest not in drafts.images:
                            drafts.images[digest] = tuple(row_images.choices_of(cell.data, draft.image_column))


def with_rows(drafts: Drafts, files: list[Path]) -> Iterator[tuple[SourceRow, Draft, set[str]]]:
    """Read the files again, and yield each row with its question, and the ids of the file's questions."""
    for file in files:
        of_file = {draft.number: draft for draft in drafts.questions if draft.file == file}
        prefix = f"{file.stem}-" if len(files) > 1 else ""
        ids = {draft.id.removeprefix(prefix) for draft in of_file.values()}
        try:
            yield from ((row, of_file[row.number], ids) for row in rows(file) if row.number in of_file)
        except DataError:
            return  # already a problem of the first reading
