"""Questions, replies and scores in one table: a row per question and turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from known_unknowns import tables
from known_unknowns.errors import DataError
from known_unknowns.scoring.reply_table import ReplyTable, ScoreRows
from known_unknowns.tables.parquet import Source

_COLUMNS = ("question_id", "category", "turn", "step", "answer", "reply", "error")


def reply_rows(
    questions: Source, replies: Source, scores: Source, parsers: Sequence[str]
) -> tuple[list[str], list[list[Any]]]:
    """Join the tables of questions, replies and scores of a variant and seed.

    Returns
    -------
    columns : list of str
        For each parser there are ``<parser>`` (the parsed label), ``<parser>.outcome`` and ``<parser>.correct``. They
        are None for a turn that is not scored, and for a parser without input (`known_unknowns.scoring.has_input`).
    rows : list of list
        One row per question and turn.

    Raises
    ------
    DataError
        If a question has no reply, or a parser no score of a turn with options.
    """
    asked = tables.read_columns(questions, tables.QUESTIONS, ("id", "category", "options", "answer"))
    found = ReplyTable.read(
        questions, asked.column("id").to_pylist(), replies, ("step", "letters", "reply", "logprobs", "error")
    )
    scored_by = [name for name in parsers if found.has_input(name)]
    scored = ScoreRows.read(scores, found, scored_by)
    with_options = pc.is_valid(found.rows.column("letters")).to_numpy()
    names, turns = (found.rows.column(name).to_pylist() for name in ("question_id", "turn"))
    missing = [
        (names[row], turns[row], parser)
        for parser in scored_by
        for row in np.flatnonzero(with_options & (scored.row_of[parser] < 0))
    ]
    if missing:
        message = f"{len(missing)} scores are missing, such as {min(missing)}; delete it and run again"
        raise DataError(message, file=scores)
    counts = np.diff(found.starts)
    options = asked.column("options").combine_chunks()
    answers = options.values.field("letter").take(pc.add(options.offsets[:-1], asked.column("answer")))
    columns = [
        names,
        _repeated(asked.column("category"), counts),
        turns,
        found.rows.column("step").to_pylist(),
        _repeated(answers, counts),
        found.rows.column("reply").to_pylist(),
        found.rows.column("error").to_pylist(),
    ]
    for parser in parsers:
        rows = scored.row_of.get(parser)
        at = pa.nulls(len(names), pa.int64()) if rows is None else pa.array(rows, mask=rows < 0)
        columns += [scored.columns.column(name).take(at).to_pylist() for name in ("letter", "outcome", "correct")]
    return [*_COLUMNS, *(parser + suffix for parser in parsers for suffix in ("", ".outcome", ".correct"))], [
        list(row) for row in zip(*columns, strict=True)
    ]


def _repeated(values: pa.ChunkedArray, counts: np.ndarray) -> list[Any]:
    """Each value as often as its question has turns."""
    found: list[Any] = values.take(pa.array(np.repeat(np.arange(len(counts)), counts))).to_pylist()
    return found
