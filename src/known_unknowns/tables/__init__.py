"""Parquet tables of the records: a fixed schema each, written atomically, checked when read.

| table     | one row is                                   | columns                                      |
|-----------|----------------------------------------------|----------------------------------------------|
| questions | a `Question`                                 | `QUESTIONS`                                  |
| a variant | the same, with a seed                        | ``seed``, `QUESTIONS`                        |
| replies   | a `Turn` and its `Reply` (`AnsweredTurn`)    | `CELL`, `REPLIES`                            |
| answers   | an `Answer`, with the `Score` of each turn   | `CELL`, `ANSWERS`, and those of the benchmark |
| metrics   | a `Metric`                                   | `METRICS`                                    |

The columns `CELL` are ``variant``, ``seed`` and ``sample``.
A function that reads a table takes its path, or a `Part`: the rows of one cell.
A label is in the column ``label``, the labels on offer are in ``labels``.
The same rows give the same bytes (pyarrow, zstd, no timestamps), so tables can be compared with cmp. Every page has a
checksum, which is verified when the table is read.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc

from known_unknowns.errors import DamagedError, DataError
from known_unknowns.records import (
    NO_INPUT,
    Answer,
    AnsweredTurn,
    Cell,
    Continuation,
    Image,
    Metric,
    Option,
    Question,
    Reply,
    Score,
)
from known_unknowns.tables.parquet import CELL as CELL
from known_unknowns.tables.parquet import SEED as SEED
from known_unknowns.tables.parquet import Part as Part
from known_unknowns.tables.parquet import Source, part_writer
from known_unknowns.tables.parquet import cells_in as cells_in
from known_unknowns.tables.parquet import has_rows as has_rows
from known_unknowns.tables.parquet import is_of_earlier_version as is_of_earlier_version
from known_unknowns.tables.parquet import read_columns as read_columns
from known_unknowns.tables.parquet import write_cells as write_cells
from known_unknowns.tables.parquet import write_table as write_table

if TYPE_CHECKING:
    import pandas as pd

_METRIC_KEY = attrgetter("model", "benchmark", "variant", "seed", "sample", "parser", "category", "name")
Row = TypeVar("Row")

_TEXT, _INT, _FLOAT = pa.string(), pa.int64(), pa.float64()
_ARROW = {str: _TEXT, int: _INT, float: _FLOAT, bool: pa.bool_()}


def _required(**columns: pa.DataType) -> list[pa.Field]:
    return [pa.field(name, kind, nullable=False) for name, kind in columns.items()]


def schema_of(row: type, **types: pa.DataType) -> pa.Schema:
    """Return the schema of a dataclass: a column for each field, which may have nulls if its type is ``X | None``.

    ``types`` are the columns' types of fields that are no plain values.
    """
    columns = []
    for name, annotated in get_type_hints(row).items():
        kinds = get_args(annotated) or (annotated,)
        kind = types[name] if name in types else _ARROW[kinds[0]]
        columns.append(pa.field(name, kind, nullable=type(None) in kinds))
    return pa.schema(columns)


SCORES = schema_of(Score)
_OPTION = pa.struct(_required(label=_TEXT, text=_TEXT, mark=_TEXT))
_IMAGE = pa.struct(_required(source=_TEXT, sha256=_TEXT, width=_INT, height=_INT))
_TURN = pa.struct([column for column in SCORES if column.name not in ("question_id", "parser")])
_CONTINUATION = pa.struct(_required(logprob=_FLOAT, tokens=_INT))
QUESTIONS = pa.schema(
    [
        *_required(id=_TEXT, benchmark=_TEXT, text=_TEXT, options=pa.list_(_OPTION)),
        pa.field("answer", _INT),
        pa.field("refusal", _INT),
        *_required(images=pa.list_(_IMAGE), category=_TEXT, group=_TEXT),
        *_required(extra=_TEXT),  # a JSON object: the benchmark's own fields
    ]
)
REPLIES = pa.schema(
    [
        *_required(question_id=_TEXT, turn=_INT, step=_TEXT),
        *_required(text=_TEXT, images=pa.list_(_TEXT)),  # the prompt's text, and the sha256 of its images
        pa.field("labels", pa.list_(_TEXT)),
        *_required(key=_TEXT, reply=_TEXT),
        pa.field("logprobs", pa.map_(_TEXT, _FLOAT)),
        *(pa.field(name, _INT) for name in ("input_tokens", "visual_tokens", "output_tokens")),
        *_required(finish=_TEXT),
        pa.field("error", _TEXT),
        pa.field("continuations", pa.map_(_TEXT, _CONTINUATION)),
        pa.field("raw", _TEXT),
    ]
)
ANSWERS = schema_of(Answer, turns=pa.list_(_TURN))
METRICS = schema_of(Metric)


def table_of(path: Source, rows: Iterable[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    """Return rows, with their values in the order of the schema, as a table; ``path`` is named in errors."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    try:
        arrays = [pa.array(values, column.type) for values, column in zip(columns, schema, strict=True)]
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise DataError(f"nothing was written: a value does not fit its column ({error})", file=path) from error
    return pa.Table.from_arrays(arrays, schema=schema)


def _read(
    path: Source, schema: pa.Schema, what: str, chosen: Mapping[str, str] | None = None
) -> Iterator[tuple[Any, ...]]:
    """The rows with the chosen values of columns, each with its values in the order of the schema."""
    table = read_columns(path, schema, what=what)
    for column, value in (chosen or {}).items():
        table = table.filter(pc.field(column) == value)
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


def _records(path: Source, rows: Iterable[tuple[Any, ...]], build: Callable[..., Row]) -> list[Row]:
    records = []
    for number, values in enumerate(rows):
        try:
            records.append(build(*values))
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(str(error), file=path, row=number) from error
    return records


def write_questions(path: str | Path, questions: Iterable[Question]) -> None:
    """Write a table of questions. MachineError if the disk is full."""
    write_table(path, _question_table(path, questions))


def write_variant(path: str | Path, questions: Mapping[int, Iterable[Question]]) -> None:
    """Write the questions of a variant, by seed. Raises as `write_questions` does."""
    with part_writer(path, SEED, QUESTIONS) as write:
        for seed, of_seed in questions.items():
            write((seed,), _question_table(path, of_seed))


def _question_table(path: str | Path, questions: Iterable[Question]) -> pa.Table:
    return table_of(path, map(_question_row, questions), QUESTIONS)


def _question_row(question: Question) -> tuple[Any, ...]:
    """The values in the order of `QUESTIONS`."""
    return (
        question.id,
        question.benchmark,
        question.text,
        [(option.label, option.text, option.mark) for option in question.options],
        question.answer,
        question.refusal,
        [(image.source, image.sha256, image.width, image.height) for image in question.images],
        question.category,
        question.group,
        json.dumps(dict(question.extra), sort_keys=True),
    )


def _question(  # the columns of `QUESTIONS`
    id: str,
    benchmark: str,
    text: str,
    options: list[dict[str, str]],
    answer: int | None,
    refusal: int | None,
    images: list[dict[str, Any]],
    category: str,
    group: str,
    extra: str,
) -> Question:
    return Question(
        id,
        benchmark,
        text,
        tuple(Option(option["label"], option["text"], option["mark"]) for option in options),
        answer,
        refusal,
        tuple(Image(**image) for image in images),
        category,
        group,
        json.loads(extra),
    )


def read_questions(source: Source) -> list[Question]:
    """Read a table of questions, or the questions of a variant with one seed.

    Raises
    ------
    DataError
        If the file is not such a table, it lacks the seed, a record is not sound, or two rows have the same id. The
        error names the file and the row.
    """
    questions = _records(source, _read(source, QUESTIONS, "a readable table"), _question)
    if isinstance(source, Part) and not questions:
        raise DataError("there are no such questions; make the variant again", file=source)
    seen: dict[str, int] = {}
    for number, question in enumerate(questions):
        if question.id in seen:
            raise DataError(
                f"the question id {question.id!r} is a duplicate of row {seen[question.id]}",
                file=source,
                row=number,
            )
        seen[question.id] = number
    return questions


def write_replies(path: str | Path, cells: Mapping[Cell, Iterable[AnsweredTurn]]) -> None:
    """Write the answered turns of each cell, in the given order."""
    found = ((cell, table_of(path, map(_reply_row, turns), REPLIES)) for cell, turns in cells.items())
    write_cells(path, REPLIES, found)


def _reply_row(turn: AnsweredTurn) -> tuple[Any, ...]:
    """The values in the order of `REPLIES`."""
    reply, found = turn.reply, turn.reply.continuations
    return (
        turn.question_id,
        turn.turn,
        turn.step,
        turn.text,
        turn.images,
        turn.labels,
        turn.key,
        reply.text,
        None if reply.logprobs is None else sorted(reply.logprobs.items()),
        reply.input_tokens,
        reply.visual_tokens,
        reply.output_tokens,
        reply.finish,
        reply.error,
        None if found is None else sorted((label, each._asdict()) for label, each in found.items()),
        reply.raw,
    )


def _answered_turn(  # the columns of `REPLIES`
    question_id: str,
    turn: int,
    step: str,
    text: str,
    images: list[str],
    labels: list[str] | None,
    key: str,
    reply: str,
    logprobs: list[tuple[str, float]] | None,
    input_tokens: int | None,
    visual_tokens: int | None,
    output_tokens: int | None,
    finish: str,
    error: str | None,
    continuations: list[tuple[str, dict[str, Any]]] | None,
    raw: str | None,
) -> AnsweredTurn:
    answer = Reply(
        reply,
        None if logprobs is None else dict(logprobs),
        input_tokens,
        visual_tokens,
        output_tokens,
        finish,
        error,
        continuations=None if continuations is None else {label: Continuation(**each) for label, each in continuations},
        raw=raw,
    )
    return AnsweredTurn(
        question_id, turn, step, text, tuple(images), None if labels is None else tuple(labels), key, answer
    )


def read_replies(source: Source) -> list[AnsweredTurn]:
    """Read a table of answered turns, or a part of it. Raises DataError, as all readers of tables do."""
    return _records(source, _read(source, REPLIES, "a readable table"), _answered_turn)


def read_answers(source: Source, columns: Iterable[str]) -> pd.DataFrame:
    """Read columns of a table of answers, without the rows of parsers that had no input."""
    names = list(columns)
    rows = read_columns(source, pa.schema([*CELL, *ANSWERS]), [*names, "undefined"])
    return rows.filter(pc.field("undefined") != NO_INPUT).select(names).to_pandas()


def score_table(source: Source) -> pa.Table:
    """Return the scores of all turns of a table of answers: its column ``turns``, unfolded to the columns `SCORES`."""
    answers = read_columns(source, ANSWERS, ["question_id", "parser", "turns"])
    row_of_turn = pc.list_parent_indices(answers["turns"])
    turns = pa.Table.from_struct_array(pc.list_flatten(answers["turns"]).combine_chunks())
    for name in ("question_id", "parser"):
        turns = turns.append_column(name, answers[name].take(row_of_turn))
    return turns.select(SCORES.names).cast(SCORES).combine_chunks()


def read_scores(source: Source) -> list[Score]:
    """Read the scores of all turns of a table of answers, or of a part of it (`score_table`)."""
    columns = [column.to_pylist() for column in score_table(source).columns]
    return _records(source, zip(*columns, strict=True), Score)


def write_metrics(path: str | Path, metrics: Iterable[Metric]) -> None:
    """Write a table of metrics."""
    write_dataclasses(path, metrics, Metric)


def read_metrics(path: str | Path, chosen: Mapping[str, str] | None = None) -> list[Metric]:
    """Read a table of metrics, or its rows with these values of columns. It is a DataError if one stands there twice.

    Rows that are not chosen cost no time: they are left out before the others become objects.
    """
    metrics = _records(path, _read(path, METRICS, "a readable table", chosen), Metric)
    keys = set(map(_METRIC_KEY, metrics))
    if len(keys) < len(metrics):
        [(key, _)] = Counter(map(_METRIC_KEY, metrics)).most_common(1)
        raise DataError(f"has the metric {key} twice", file=path)
    return metrics


def write_dataclasses(path: str | Path, rows: Iterable[Any], row: type) -> None:
    """Write instances of the dataclass ``row`` as a table, atomically; the same rows give the same bytes."""
    schema = schema_of(row)
    write_table(path, table_of(path, map(attrgetter(*schema.names), rows), schema))


def read_dataclasses(path: str | Path, row: type[Row], what: str, chosen: Mapping[str, str] | None = None) -> list[Row]:
    """Read a table that `write_dataclasses` wrote. Other columns are ignored.

    Parameters
    ----------
    path : str or Path
        The table.
    row : type
        The dataclass.
    what : str
        What the table is, for messages: "a table of comparisons".
    chosen : mapping, optional
        Columns, and the value that the rows to read have in them.

    Raises
    ------
    DataError
        If the file is absent or is not such a table.
    """
    schema = schema_of(row)
    try:
        return [row(**dict(zip(schema.names, values, strict=True))) for values in _read(path, schema, what, chosen)]
    except (TypeError, ValueError) as error:
        raise DamagedError(f"not {what} ({error}); delete it and run again", file=path) from error
