"""Parts of a table: the rows of one variant and seed.

A table of replies or scores has all variants and seeds of a model and a benchmark, with the columns ``variant`` and
``seed`` in front. A table of a variant's questions has all seeds, with the column ``seed``. Each part is a row group of
its own, so that reading a part does not read the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from known_unknowns.files import atomic_path

Cell = tuple[str, int]
"""A variant and a seed."""

SEED = pa.schema([pa.field("seed", pa.int64(), nullable=False)])
CELL = pa.schema([pa.field("variant", pa.string(), nullable=False), *SEED])


@dataclass(frozen=True, slots=True)
class Part(PathLike[str]):
    """The rows of one seed in a table, and of one variant if the table has several.

    Examples
    --------
    >>> str(Part(Path("scores.parquet"), seed=1, variant="noise"))
    'scores.parquet (noise, seed 1)'
    """

    path: Path
    seed: int
    variant: str | None = None

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return f"{self.path} ({', '.join([*filter(None, [self.variant]), f'seed {self.seed}'])})"

    @property
    def key(self) -> dict[str, Any]:
        """The values of the key columns."""
        return ({} if self.variant is None else {"variant": self.variant}) | {"seed": self.seed}


Source = str | Path | Part
"""A whole table, or a part of one."""


def path_of(source: Source) -> Path:
    """Return the path of a table."""
    return Path(source)


def read_part(part: Part, names: list[str]) -> pa.Table:
    """Read columns of the rows of a part; no other row group is read."""
    filters = pc.scalar(True)
    for name, value in part.key.items():
        filters &= pc.field(name) == value
    return pq.read_table(
        part.path, columns=names, filters=filters, partitioning=None, page_checksum_verification=True
    ).select(names)


def write_parts(
    path: str | Path, key: pa.Schema, schema: pa.Schema, parts: Iterable[tuple[tuple[Any, ...], pa.Table]]
) -> None:
    """Write a table atomically, with a row group for each part. The same rows give the same bytes.

    Parameters
    ----------
    path : str or Path
    key : pyarrow.Schema
        The key columns: `CELL` or `SEED`.
    schema : pyarrow.Schema
        The other columns.
    parts : iterable of (tuple, pyarrow.Table)
        The values of the key columns, and the rows.
    """
    full = pa.schema([*key, *schema])
    with (
        atomic_path(path) as partial,
        pq.ParquetWriter(partial, full, compression="zstd", write_page_checksum=True) as writer,
    ):
        for values, table in parts:
            keys = [
                pa.repeat(pa.scalar(value, field.type), len(table)) for value, field in zip(values, key, strict=True)
            ]
            columns = [*keys, *table.select(schema.names).cast(schema).columns]
            if len(table):
                writer.write_table(pa.Table.from_arrays(columns, schema=full), row_group_size=len(table))
