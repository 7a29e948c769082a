"""The options of a row: one column for each, a list, or lines of text."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from known_unknowns.benchmark.option_marks import check_marks
from known_unknowns.benchmark.question_text import SHAPES
from known_unknowns.json_files import parse_json
from known_unknowns.records import Option
from known_unknowns_benchmarks.multiple_choice.settings import LETTERS, RESHAPED, Settings, is_empty

MAX_TEXT = 20_000
"""Largest number of characters of a question or an option."""
_LABELLED = re.compile(r"\s*\(?([A-Z])\s*[.):]\s*")
_LINE = re.compile(r"\s*\(?([A-Z])\s*[.):]\s*(\S.*)")
_MAX_LIST = 100_000


class ColumnError(ValueError):
    """A mistake in one column of a row."""

    def __init__(self, column: str, message: str) -> None:
        super().__init__(f"column {column}: {message}" if column else message)


class RowOptions(NamedTuple):
    """A question's text and options, the column of the options, and the letters of other labels ("1" to "A")."""

    text: str
    options: tuple[Option, ...]
    column: str
    letters: Mapping[str, str] = {}


def no_column(column: str, values: Mapping[str, Any], otherwise: str = "") -> ColumnError:
    """Return the mistake that a row has no such column."""
    there = ", ".join(values) or "none"
    return ColumnError(
        column,
        f"no such column; there are {there}. Correct the header, or name the column with fields{otherwise}. "
        "If the file has no questions, name the others with files",
    )


def other_shape(column: str, shape: str) -> ColumnError:
    """Return the mistake that options have a shape which is not read, with the lines that change it."""
    known = "; ".join(f"{name}: {content}" for name, content in SHAPES.items())
    lines = (
        'frame = pandas.read_json("questions.jsonl", lines=True)',
        RESHAPED[shape],
        'frame.to_json("questions.jsonl", orient="records", lines=True)',
    )
    text = f"the options are {shape}, which is none of the shapes that are read ({known}). Change the file with pandas:"
    return ColumnError(column, "\n    ".join([text, *lines]))


def text_of(value: Any, column: str) -> str:
    """Return a cell as a text.

    Raises ColumnError if it is not a text or a number, too long, or not valid Unicode.
    """
    if not isinstance(value, str | int | float):
        raise ColumnError(column, f"{str(value)[:60]!r} is not a text")
    text = str(value).strip()
    if len(text) > MAX_TEXT:
        raise ColumnError(column, f"{len(text):,} characters; the limit is {MAX_TEXT:,}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ColumnError(column, f"{error.object[error.start]!r} is not a valid character; correct it") from error
    if "\0" in text:
        raise ColumnError(column, "it has a null character; remove it")
    return text


def read_options(values: Mapping[str, Any], settings: Settings) -> RowOptions:
    """Return the question's text and its options.

    Raises ColumnError if there are fewer than 2 or more than 26 options, or if an option is empty.
    """
    question_column = settings.column("question", values)
    if question_column is None:
        raise no_column("question", values)
    question = values[question_column]
    if is_empty(question):
        raise ColumnError(question_column, "no question; fill it in, or remove the row")
    if isinstance(question, Mapping):
        raise other_shape(question_column, "an object with the question")
    stem = text_of(question, question_column)
    columns = settings.option_columns(values)
    column = None if columns else settings.column("options", values)
    letters: Mapping[str, str] = {}
    if settings.options:
        name, options = "options", labelled(settings.options, None, "options")
    elif columns:
        name = f"{columns[0]} to {columns[-1]}"
        options = _of_columns(values, columns)
    elif column is not None and not is_empty(values[column]):
        name = column
        options, letters = _of_cell(values[column], column)
    else:
        name = question_column
        stem, options = _of_lines(stem)
        if not options:
            message = (
                "no options: give columns A, B, C, ..., a column options, or lines 'A. ...' below the question, or the "
                "same for all with options: [Yes, No] in params.yaml"
            )
            raise ColumnError(question_column, f"{message}; the columns are {', '.join(values)}")
    if not 2 <= len(options) <= len(LETTERS):
        raise ColumnError(name, f"{len(options)} option(s); a question needs 2 to {len(LETTERS)}")
    _check_marks([option.label for option in options], [option.text for option in options], name)
    return RowOptions(stem, options, name, letters)


def _of_columns(values: Mapping[str, Any], columns: Sequence[str]) -> tuple[Option, ...]:
    """One option per column. The last columns may be empty, for questions with fewer options."""
    filled = [name for name in columns if not is_empty(values[name])]
    for name, expected in zip(filled, columns, strict=False):
        if name != expected:
            raise ColumnError(expected, f"the option is empty, and {name} is not; move the options up, or fill it")
    return labelled([text_of(values[name], name) for name in filled], filled, f"{columns[0]} to {columns[-1]}")


def _of_cell(value: Any, column: str) -> tuple[tuple[Option, ...], Mapping[str, str]]:
    """Return the options of a cell, and the letters of their labels if these are no letters (ARC has 1 to 4)."""
    if isinstance(value, str):
        value = _parsed(value, column)
    if isinstance(value, str):
        options = _of_lines("\n" + value)[1]
        if not options:
            raise other_shape(column, "a text")
        return options, {}
    if isinstance(value, Mapping) and set(value) == {"text", "label"}:  # ARC and CommonsenseQA on the hub
        texts, labels = value["text"], value["label"]
        if len(texts) != len(labels):
            raise ColumnError(column, f"{len(texts)} texts and {len(labels)} labels; give one label for each text")
        value = [{"text": text, "label": label} for text, label in zip(texts, labels, strict=True)]
    if isinstance(value, Mapping):
        filled = {label: text for label, text in value.items() if not is_empty(text)}
        labels = [str(label).strip().upper() for label in filled]
        if wrong := [label for label in labels if label not in tuple(LETTERS)]:
            raise ColumnError(column, f"the label {wrong[0]!r} is not a letter from A to Z")
        _check_unique(labels, column)
        texts = [text_of(text, column) for text in filled.values()]
        return tuple(Option(*pair, f"{pair[0]}. ") for pair in zip(labels, texts, strict=True)), {}
    if not isinstance(value, Sequence):
        raise ColumnError(column, f"{str(value)[:60]!r} is neither a list, nor labels with texts, nor lines")
    labels = []
    if all(isinstance(each, Mapping) and {"text", "label"} <= set(each) for each in value):
        labels = [str(each["label"]).strip() for each in value]
        value = [each["text"] for each in value]
    _check_unique(labels, column)
    for place, text in enumerate(value):
        if is_empty(text):
            raise ColumnError(column, f"option {place + 1} is empty; fill it or remove it")
    texts = [text_of(text, column) for text in value]
    if labels and all(label in tuple(LETTERS) for label in labels):
        return tuple(Option(*pair, f"{pair[0]}. ") for pair in zip(labels, texts, strict=True)), {}
    return labelled(texts, None, column), dict(zip(labels, LETTERS, strict=False))


def _check_unique(labels: Sequence[str], column: str) -> None:
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise ColumnError(column, f"the label {twice[0]!r} is given twice; remove one of them")


def _parsed(cell: str, column: str) -> Any:
    """Return a list in JSON or in Python's notation as such (lists of the hub's data sets); other texts unchanged."""
    cell = cell.strip()
    if not cell.startswith(("[", "{")):
        return cell
    if len(cell) > _MAX_LIST:
        raise ColumnError(column, f"a list of {len(cell):,} characters; the limit is {_MAX_LIST:,}")
    try:
        return parse_json(cell)
    except json.JSONDecodeError:
        pass
    except ValueError as error:
        raise ColumnError(column, str(error)) from None
    try:
        value = ast.literal_eval(cell)  # literals only; nothing is executed
        if isinstance(value, dict) and _repeats_key(cell):
            raise ColumnError(column, "a label is given twice; remove one of them")
        return value
    except ColumnError:
        raise
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise ColumnError(column, f"{cell[:60]!r} is not a list; write it in JSON") from None


def _repeats_key(cell: str) -> bool:
    body = ast.parse(cell, mode="eval").body
    return isinstance(body, ast.Dict) and len({ast.dump(key) for key in body.keys if key}) < len(body.keys)


def labelled(texts: Sequence[str], columns: Sequence[str] | None, name: str = "") -> tuple[Option, ...]:
    """Return options with the labels A, B, C, ... Labels at the start of all texts ("A. Red") are removed.

    Columns that are single letters give their own names as labels. ``name`` is that of the columns, for errors.

    Raises ColumnError if there are too many, or if labels at the start of the texts contradict those of the options.
    """
    if len(texts) > len(LETTERS):
        raise ColumnError("", f"{len(texts)} options; a question needs 2 to {len(LETTERS)}")
    letters = columns if columns and all(name in tuple(LETTERS) for name in columns) else LETTERS
    _check_marks(letters[: len(texts)], texts, name)
    marks = [_LABELLED.match(text) for text in texts]
    if texts and all(
        mark and mark[1] == label and text[mark.end() :]
        for mark, label, text in zip(marks, LETTERS, texts, strict=False)
    ):
        texts = [text[mark.end() :] for mark, text in zip(marks, texts, strict=True) if mark]
    return tuple(Option(label, text, f"{label}. ") for label, text in zip(letters, texts, strict=False))


def _check_marks(labels: Sequence[str], texts: Sequence[str], column: str) -> None:
    try:
        check_marks(labels, texts)
    except ValueError as error:
        raise ColumnError(column, str(error)) from error


def _of_lines(text: str) -> tuple[str, tuple[Option, ...]]:
    """Split a text into the question and its options: the last lines, if they are labelled A, B, C, ... in order."""
    lines = re.split(r"\r\n|\r|\n", text)  # not splitlines: a text can contain U+2028, U+2029 and U+0085
    for start in range(1, len(lines)):
        found = [_LINE.match(line) for line in lines[start:] if line.strip()]
        if len(found) > 1 and all(m and m[1] == label for m, label in zip(found, LETTERS, strict=False)):
            options = tuple(Option(m[1], text_of(m[2], ""), f"{m[1]}. ") for m in found if m)
            if len(options) == len(found) <= len(LETTERS):
                return "\n".join(lines[:start]).strip(), options
    return text, ()
