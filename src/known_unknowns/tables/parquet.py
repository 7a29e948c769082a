"""Parquet files: tables that are written atomically and checked when read, and parts of them.

A *part* is the rows of one cell. A table of replies or answers has all cells of a model and a benchmark, with the
columns ``variant``, ``seed`` and ``sample`` in front. A table of a variant's questions has a part for each seed, with
the column ``seed``. Each part is a row group of its own, so that reading a part does not read the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from known_unknowns.errors import DamagedError, DataError, MachineError
from known_unknowns.files import atomic_path
from known_unknowns.records import Cell, Repeat

SEED = pa.schema([pa.field("seed", pa.int64(), nullable=False)])
CELL = pa.schema(
    [pa.field("variant", pa.string(), nullable=False), *SEED, pa.field("sample", pa.int64(), nullable=False)]
)


@dataclass(frozen=True, slots=True)
class Part(PathLike[str]):
    """The rows of a cell in a table, or of a seed in the table of a variant's questions.

    Examples
    --------
    >>> str(Part(Path("replies.parquet"), Cell("noise", seed=1)))
    'replies.parquet (noise, seed 1)'
    >>> str(Part(Path("noise.parquet"), 1))
    'noise.parquet (seed 1)'
    """

    path: Path
    of: Cell | int

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return f"{self.path} ({Repeat(self.of) if isinstance(self.of, int) else self.of})"

    @property
    def key(self) -> dict[str, Any]:
        """The values of the key columns."""
        return {"seed": self.of} if isinstance(self.of, int) else self.of._asdict()


Source = str | Path | Part
"""A whole table, or a part of one."""


def path_of(source: Source) -> Path:
    """Return the path of a table."""
    return Path(source)


def read_columns(
    source: Source, schema: pa.Schema, names: Iterable[str] | None = None, *, what: str = "a readable table"
) -> pa.Table:
    """Read columns of a table.

    Parameters
    ----------
    source : str, Path or Part
        The table, or a part of it.
    schema : pyarrow.Schema
        Its schema, such as `REPLIES`. Other columns are ignored.
    names : iterable of str, optional
        The columns; by default all of the schema.
    what : str
        What the table is, for messages.

    Returns
    -------
    pyarrow.Table
        The columns in the order of ``names``, each of one chunk.

    Raises
    ------
    DataError
        If the file is absent, is not such a table, or is damaged.
    MachineError
        If the file cannot be read.
    """
    path, names = path_of(source), schema.names if names is None else list(names)
    keys = list(source.key) if isinstance(source, Part) else []
    if not path.is_file():
        raise DataError("no such file", file=path)
    try:
        file = pq.ParquetFile(path, page_checksum_verification=True)
        missing = [name for name in keys if name not in file.schema_arrow.names]
        missing += _missing(file.schema_arrow, schema, names)
        if not missing:
            chosen = pa.schema([schema.field(name) for name in names])
            table = _read_part(source, names) if isinstance(source, Part) else file.read(columns=names).select(names)
            table = table.cast(chosen).combine_chunks()
            table.validate(full=True)
            return table
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # pyarrow's own errors have no number
            raise MachineError(f"{path}: {error.strerror}") from error
        raise DamagedError(f"not {what}, or damaged ({error}); delete it and run again", file=path) from error
    raise DamagedError(f"not {what}: missing column(s): {', '.join(missing)}; delete it and run again", file=path)


def is_truncated(path: str | Path) -> bool:
    """Return whether a file lacks the end of a table, which says where its columns are. Its rows are not read."""
    try:
        pq.read_metadata(path)
    except pa.ArrowException:
        return True
    return False


def is_of_earlier_version(path: str | Path, schema: pa.Schema) -> bool:
    """Return whether a readable table lacks columns of its schema."""
    try:
        return bool(_missing(pq.read_schema(path), schema, schema.names))
    except (pa.ArrowException, OSError):
        return False  # who reads it says what is wrong


def _missing(found: pa.Schema, schema: pa.Schema, names: Iterable[str]) -> list[str]:
    """Return the columns of a schema that a table lacks, and the fields that these columns lack."""
    missing = [name for name in schema.names if name not in found.names]
    for name in set(names).difference(missing):
        lost = _fields(schema.field(name).type) - _fields(found.field(name).type)
        missing += [f"{name}.{field}" for field in sorted(lost)]  # a cast would fill them with nulls
    return missing


def _fields(kind: pa.DataType) -> set[str]:
    """The names of the fields of structs in a list or map; empty for other types."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _fields(kind.value_type)
    if pa.types.is_map(kind):
        return _fields(kind.item_type)
    return set(kind.names) if pa.types.is_struct(kind) else set()


def _read_part(part: Part, names: list[str]) -> pa.Table:
    """Read columns of the rows of a part; no other row group is read."""
    filters = pc.scalar(True)
    for name, value in part.key.items():
        filters &= pc.field(name) == value
    return pq.read_table(
        part.path, columns=names, filters=filters, partitioning=None, page_checksum_verification=True
    ).select(names)


def write_table(path: str | Path, table: pa.Table) -> None:
    """Check a table against its schema and write it atomically. Its pages have checksums.

    Raises
    ------
    DataError
        If a required column has nulls. Nothing is written.
    """
    table = checked(path, table.combine_chunks())
    with atomic_path(path) as partial:
        pq.write_table(table, partial, compression="zstd", write_page_checksum=True)


def checked(path: Source, table: pa.Table) -> pa.Table:
    """Return a table if it has no nulls in required columns. Raises DataError."""
    table.validate(full=True)
    for column in table.schema:
        if not column.nullable and table.column(column.name).null_count:
            raise DataError(f"column {column.name!r} must not contain nulls", file=path)
    return table


@contextmanager
def part_writer(
    path: str | Path, key: pa.Schema, schema: pa.Schema
) -> Iterator[Callable[[tuple[Any, ...], pa.Table], None]]:
    """Write a table atomically, with a row group for each part. The same rows give the same bytes.

    ``key`` are the key columns, `CELL` or `SEED`, ``schema`` the others. The block gets a function that writes a part:
    the values of its key columns, and its rows. The function raises DataError if a required column has nulls; nothing
    is written then.
    """
    full = pa.schema([*key, *schema])
    with (
        atomic_path(path) as partial,
        pq.ParquetWriter(partial, full, compression="zstd", write_page_checksum=True) as writer,
    ):

        def write(values: tuple[Any, ...], table: pa.Table) -> None:
            rows = checked(path, table).select(schema.names).cast(schema)
            keys = [
                pa.repeat(pa.scalar(value, field.type), len(rows)) for value, field in zip(values, key, strict=True)
            ]
            if len(rows):
                columns = [*keys, *rows.columns]
                writer.write_table(pa.Table.from_arrays(columns, schema=full), row_group_size=len(rows))

        yield write


def write_cells(path: str | Path, schema: pa.Schema, cells: Iterable[tuple[Cell, pa.Table]]) -> None:
    """Write the tables of all cells of a model and benchmark as one (`part_writer`).

    The tables may be generated while they are written.
    """
    with part_writer(path, CELL, schema) as write:
        for cell, table in cells:
            write(cell, table)


def cells_in(path: str | Path) -> list[Cell]:
    """Return the cells of a table of replies or answers, in its order. Raises as `read_columns` does."""
    found = read_columns(path, CELL).group_by(CELL.names, use_threads=False).aggregate([])
    return [Cell(**row) for row in found.to_pylist()]


def has_rows(part: Part) -> bool:
    """Whether a table of replies or answers exists and has rows of a cell."""
    return part.path.is_file() and part.of in cells_in(part.path)
