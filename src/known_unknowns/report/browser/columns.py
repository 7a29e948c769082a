"""Tables of replies and scores as columns, in the order of the questions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from known_unknowns.errors import DataError
from known_unknowns.records import Question
from known_unknowns.tables.parquet import Source

CHUNK = 256
"""Number of questions in a shard of questions or replies."""


class AskedQuestions:
    """The questions of one variant and seed. ``places`` has the place of each question of the benchmark, in order."""

    def __init__(self, questions: Iterable[Question], places: dict[str, int]) -> None:
        self.ids = pa.array(list(places), pa.string())
        self.at: list[Question | None] = [None] * len(places)
        for question in questions:
            self.at[places[question.id]] = question

    @property
    def size(self) -> int:
        return len(self.at)

    @cached_property
    def asked(self) -> np.ndarray:
        """Whether there is a question at each place."""
        return np.array([question is not None for question in self.at], bool)

    @cached_property
    def refusal_is_right(self) -> np.ndarray:
        """Whether the refusal is the right answer of the question at each place."""
        return np.array([q is not None and q.answer is not None and q.answer == q.refusal for q in self.at], bool)

    @cached_property
    def answers(self) -> np.ndarray:
        """The index of the right option of the question at each place, -2 if there is none."""
        return np.array([-2 if q is None or q.answer is None else q.answer for q in self.at], np.int64)


class OrderedTable:
    """A table with the columns ``question_id`` and ``turn``, ordered by the question's place and the turn.

    Raises DataError if a row has none of the ``questions``; ``path`` is named then.
    """

    def __init__(self, path: Source, table: pa.Table, questions: AskedQuestions) -> None:
        found = pc.index_in(table["question_id"], value_set=questions.ids)
        places = found.fill_null(-1).to_numpy().astype(np.int64)
        unknown = (places < 0) | ~np.append(questions.asked, False)[places]
        if unknown.any():
            name = table["question_id"][int(unknown.argmax())].as_py()
            raise DataError(f"question {name!r} is not among the questions; run the workflow again", file=path)
        turns = table["turn"].to_numpy()
        order = np.lexsort((turns, places))
        if (np.diff(order) != 1).any():
            table, places, turns = table.take(pa.array(order)), places[order], turns[order]
        self.path, self.table, self.places, self.turns = path, table, places, turns

    def keep(self, rows: np.ndarray) -> None:
        """Remove all rows but those at which ``rows`` is true."""
        if not rows.all():
            self.table = self.table.filter(pa.array(rows))
            self.places, self.turns = self.places[rows], self.turns[rows]

    def rows_in(self, other: OrderedTable) -> np.ndarray:
        """Return the row of each question and turn in another table, -1 if it has none."""
        turns = 1 + max(self.turns.max(initial=0), other.turns.max(initial=0))
        theirs, own = other.places * turns + other.turns, self.places * turns + self.turns
        rows = np.searchsorted(theirs, own)
        found = np.append(theirs, -1)[rows] == own
        return np.where(found, rows, -1)

    def values(self, column: str) -> list[Any]:
        return self.table[column].to_pylist()

    def parts(self, size: int) -> Iterator[tuple[slice, list[int]]]:
        """Yield, for each ``CHUNK`` of ``size`` questions, its rows and the number of rows of each question."""
        edges = np.searchsorted(self.places, range(0, size + CHUNK, CHUNK)).tolist()
        for number, first in enumerate(range(0, size, CHUNK)):
            rows = slice(edges[number], edges[number + 1])
            count = np.bincount(self.places[rows] - first, minlength=min(CHUNK, size - first))
            yield rows, count.tolist()


def coded(values: Iterable[Hashable]) -> list[Any]:
    """Return the distinct values, and for each value its index among them."""
    values = list(values)
    known = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return [list(known), list(map(known.__getitem__, values))]


def log_probabilities(table: pa.Table) -> tuple[list[tuple[str, ...] | None], np.ndarray, np.ndarray]:
    """Return the labels of each row's log-probabilities, the edges of each row's values, and all values.

    A value has four decimals, and is NaN if it is not finite.
    """
    column = pa.concat_arrays([*table["logprobs"].chunks, pa.array([], table["logprobs"].type)])
    offsets, keys = column.offsets.to_numpy(), column.keys.to_pylist()
    edges = offsets.tolist()
    values = column.items.to_numpy(zero_copy_only=False).astype(float)
    values = np.where(np.isfinite(values), np.round(values, 4), np.nan)
    labels = [tuple(keys[start:end]) or None for start, end in pairwise(edges)]
    return labels, offsets, values
