"""Parse tables in CSV, TSV, JSON, JSON lines, XLSX and Parquet into rows that know their line, for error messages.

The readers of pandas are not used: they fill the missing cells of a short line, and do not name the line of a mistake.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from known_unknowns import json_files
from known_unknowns.benchmark.exchange import Row
from known_unknowns.benchmark.loading import LabelError, class_labels, with_names
from known_unknowns.errors import DataError, MachineError
from known_unknowns.exchange.eval_log import read_eval_log
from known_unknowns.files import COMPRESSED
from known_unknowns.files.csv_cells import unescape_cell

MAX_SHEET_BYTES = 2**27
"""Largest size of an Excel file when it is unpacked, in bytes."""
MAX_COLUMNS, MAX_CELLS = 1000, 5_000_000
"""Largest numbers of columns and cells of an Excel sheet, with the empty ones, and of values of a Parquet file."""
_OTHER_FORMS: Mapping[bytes, str] = {
    b"version https://git-lfs.github.com/spec/": "a pointer to Git LFS; get the file itself with git lfs pull",
    b"\x1f\x8b": "compressed with gzip; unpack it",
    b"PK\x03\x04": "a zip archive; unpack it",
    b"\xff\xfe": "text in UTF-16; save it as UTF-8",
    b"\xfe\xff": "text in UTF-16; save it as UTF-8",
}
"""The first bytes of files without readable text, what the file is, and the remedy."""
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse_table(file: Path) -> list[Row]:
    """Parse a table: JSON lines, a JSON list of objects, CSV, TSV, XLSX or Parquet, by the file's suffix.

    Cells of CSV, TSV and XLSX stay texts: a reply can be "None" or "NA".

    Raises
    ------
    DataError
        If there are no rows, or if a line is not a row; the message names the line.
    """
    return _nonempty(file, _table(file))


def parse_rows(file: Path, problems: list[DataError] | None = None) -> list[Row]:
    """Parse a table, or a JSON file that is one object, which is one row. A log ``.eval`` is such an object too.

    With a list of ``problems``, errors of single lines of JSON are added to it, and the other lines are read.
    """
    suffix = file.suffix.lower()
    if suffix == ".jsonl" and problems is not None:
        rows = list(_json_lines(file, problems))
        if problems and not rows:
            raise problems[0]
        return _nonempty(file, rows)
    if suffix == ".eval":
        return [Row(file, 1, read_eval_log(file))]
    if suffix == ".json":
        content = parse_json(file)
        if isinstance(content, dict):
            return [Row(file, 1, content)]
        return _nonempty(file, _list_rows(file, content))
    return _nonempty(file, _table(file, also=[".eval"]))


def _nonempty(file: Path, rows: Iterable[Row]) -> list[Row]:
    found = list(rows)
    if not found:
        raise DataError("holds no rows", file=file)
    return found


def _table(file: Path, also: Sequence[str] = ()) -> Iterator[Row]:
    parsers = {
        ".jsonl": _json_lines,
        ".json": _json_list,
        ".csv": _separated,
        ".tsv": _separated,
        ".xlsx": _sheet,
        ".parquet": _parquet,
    }
    if not file.is_file():
        raise DataError("a folder; name its files" if file.is_dir() else "no such file", file=file)
    suffix = file.suffix.lower()
    if suffix not in parsers:
        unpack = "; unpack compressed files first" if suffix in COMPRESSED else ""
        raise DataError(f"unknown suffix {suffix!r}; known are {', '.join([*parsers, *also])}{unpack}", file=file)
    return parsers[suffix](file)


def read_text(file: Path, problems: list[DataError] | None = None) -> str:
    """Return the content of a UTF-8 file without its byte order mark. DataError names a line that is not UTF-8.

    With a list of ``problems``, the error is added to it, and invalid bytes are replaced by U+FFFD.
    """
    if not file.is_file():
        raise DataError("no such file", file=file)
    data = file.read_bytes()
    for start, form in _OTHER_FORMS.items():
        if data.startswith(start):
            raise DataError(f"the file is {form}", file=file)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        invalid = DataError(f"not UTF-8 text ({error.reason})", file=file, line=line)
        if problems is None:
            raise invalid from error
        problems.append(invalid)
        return data.decode("utf-8-sig", errors="replace")


def parse_json(file: Path) -> Any:
    """Parse a JSON file. DataError names the line of a syntax error."""
    try:
        return _loads(read_text(file))
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg}", file=file, line=error.lineno) from error
    except ValueError as error:
        raise DataError(f"not JSON: {error}", file=file) from error


def _json_lines(file: Path, problems: list[DataError] | None = None) -> Iterator[Row]:
    content = read_text(file, problems)
    if content.lstrip().startswith("["):  # a JSON list under another suffix
        try:
            yield from list(_json_list(file))
            return
        except DataError:
            if problems is None:
                raise
    lines = content.split("\n")  # not splitlines: strings can contain U+2028
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield _object(file, number, _line(file, number, line, is_last=number == len(lines)))
        except DataError as error:
            if problems is None:
                raise
            problems.append(error)


def _line(file: Path, number: int, line: str, *, is_last: bool) -> Any:
    try:
        return _loads(line)
    except ValueError as error:
        reason = f": {error}"
        if isinstance(error, json.JSONDecodeError):
            reason = "; the file ends within the line" if is_last else f": {error.msg}"
        raise DataError(f"not JSON{reason}", file=file, line=number) from error


def _loads(content: str) -> Any:
    """Parse JSON; replace each lone surrogate (as in "\\ud83d" at the end of a truncated reply) with U+FFFD.

    A lone surrogate cannot be written as UTF-8.
    """
    values = json_files.parse_json(content)
    if not _ESCAPED_SURROGATE.search(content):
        return values
    text = json.dumps(values, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
    return json.loads(text.decode("utf-16-le", "replace"))


def _json_list(file: Path) -> Iterator[Row]:
    return _list_rows(file, parse_json(file))


def _list_rows(file: Path, values: Any) -> Iterator[Row]:
    if not isinstance(values, list):
        raise DataError("not a list of objects, which a JSON file of predictions is", file=file)
    for entry, value in enumerate(values, start=1):
        yield _object(file, entry, value)


def _object(file: Path, line: int, values: Any) -> Row:
    if not isinstance(values, dict):
        raise DataError(f"{str(values)[:60]!r} is not an object with fields", file=file, line=line)
    return Row(file, line, values)


def _separated(file: Path) -> Iterator[Row]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # chains of thought exceed the default
    text = read_text(file)
    delimiter = "\t" if file.suffix.lower() == ".tsv" else ","
    first = text.partition("\n")[0]
    # Excel writes CSV files with semicolons where the comma is the decimal sign.
    if delimiter == "," and "," not in first and ";" in first:
        delimiter = ";"
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        header = next(reader, [])
        if len(set(header)) < len(header):
            raise DataError(f"duplicate columns: {', '.join(header)}", file=file, line=1)
        line = reader.line_num + 1
        for cells in reader:
            if cells:
                if len(cells) != len(header):
                    raise DataError(f"{len(cells)} cells under {len(header)} columns", file=file, line=line)
                texts = cells if delimiter == "\t" else map(unescape_cell, cells)
                yield Row(file, line, dict(zip(header, texts, strict=True)))
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"not readable as a table ({error})", file=file, line=line) from error


def _sheet(file: Path) -> Iterator[Row]:
    """Parse the first sheet of an Excel file. Files that are small and need gigabytes are refused.

    Much repeated content is compressed well, and rows are padded to the last column.
    """
    try:
        import openpyxl  # noqa: PLC0415 -- optional
    except ImportError as error:
        raise MachineError(f"{file}: Excel files need openpyxl (pip install openpyxl), or save it as TSV") from error
    try:
        with zipfile.ZipFile(file) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > MAX_SHEET_BYTES:
            raise DataError(
                f"it unpacks to {size:,} bytes; the limit is {MAX_SHEET_BYTES:,}. Save it as TSV", file=file
            )
        with closing(openpyxl.load_workbook(file, read_only=True, data_only=True)) as book:
            sheet = book.worksheets[0]
            sheet.reset_dimensions()
            yield from _sheet_rows(file, sheet.iter_rows(values_only=True))
    except (ValueError, KeyError, OSError, zipfile.BadZipFile, SyntaxError) as error:
        raise DataError(f"not a readable Excel file ({error})", file=file) from error


def _sheet_rows(file: Path, rows: Iterable[Sequence[Any]]) -> Iterator[Row]:
    header: list[str] = []
    columns = 0
    for line, cells in enumerate(rows, start=1):
        columns = max(columns, len(cells))
        if columns > MAX_COLUMNS or line * columns > MAX_CELLS:
            message = f"more than {MAX_COLUMNS:,} columns or {MAX_CELLS:,} cells, empty ones included"
            raise DataError(f"{message}; delete what is not used, or save it as TSV", file=file)
        texts = ["" if cell is None else str(cell) for cell in cells]
        if line == 1:
            header = texts
        elif any(texts):
            yield Row(file, line, dict(zip_longest(header, texts[: len(header)], fillvalue="")))


def _parquet(file: Path) -> Iterator[Row]:
    """Parse a Parquet file without the bytes of its images, which rescoring does not use."""
    try:
        with pq.ParquetFile(file) as table:
            names = [name for name in table.schema_arrow.names if name != "image"]
            columns = [*names, *(["image.path"] if _has_path(table.schema_arrow) else [])]
            if table.metadata.num_rows * len(names) > MAX_CELLS:
                raise DataError(f"more than {MAX_CELLS:,} values", file=file)
            labelled = class_labels(table.schema_arrow)
            records = [with_names(values, labelled) for values in table.read(columns=columns).to_pylist()]
    except LabelError as error:
        raise DataError(str(error), file=file) from error
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"not a readable Parquet file ({error})", file=file) from error
    for line, values in enumerate(records, start=1):
        yield Row(file, line, values)


def _has_path(schema: Any) -> bool:
    kind = schema.field("image").type if "image" in schema.names else None
    return kind is not None and pa.types.is_struct(kind) and kind.get_field_index("path") >= 0


def parse_identifier(row: Row, name: str) -> str:
    """Return a question's id, which is a whole number or a text that is not empty, as a text."""
    value = row.fields.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).strip(" \ufffd\t\n"):
        raise row.error(f"the {name} is {value!r}, which names no question")
    return str(value).strip()
