"""All file formats of predictions, and the parser that chooses among them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.exchange import FileFormat, Row
from known_unknowns.errors import DataError
from known_unknowns.exchange import generic_formats
from known_unknowns.exchange.formats import PredictionFile, parse_rows
from known_unknowns.exchange.rows import parse_json, parse_table


@cache
def formats() -> tuple[FileFormat, ...]:
    """Return every format: those of the benchmarks first, which need more fields, then the generic ones."""
    own = [format for name in registry.names() for format in registry.get(name).exchange().formats]
    return (*own, *generic_formats.FORMATS)


def parse_file(file: Path) -> PredictionFile:
    """Parse a file of predictions, which keep their order. Its suffix is one that `known_unknowns.exchange.rows` knows.

    The format is the first one whose fields any row has. DataError names a line that does not fit.
    """
    if file.suffix.lower() == ".json":
        content = parse_json(file)
        if isinstance(content, dict):
            return _parse_object(file, content)
    rows = parse_table(file)
    format = next((f for f in formats() if f.parse_row and any(_has_fields(row, f) for row in rows)), None)
    if format is None:
        known = "; ".join(f"{f.name}: {', '.join(f.fields)}" for f in formats() if f.parse_row)
        fields = ", ".join(map(str, rows[0].fields))
        raise DataError(f"the fields are those of no known format ({fields}); known are {known}", file=file)
    return PredictionFile(file, format, tuple(parse_rows(format, rows)))


def _has_fields(row: Row, format: FileFormat) -> bool:
    return all(field in row.fields for field in format.fields)


def _parse_object(file: Path, content: Mapping[str, Any]) -> PredictionFile:
    for format in formats():
        if format.parse_object and format.object_key in content:
            predictions, accuracy = format.parse_object(file, content)
            return PredictionFile(file, format, tuple(predictions), accuracy)
    known = ", ".join(f"{f.object_key} ({f.name})" for f in formats() if f.parse_object)
    raise DataError(f"an object without any key of a known format; known are {known}", file=file)
