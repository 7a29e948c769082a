"""Parquet tables of the records: a fixed schema each, written atomically, checked when read.

| table     | one row is                                   | columns                                      |
|-----------|----------------------------------------------|----------------------------------------------|
| questions | a `Question`                                 | `QUESTIONS`                                  |
| replies   | a `Turn` and its `Reply` (`AnsweredTurn`)    | `REPLIES`                                    |
| scores    | one scorer's parsed answer (`Score`)         | `SCORES`                                     |
| metrics   | a `Metric`                                   | `METRICS`                                    |

A label is in the column ``letter``, labels are in ``letters``: the names that published tables have.
The same rows give the same bytes (pyarrow, zstd, no timestamps), so tables can be compared with cmp. Every page has a
checksum, which is verified when the table is read.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from known_unknowns import pandas_import
from known_unknowns.errors import DataError, MachineError
from known_unknowns.records import AnsweredTurn, Image, Metric, Option, Question, Reply, Score

pandas_import.prevent()


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


_BATCH_ROWS = 1024
Row = TypeVar("Row")
_TEXT, _INT, _FLOAT = pa.string(), pa.int64(), pa.float64()
_OPTION = pa.struct([_required("letter", _TEXT), _required("text", _TEXT), _required("mark", _TEXT)])
_IMAGE = pa.struct(
    [
        _required("source", _TEXT),
        _required("sha256", _TEXT),
        _required("width", _INT),
        _required("height", _INT),
    ]
)

QUESTIONS = pa.schema(
    [
        _required("id", _TEXT),
        _required("benchmark", _TEXT),
        _required("text", _TEXT),
        _required("options", pa.list_(_OPTION)),
        pa.field("answer", _INT),
        pa.field("refusal", _INT),
        _required("images", pa.list_(_IMAGE)),
        _required("category", _TEXT),
        _required("group", _TEXT),
        _required("extra", _TEXT),  # a JSON object: the benchmark's own fields
    ]
)
REPLIES = pa.schema(
    [
        _required("question_id", _TEXT),
        _required("turn", _INT),
        _required("step", _TEXT),
        _required("text", _TEXT),  # the prompt's text
        _required("images", pa.list_(_TEXT)),  # their sha256
        pa.field("letters", pa.list_(_TEXT)),
        _required("key", _TEXT),
        _required("reply", _TEXT),
        pa.field("logprobs", pa.map_(_TEXT, _FLOAT)),
        pa.field("input_tokens", _INT),
        pa.field("visual_tokens", _INT),
        pa.field("output_tokens", _INT),
        _required("finish", _TEXT),
        pa.field("error", _TEXT),
    ]
)
SCORES = pa.schema(
    [
        _required("question_id", _TEXT),
        _required("turn", _INT),
        _required("step", _TEXT),
        _required("scorer", _TEXT),
        _required("outcome", _TEXT),
        pa.field("letter", _TEXT),
        pa.field("choice", _INT),
        _required("correct", pa.bool_()),
    ]
)
METRICS = pa.schema(
    [
        _required("model", _TEXT),
        _required("benchmark", _TEXT),
        _required("variant", _TEXT),
        pa.field("seed", _INT),
        _required("scorer", _TEXT),
        _required("category", _TEXT),
        _required("name", _TEXT),
        pa.field("value", _FLOAT),
        pa.field("low", _FLOAT),
        pa.field("high", _FLOAT),
        _required("n", _INT),
        _required("method", _TEXT),
        pa.field("spread", _FLOAT),
        pa.field("denominator", _FLOAT),
    ]
)


@contextlib.contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``, which replaces ``path`` if the block succeeds and is removed otherwise.

    Parameters
    ----------
    path : str or Path
        The file to write. Its folder is created.

    Yields
    ------
    Path
        The file to write to.

    Raises
    ------
    MachineError
        If the disk is full. ``path`` is unchanged.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.chmod(0o666 & ~_umask())
        partial.replace(path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise MachineError(
                f"{path}: the disk is full, so nothing was written; free some space and run the same command again"
            ) from error
        raise
    finally:
        partial.unlink(missing_ok=True)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def write_text(path: str | Path, text: str) -> None:
    """Write a UTF-8 text file atomically."""
    with atomic_path(path) as partial:
        partial.write_text(text, encoding="utf-8")


def _write(path: str | Path, rows: Iterable[dict[str, Any]], schema: pa.Schema, *, expect: int | None) -> None:
    """Write rows in batches, because Python objects take far more memory than Arrow arrays."""
    rows = iter(rows)
    parts = [schema.empty_table()]
    while batch := list(islice(rows, _BATCH_ROWS)):
        parts.append(_as_table(batch, schema, path))
    table = pa.concat_tables(parts).combine_chunks()
    if expect is not None and len(table) != expect:
        raise DataError(f"{len(table)} rows instead of {expect}: rows were lost or duplicated", file=path)
    table.validate(full=True)
    for column in schema:
        if not column.nullable and table.column(column.name).null_count:
            raise DataError(f"column {column.name!r} must not contain nulls", file=path)
    _store(path, table)


def _as_table(rows: list[dict[str, Any]], schema: pa.Schema, path: str | Path) -> pa.Table:
    try:
        return pa.Table.from_pylist(rows, schema=schema)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise DataError(f"nothing was written: a value does not fit its column ({error})", file=path) from error


def _store(path: str | Path, table: pa.Table) -> None:
    """Write a table atomically. Its pages have checksums."""
    with atomic_path(path) as partial:
        pq.write_table(table, partial, compression="zstd", write_page_checksum=True)


def read_table(path: str | Path) -> pa.Table:
    """Read a Parquet file, and verify its checksums. Files of earlier versions have none.

    `pyarrow.parquet.read_table` gives the same table but imports pandas.
    """
    return pq.ParquetFile(path, page_checksum_verification=True).read()


def _read(path: str | Path, schema: pa.Schema, what: str) -> Iterator[tuple[Any, ...]]:
    """The rows, each with its values in the order of the schema."""
    path = Path(path)
    if not path.is_file():
        raise DataError("no such file", file=path)
    try:
        table = read_table(path)
        missing = [name for name in schema.names if name not in table.column_names]
        if not missing:
            columns = table.select(schema.names).cast(schema).columns
            return zip(*(column.to_pylist() for column in columns), strict=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # pyarrow's own errors have no number
            raise MachineError(f"{path}: {error.strerror}") from error
        raise DataError(f"not {what}, or damaged ({error}); delete it and run again", file=path) from error
    raise DataError(f"not {what}: missing column(s): {', '.join(missing)}; delete it and run again", file=path)


def _records(path: str | Path, schema: pa.Schema, build: Callable[..., Row]) -> list[Row]:
    records = []
    for number, values in enumerate(_read(path, schema, "a readable table")):
        try:
            records.append(build(*values))
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(str(error), file=path, row=number) from error
    return records


def _shallow(record: Any) -> dict[str, Any]:
    """The fields of a record by name. `dataclasses.asdict` also copies their content."""
    return {name: getattr(record, name) for name in record.__slots__}


def write_questions(path: str | Path, questions: Iterable[Question], *, expect: int | None = None) -> None:
    """Write a table of questions.

    Parameters
    ----------
    path : str or Path
    questions : iterable of Question
    expect : int, optional
        The expected number of rows.

    Raises
    ------
    DataError
        If the number of rows is not ``expect``. Nothing is written.
    MachineError
        If the disk is full.
    """
    rows = (
        _shallow(q)
        | {
            "images": [_shallow(image) for image in q.images],
            "options": [{"letter": option.label, "text": option.text, "mark": option.mark} for option in q.options],
            "extra": json.dumps(dict(q.extra), sort_keys=True),
        }
        for q in questions
    )
    _write(path, rows, QUESTIONS, expect=expect)


def _question(*values: Any) -> Question:
    row = dict(zip(QUESTIONS.names, values, strict=True))
    return Question(
        **row
        | {
            "options": tuple(Option(o["letter"], o["text"], o["mark"]) for o in row["options"]),
            "images": tuple(Image(**image) for image in row["images"]),
            "extra": json.loads(row["extra"]),
        }
    )


def read_questions(path: str | Path) -> list[Question]:
    """Read a table of questions.

    Raises
    ------
    DataError
        If the file is not such a table, a record is not sound, or two rows have the same id. The error names the file
        and the row.
    """
    questions = _records(path, QUESTIONS, _question)
    seen: dict[str, int] = {}
    for number, question in enumerate(questions):
        if question.id in seen:
            raise DataError(
                f"the question id {question.id!r} is a duplicate of row {seen[question.id]}",
                file=path,
                row=number,
            )
        seen[question.id] = number
    return questions


def write_replies(path: str | Path, turns: Iterable[AnsweredTurn]) -> None:
    """Write a table of answered turns, in the given order."""
    rows = []
    for turn in turns:
        reply = turn.reply
        rows.append(
            _shallow(turn)
            | {
                "images": list(turn.images),
                "letters": None if turn.labels is None else list(turn.labels),
                "reply": reply.text,
                "logprobs": None if reply.logprobs is None else sorted(reply.logprobs.items()),
                "input_tokens": reply.input_tokens,
                "visual_tokens": reply.visual_tokens,
                "output_tokens": reply.output_tokens,
                "finish": reply.finish,
                "error": reply.error,
            }
        )
    _write(path, rows, REPLIES, expect=None)


def _answered_turn(*values: Any) -> AnsweredTurn:
    row = dict(zip(REPLIES.names, values, strict=True))
    reply = Reply(
        text=row.pop("reply"),
        logprobs=None if row["logprobs"] is None else dict(row["logprobs"]),
        **{name: row.pop(name) for name in ("input_tokens", "visual_tokens", "output_tokens", "finish", "error")},
    )
    del row["logprobs"]
    labels = row.pop("letters")
    return AnsweredTurn(
        **row | {"images": tuple(row["images"])},
        labels=None if labels is None else tuple(labels),
        reply=reply,
    )


def read_replies(path: str | Path) -> list[AnsweredTurn]:
    """Read a table of answered turns. Raises DataError, as all readers of tables do."""
    return _records(path, REPLIES, _answered_turn)


def write_scores(path: str | Path, scores: Iterable[Score], *, expect: int | None = None) -> None:
    """Write a table of scores. Raises DataError if the number of rows is not ``expect``."""
    _write(path, [_shallow(score) | {"letter": score.label} for score in scores], SCORES, expect=expect)


def _score(*values: Any) -> Score:
    row = dict(zip(SCORES.names, values, strict=True))
    return Score(label=row.pop("letter"), **row)


def read_scores(path: str | Path) -> list[Score]:
    """Read a table of scores."""
    return _records(path, SCORES, _score)


def write_metrics(path: str | Path, metrics: Iterable[Metric]) -> None:
    """Write a table of metrics."""
    _write(path, [_shallow(metric) for metric in metrics], METRICS, expect=None)


def read_metrics(path: str | Path) -> list[Metric]:
    """Read a table of metrics."""
    return _records(path, METRICS, Metric)


def write_dataclasses(path: str | Path, rows: Iterable[Any], schema: pa.Schema) -> None:
    """Write instances of a dataclass as a table, atomically; the same rows give the same bytes."""
    _store(path, _as_table([asdict(row) for row in rows], schema, path))


def read_dataclasses(path: str | Path, row: Callable[..., Row], schema: pa.Schema, what: str) -> list[Row]:
    """Read a table that `write_dataclasses` wrote.

    Parameters
    ----------
    path : str or Path
        The table.
    row : type
        The dataclass.
    schema : pyarrow.Schema
        The columns. Others are ignored.
    what : str
        What the table is, for messages: "a table of comparisons".

    Raises
    ------
    DataError
        If the file is absent or is not such a table.
    """
    try:
        return [row(**dict(zip(schema.names, values, strict=True))) for values in _read(path, schema, what)]
    except (TypeError, ValueError) as error:
        raise DataError(f"not {what} ({error}); delete it and run again", file=path) from error
