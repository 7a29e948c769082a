"""MM-UPD's files on disk: one table for each subset and setting, with the images in base64.

A row is one pass of the circular evaluation. Its columns are ``index``, ``question``, ``hint``, ``A`` to ``E``,
``answer``, ``masked_answer``, ``category`` (the ability), ``l2-category``, ``type`` ("standard" or "upd"), ``image``,
``source`` and ``split``. Pass k of a problem has the index of the first pass plus k million.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from pathlib import Path

from known_unknowns.benchmark.loading import Row
from known_unknowns.config import DataEntry, HubData
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns_benchmarks.multiple_choice.table_files import rows as table_rows

NAME = "mm_upd"
SUBSETS = ("AAD", "IASD", "IVQD")
"""Absent answers, incompatible answer sets, and incompatible visual questions."""
BASE, OPTION = "base", "option"
"""The two settings that have files. The instruction setting has the questions of the base setting."""
STANDARD, UPD = "standard", "upd"
"""The two types of rows: with the right option, and unsolvable."""
LETTERS = "ABCDE"
PASS = 1_000_000
"""The difference between the indices of two passes of a problem."""
WITHHOLD = "F"
"""The ``answer`` of an unsolvable row in the files of the base setting. It is no option's letter."""
NONE_OF_THE_ABOVE, IRRELEVANT = "None of the above", "The image and question are irrelevant."
REFUSALS: Mapping[str, str] = {"AAD": NONE_OF_THE_ABOVE, "IASD": NONE_OF_THE_ABOVE, "IVQD": IRRELEVANT}
"""The text of the additional option of each subset (Section 4.3 and Figure 2)."""
FILES: Mapping[str, str] = {
    f"{subset} {setting}": f"data/mm{subset.lower()}_20240303_{setting}.tsv"
    for subset in SUBSETS
    for setting in (BASE, OPTION)
}
"""The published file of each subset and setting."""
COLUMNS = ("index", "question", "A", "B", "answer", "category", "image", "type")
"""Columns that every file must have."""


def file_of(raw: Path, settings: DataEntry | None, subset: str, setting: str) -> Path:
    """Return the file of a subset and setting, which ``files`` in the data's entry of params.yaml may name.

    Raises ConfigError if ``files`` names an unknown part.
    """
    named = settings.files if isinstance(settings, HubData) else {}
    for key in named:
        if key not in FILES:
            raise ConfigError(unknown_name(key, FILES), path=f"benchmarks.{NAME}.data.<edition>.files")
    key = f"{subset} {setting}"
    return raw / named.get(key, FILES[key])


def rows(file: Path) -> Iterator[Row]:
    """Read the rows of a TSV or Parquet file.

    Raises DataError if the file is missing, is not a table, or lacks one of `COLUMNS`.
    """
    if not file.is_file():
        raise DataError("the file is missing; fetch the data again, or name the file under files", file=file)
    for number, row in enumerate(table_rows(file)):
        missing = [name for name in COLUMNS if name not in row.values]
        if missing:
            raise DataError(f"the column(s) {', '.join(missing)} are missing", file=file, row=number)
        yield Row(file, number, row.values)


def text_of(row: Row, name: str) -> str:
    """Return a cell as text; "" for a missing, empty, "nan" or "none" cell, as the released code reads them."""
    value = row.values.get(name)
    if value is None or value != value:
        return ""
    text = str(value)
    return "" if text.lower() in ("", "nan", "none") else text


def required(row: Row, name: str) -> str:
    """Return a cell that must have a text. Raises ValueError if it has none."""
    text = text_of(row, name)
    if not text:
        raise ValueError(f"the column {name} is empty")
    return text


def index_of(row: Row) -> int:
    """Return the row's index. Raises ValueError unless it is a whole number from 0."""
    text = required(row, "index").removesuffix(".0")
    if not text.isdecimal():
        raise ValueError(f"the index {text!r} is not a whole number")
    return int(text)


def type_of(row: Row) -> str:
    """Return "standard" or "upd". Raises ValueError for anything else."""
    text = required(row, "type")
    if text not in (STANDARD, UPD):
        raise ValueError(f"the type {text!r} is neither {STANDARD!r} nor {UPD!r}")
    return text


def options_of(row: Row) -> list[str]:
    """Return the texts of the options A, B, ... up to the first that is absent, as the released code reads them.

    Raises ValueError if there are fewer than two.
    """
    texts: list[str] = []
    for letter in LETTERS:
        text = text_of(row, letter)
        if not text:
            break
        texts.append(text)
    if len(texts) < 2:
        raise ValueError(f"{len(texts)} options, where at least two must be")
    return texts


def image_of(row: Row) -> bytes:
    """Return the encoded image of a row: base64, or the hub's struct of bytes and path. Raises ValueError."""
    cell = row.values.get("image")
    if isinstance(cell, Mapping):
        data = cell.get("bytes")
        if not isinstance(data, bytes):
            raise ValueError("the image has no bytes")
        return data
    try:
        return base64.b64decode(required(row, "image"), validate=True)
    except binascii.Error as error:
        raise ValueError(f"the image is not base64 ({error})") from error
