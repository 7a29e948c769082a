"""The columns of the table of answers to a benchmark."""

from __future__ import annotations

import pyarrow as pa

from known_unknowns import tables
from known_unknowns.benchmark import registry

TEXT = pa.dictionary(pa.int32(), pa.string())


def answer_schema(benchmark: str) -> pa.Schema:
    """Return the columns of the table of answers to a benchmark: those of `tables.ANSWERS`, and its own.

    Few texts differ within a column, so that each is stored once. Only the questions' identifiers all differ.
    """
    own = registry.get(benchmark).metrics().columns
    columns = list(tables.ANSWERS) if own is None else [*tables.ANSWERS, *tables.schema_of(own)]
    return pa.schema(
        [
            column.with_type(TEXT) if pa.types.is_string(column.type) and column.name != "question_id" else column
            for column in columns
        ]
    )
