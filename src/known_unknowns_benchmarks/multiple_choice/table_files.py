"""Rows of CSV, TSV, JSON, JSON lines and Parquet files, one after the other.

Cells of CSV and TSV stay texts: an option can be "None", "NA" or "=1+1". No file is unpickled, and
nothing is evaluated.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from known_unknowns.benchmark.loading import json_rows, parquet_rows
from known_unknowns.errors import DataError
from known_unknowns.json_files import parse_json
from known_unknowns_benchmarks.multiple_choice.settings import is_empty

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
_WHOLE = re.compile(r"-?\d{1,15}\.0")
_SPLIT = re.compile(r"(train|validation|valid|val|dev|test)(?![a-z])", re.IGNORECASE)
_SAME_SPLIT = {"valid": "validation", "val": "validation", "dev": "validation"}
MAX_CELL = 2**27
"""Largest number of characters of a cell, or of a line of JSON: an image of 100 MB in base64."""
MAX_JSON = 2**30
"""Largest size of a JSON file in bytes. JSON lines and Parquet have no such limit."""


class SourceRow(NamedTuple):
    """A row of a file.

    ``number`` is the row of a spreadsheet (CSV, TSV; the header is 1), the line of JSON lines, the entry of a JSON list
    (from 1), or the row of a Parquet table (from 0).
    """

    file: Path
    number: int
    values: Mapping[str, Any]


def question_files(folder: Path, patterns: Sequence[str] = ()) -> list[Path]:
    """Return the files with questions, in the order of their names.

    Raises DataError if there is none, a pattern matches none, a file has an unknown suffix, or its path leads out of
    the folder.
    """
    root = folder.resolve()
    if not patterns:
        found = [path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES]
    else:
        found = []
        for pattern in patterns:
            if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
                raise DataError(f"the pattern {pattern!r} under files leads out of the folder", file=folder)
            matching = [path for path in folder.glob(pattern) if path.is_file()]
            if not matching:
                raise DataError(f"no file matches {pattern!r}; correct the name under files", file=folder)
            found += matching
    hidden = {path for path in found if any(part.startswith(".") for part in path.relative_to(folder).parts)}
    files = sorted({path for path in found if path.is_file()} - hidden)
    if not files:
        others = sorted({path.suffix.lower() for path in folder.rglob("*") if path.is_file()})
        there = f"it has {', '.join(filter(None, others))} files" if any(others) else "it is empty"
        raise DataError(
            f"no file with questions ({', '.join(SUFFIXES)}); {there}. Save the questions in one of these formats",
            file=folder,
        )
    for path in files:
        if path.suffix.lower() not in SUFFIXES:
            raise DataError(f"unknown suffix; questions can be in {', '.join(SUFFIXES)} files", file=path)
        if not path.resolve().is_relative_to(root):
            raise DataError("a link that leads out of the folder; copy the file itself", file=path)
    if not patterns:
        _check_one_split(folder, files)
    return files


def _check_one_split(folder: Path, files: Sequence[Path]) -> None:
    """Raise DataError if the names of files or folders say that they are several splits of a data set."""
    splits: dict[str, str] = {}
    for path in files:
        name = path.relative_to(folder).as_posix()
        for part in name.split("/"):
            if match := _SPLIT.match(part):
                split = match[1].lower()
                splits.setdefault(_SAME_SPLIT.get(split, split), name)
    if len(splits) > 1:
        shown = ", ".join(f"{split} ({name})" for split, name in splits.items())
        *_, last = splits.values()
        raise DataError(
            f"files of several splits: {shown}; name the ones to use, such as  files: [{last}]", file=folder
        )


def rows(file: Path) -> Iterator[SourceRow]:
    """Yield the rows of a file. Whole numbers that a column with a gap made floats are whole numbers again.

    Raises DataError if the file is not of the format that its suffix names. It names the row.
    """
    try:
        whole = _whole_columns(file)
    except DataError:
        whole = set()  # the second reading raises it after the rows before the mistake, which can have others
    for row in _rows(file):
        restored = {name: _as_whole(cell) for name, cell in row.values.items() if name in whole}
        yield row._replace(values={**row.values, **restored}) if restored else row


def _whole_columns(file: Path) -> set[str]:
    """Return the columns whose cells are all whole numbers with ".0".

    pandas makes a column of whole numbers with a gap one of floats. In texts, ".0" counts only beside a gap: "1.0" can
    be a version.
    """
    numbers, texts, gaps, others = set[str](), set[str](), set[str](), set[str]()
    cells: Iterator[Mapping[str, Any]] = (row.values for row in _rows(file))
    if file.suffix.lower() == ".parquet":
        floats = _float_columns(file)
        cells = (row.values for row in parquet_rows(file, columns=floats)) if floats else iter(())
    for values in cells:
        for name, cell in values.items():
            if name in others:
                continue
            for value in _values(cell):
                if is_empty(value):
                    gaps.add(name)
                elif isinstance(value, float) and value.is_integer():
                    numbers.add(name)
                elif isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
                    texts.add(name)
                else:
                    others.add(name)
    return (numbers | (texts & gaps)) - others


def _float_columns(file: Path) -> list[str]:
    """Return the columns of a Parquet file with floats, also within lists and structs."""
    try:
        schema = pq.read_schema(file)
    except (pa.ArrowException, OSError):
        return []  # reading the rows says why
    return [field.name for field in schema if any(name in str(field.type) for name in ("float", "double"))]


def _values(cell: Any) -> Iterator[Any]:
    """Yield the values of a cell, which can be a list or an object."""
    inner = cell.values() if isinstance(cell, Mapping) else cell if isinstance(cell, list) else None
    if inner is None:
        yield cell
        return
    for each in inner:
        yield from _values(each)


def _as_whole(cell: Any) -> Any:
    if isinstance(cell, Mapping):
        return {name: _as_whole(each) for name, each in cell.items()}
    if isinstance(cell, list):
        return [_as_whole(each) for each in cell]
    return cell if is_empty(cell) else int(float(cell))


def _rows(file: Path) -> Iterator[SourceRow]:
    suffix = file.suffix.lower()
    if suffix in (".csv", ".tsv"):
        yield from _separated(file, "\t" if suffix == ".tsv" else ",")
    elif suffix == ".jsonl":
        yield from _json_lines(file)
    elif suffix == ".json":
        if file.stat().st_size > MAX_JSON:
            raise DataError(
                f"larger than {MAX_JSON // 2**30} GiB; save it as JSON lines (.jsonl) or Parquet", file=file
            )
        for row in json_rows(file):
            yield SourceRow(file, row.number + 1, row.values)
    else:
        for row in parquet_rows(file):
            yield SourceRow(file, row.number, row.values)


def _separated(file: Path, delimiter: str) -> Iterator[SourceRow]:
    csv.field_size_limit(MAX_CELL)
    number = 1
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            first = lines.readline()
            # Excel writes CSV files with semicolons where the comma is the decimal sign.
            if delimiter == "," and "," not in first and ";" in first:
                delimiter = ";"
            lines.seek(0)
            reader = csv.reader(lines, delimiter=delimiter, strict=True)
            header = [name.strip() for name in next(reader, [])]
            doubled = sorted({name for name in header if header.count(name) > 1})
            if doubled == [""]:
                raise DataError(f"{header.count('')} columns without a name; name or remove them", file=file, row=1)
            if doubled:
                raise DataError(f"the column {doubled[-1]!r} is there twice; rename one of them", file=file, row=1)
            if len(header) == 1:
                text = f"one column, {header[0]!r}; separate the columns by commas in .csv files, by tabs in .tsv files"
                raise DataError(text, file=file, row=1)
            for cells in reader:
                number += 1
                if not cells:
                    continue  # an empty line
                if len(cells) != len(header):
                    raise DataError(
                        f"{len(cells)} cells under {len(header)} columns; put a cell with a "
                        f"{'tab' if delimiter == chr(9) else 'comma'} or a quote in double quotes",
                        file=file,
                        row=number,
                    )
                yield SourceRow(file, number, dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        text = f"not readable as a table ({error}); check the double quotes from this row on"
        raise DataError(text, file=file, row=number + 1) from error
    except UnicodeDecodeError as error:
        raise DataError("not UTF-8 text; save the file as UTF-8", file=file, row=number + 1) from error


def _json_lines(file: Path) -> Iterator[SourceRow]:
    number = 0
    try:
        with file.open(encoding="utf-8-sig") as lines:
            while line := lines.readline(MAX_CELL):
                number += 1
                if not line.strip():
                    continue
                values = parse_json(line)
                if not isinstance(values, dict):
                    text = f"{line.strip()[:60]!r} is not an object with keys; write one object per line"
                    raise DataError(text, file=file, row=number)
                yield SourceRow(file, number, values)
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON ({error.msg}); write one object per line", file=file, row=number) from error
    except UnicodeDecodeError as error:
        raise DataError("not UTF-8 text; save the file as UTF-8", file=file, row=number + 1) from error
    except ValueError as error:
        raise DataError(f"not JSON: {error}", file=file, row=number) from error
