"""Shared code of the loaders: rows of published files, and the loop from rows to questions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from known_unknowns.benchmark.images import parquet_batches
from known_unknowns.errors import DataError
from known_unknowns.files import git_lfs
from known_unknowns.json_files import parse_json
from known_unknowns.progress import Advance
from known_unknowns.records import Question


class Row(NamedTuple):
    """One row of a published file, numbered from 0 within the file."""

    file: Path
    number: int
    values: Mapping[str, Any]


def questions(
    rows: Iterable[Row],
    build: Callable[[Row], Question],
    *,
    source: Path,
    what: str = "questions",
    advance: Advance | None = None,
) -> Iterator[Question]:
    """Yield a question for each row, in their order; ``advance`` is called after each.

    DataError, which names the file and the row, for an id that occurs twice, for a row of which ``build`` raises
    ValueError, TypeError, KeyError or OSError, and for a ``source`` that holds none of ``what`` it should hold.
    """
    places: dict[str, str] = {}
    for row in rows:
        try:
            question = build(row)
        except (ValueError, TypeError, KeyError, OSError) as error:
            raise DataError(str(error), file=row.file, row=row.number) from error
        if question.id in places:
            message = f"the question id {question.id} is already that of {places[question.id]}"
            raise DataError(message, file=row.file, row=row.number)
        places[question.id] = f"{row.file}, row {row.number}"
        yield question
        if advance:
            advance()
    if not places:
        raise DataError(f"holds no {what}", file=source)


def parquet_rows(file: Path, *, columns: Sequence[str] | None = None) -> Iterator[Row]:
    """Read the rows of a Parquet file: these columns, by default all. Class labels of the hub are their names.

    DataError if one of them is missing or the file is not a valid Parquet file.
    """
    number = 0
    try:
        git_lfs.check_file(file)
        with pq.ParquetFile(file) as table:
            missing = [name for name in columns or () if name not in table.schema_arrow.names]
            if missing:
                raise DataError(f"the column(s) {', '.join(missing)} are missing", file=file)
            labelled = class_labels(table.schema_arrow)
            for batch in parquet_batches(table, columns=None if columns is None else list(columns)):
                for values in batch.to_pylist():
                    yield Row(file, number, with_names(values, labelled))
                    number += 1
    except LabelError as error:
        raise DataError(str(error), file=file, row=number) from error
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"not a whole Parquet file ({error}); fetch it again", file=file, row=number or None) from error


class LabelError(ValueError):
    """A number that is no class label of its column."""


def class_labels(schema: pa.Schema) -> Mapping[str, Any]:
    """Return the hub's features of the columns with class labels, by column; {} if the file declares none.

    The package datasets stores a class label as a number, and the names in the metadata of the file.
    """
    try:
        declared = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = declared.get("info", {}).get("features", {})
        return {name: feature for name, feature in features.items() if '"ClassLabel"' in json.dumps(feature)}
    except (ValueError, AttributeError):
        return {}  # of another program: the file has no features


def with_names(values: Mapping[str, Any], features: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row with the names of its class labels. Raises LabelError for a number without a name."""
    named = {}
    for column, feature in features.items():
        if column in values:
            try:
                named[column] = _named(values[column], feature)
            except LabelError as error:
                raise LabelError(f"column {column}: {error}") from error
    return {**values, **named} if named else values


def _named(value: Any, feature: Any) -> Any:
    """Return the value with names; ``feature`` describes it as the package datasets does: lists and structs nest."""
    if value is None or not isinstance(feature, list | Mapping):
        return value
    if isinstance(feature, list):
        return [_named(each, feature[0]) for each in value]
    kind = feature.get("_type")
    if kind == "ClassLabel":
        return _label_name(value, feature["names"])
    if "feature" in feature and isinstance(kind, str):  # Sequence, List, LargeList
        inner = feature["feature"]
        if isinstance(value, Mapping):  # a Sequence of structs is stored as a struct of lists
            return {name: _named(cells, [inner.get(name)]) for name, cells in value.items()}
        return _named(value, [inner])
    if isinstance(value, Mapping):
        return {name: _named(cell, feature.get(name)) for name, cell in value.items()}
    return value


def _label_name(value: Any, names: Sequence[str]) -> Any:
    if isinstance(value, str) or value == -1:  # -1: the label is not published
        return None if value == -1 else value
    if not 0 <= value < len(names):
        raise LabelError(f"the class label {value} is none of 0 to {len(names) - 1}, which the file declares")
    return names[value]


def json_rows(file: Path) -> Iterator[Row]:
    """Read the rows of a JSON file, which holds a list of objects or one object per line. DataError if it does not."""
    text = _text(file)
    try:
        if text.lstrip().startswith("["):
            values = parse_json(text)
        else:
            lines = text.split("\n")  # not splitlines: a text can contain U+2028, U+2029 and U+0085
            values = [parse_json(line) for line in lines if line.strip()]
    except ValueError as error:
        raise _unreadable(file, error) from error
    for number, value in enumerate(values):
        if not isinstance(value, dict):
            raise DataError(f"{str(value)[:80]!r} is not an object", file=file, row=number)
        yield Row(file, number, value)


def read_json(file: Path) -> Any:
    """Read a JSON file. DataError names a file that is missing or is not valid JSON."""
    try:
        return parse_json(_text(file))
    except ValueError as error:
        raise _unreadable(file, error) from error


def _text(file: Path) -> str:
    try:
        git_lfs.check_file(file)
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror}); fetch the data again", file=file) from error
    except ValueError as error:
        raise _unreadable(file, error) from error


def _unreadable(file: Path, error: Exception) -> DataError:
    return DataError(f"not a readable JSON file ({error}); fetch it again", file=file)
