"""Replies and scores as columns, in the order of the questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from known_unknowns import tables
from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.errors import DataError
from known_unknowns.scoring.dialogues import read_turns
from known_unknowns.tables.parquet import Source


@dataclass(frozen=True)
class ReplyTable:
    """The replies of a model to one variant and seed, sorted by question and turn.

    Attributes
    ----------
    path : Path or Part
        The table of replies.
    ids : sequence of str
        The questions.
    rows : pyarrow.Table
        Columns of `tables.REPLIES`.
    starts : ndarray of int, shape (questions + 1,)
        The first row of each question, and the number of rows.
    """

    path: Source
    ids: Sequence[str]
    rows: pa.Table
    starts: np.ndarray

    @classmethod
    def read(
        cls, questions: Source, ids: Sequence[str], replies: Source, columns: Iterable[str] | None = None
    ) -> ReplyTable:
        """Read replies and check that they belong to the questions.

        Parameters
        ----------
        questions : Path or Part
            The questions, for errors.
        ids : sequence of str
            The ids of all its questions.
        replies : Path or Part
            The replies.
        columns : iterable of str, optional
            The columns besides ``question_id`` and ``turn``; by default all.

        Raises
        ------
        DataError
            If a question has no replies, a reply has no question, or a turn occurs twice or is missing.
        """
        names = None if columns is None else ["question_id", "turn", *columns]
        table = tables.read_columns(replies, tables.REPLIES, names)
        places = _places(ids, table.column("question_id"))
        turns = table.column("turn").to_numpy()
        order = np.lexsort((turns, places))
        places, turns = places[order], turns[order]
        starts = np.searchsorted(places, np.arange(len(ids) + 1))
        counts = np.diff(starts)
        sound = bool(counts.all()) and int(counts.sum()) == len(places)
        if not sound or not np.array_equal(turns, np.arange(len(places)) - np.repeat(starts[:-1], counts)):
            read_turns(questions, replies)  # names the question that is wrong
            raise AssertionError(f"{replies}: inconsistent turns")
        if not np.array_equal(order, np.arange(len(order))):
            table = table.take(pa.array(order))
        return cls(replies, ids, table, starts)

    def has_input(self, parser: str) -> bool:
        """Return the result of `known_unknowns.scoring.has_input`."""
        if parser != "likelihood":
            return True
        column = self.rows.column
        scored = self.rows.filter(pc.and_(pc.is_valid(column("letters")), pc.is_null(column("error"))))
        lengths = (np.diff(chunk.offsets.to_numpy()) for chunk in scored.column("logprobs").chunks)
        return not scored.num_rows or any(bool((length > 0).any()) for length in lengths)

    def answering_rows(self) -> np.ndarray:
        """Return the row of the last turn of the step "answer" of each question, which holds its answer.

        Raises
        ------
        DataError
            If a question has no turn of the step "answer".
        """
        is_answer = pc.equal(self.rows.column("step"), ANSWER).to_numpy()
        last = np.maximum.accumulate(np.where(is_answer, np.arange(len(is_answer)), -1))[self.starts[1:] - 1]
        if (last < self.starts[:-1]).any():
            name = self.ids[int(np.argmax(last < self.starts[:-1]))]
            raise DataError(f"question {name!r} has no turn of the step {ANSWER!r}", file=self.path)
        return last


@dataclass(frozen=True)
class ScoreRows:
    """Scores of the rows of a `ReplyTable`.

    Attributes
    ----------
    path : Path or Part
        The table of scores.
    columns : pyarrow.Table
        The columns ``outcome``, ``letter``, ``choice`` and ``correct`` of `tables.SCORES`.
    row_of : mapping from str to ndarray of int, shape (replies,)
        By parser, the row of the score of each reply; -1 without a score.
    """

    path: Source
    columns: pa.Table
    row_of: dict[str, np.ndarray]

    @classmethod
    def read(cls, path: Source, replies: ReplyTable, parsers: Iterable[str]) -> ScoreRows:
        """Read the scores of some parsers. Scores of turns without a reply are left out.

        Raises
        ------
        DataError
            If a score has no question, or a turn is scored twice.
        """
        table = tables.read_columns(path, tables.SCORES)
        places, turns = _places(replies.ids, table.column("question_id")), table.column("turn").to_numpy()
        if (places < 0).any():
            row = int(np.argmax(places < 0))
            name = table.column("question_id")[row].as_py()
            raise DataError(f"question {name!r} was never asked; score again", file=path, row=row)
        asked = (turns >= 0) & (turns < np.diff(replies.starts)[places])
        of_reply = replies.starts[:-1][places] + turns
        row_of = {}
        for parser in parsers:
            rows = np.flatnonzero(asked & pc.equal(table.column("parser"), parser).to_numpy())
            found = np.full(len(replies.rows), -1)
            found[of_reply[rows]] = rows
            if np.count_nonzero(found >= 0) != len(rows):
                twice = rows[found[of_reply[rows]] != rows][0]
                name = table.column("question_id")[int(twice)].as_py()
                raise DataError(f"question {name!r} is scored twice by {parser!r}; score again", file=path)
            row_of[parser] = found
        return cls(path, table.select(["outcome", "letter", "choice", "correct"]), row_of)


def _places(ids: Sequence[str], column: pa.ChunkedArray) -> np.ndarray:
    """The place of each id; -1 for others."""
    return pc.fill_null(pc.index_in(column, pa.array(ids, pa.string())), -1).to_numpy().astype(np.int64)
