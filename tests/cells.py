"""Tables of questions, replies and answers that are written one variant and seed at a time."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path

import pyarrow as pa

from known_unknowns import tables
from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.edition_files import asked
from known_unknowns.records import Answer, AnsweredTurn, Cell, Question, Score
from known_unknowns.tables import Part

ONE = Cell("original", 0)
"""The cell of a table that has one."""


def write_questions(variants: Path, variant: str, seed: int, questions: Iterable[Question]) -> None:
    """Add the questions of a variant and seed to a folder of variants, or replace them."""
    path = variants / f"{variant}.parquet"
    seeds = tables.read_columns(path, tables.SEED)["seed"].unique().to_pylist() if path.is_file() else []
    kept = {number: tables.read_questions(Part(path, number)) for number in seeds}
    tables.write_variant(path, kept | {seed: list(questions)})


def read_questions(variants: Path, variant: str, seed: int = 0) -> list[Question]:
    return tables.read_questions(asked(variants, variant, seed))


def write_replies(path: Path, variant: str, seed: int, turns: Iterable[AnsweredTurn], sample: int = 0) -> None:
    """Add the replies to a cell to a table, or replace them."""
    kept = {cell: tables.read_replies(Part(path, cell)) for cell in (tables.cells_in(path) if path.is_file() else ())}
    tables.write_replies(path, kept | {Cell(variant, seed, sample): list(turns)})


def read_replies(path: Path, variant: str, seed: int = 0) -> list[AnsweredTurn]:
    return tables.read_replies(Part(path, Cell(variant, seed)))


def write_answers(path: Path, variant: str, seed: int, scores: Iterable[Score], sample: int = 0) -> None:
    """Add the answers with these scores of turns to a table, or replace those of the cell.

    The columns of the question have no content.
    """
    kept = {cell: tables.read_scores(Part(path, cell)) for cell in (tables.cells_in(path) if path.is_file() else ())}
    cells = kept | {Cell(variant, seed, sample): list(scores)}
    tables.write_cells(path, tables.ANSWERS, ((cell, _answers(path, of_cell)) for cell, of_cell in cells.items()))


def _answers(path: Path, scores: Iterable[Score]) -> pa.Table:
    turns: dict[tuple[str, str], list[Score]] = {}
    for score in scores:
        turns.setdefault((score.parser, score.question_id), []).append(score)
    rows = [_answer(of_question) for of_question in turns.values()]
    return tables.table_of(path, map(attrgetter(*tables.ANSWERS.names), rows), tables.ANSWERS)


def _answer(turns: list[Score]) -> Answer:
    """The answer to a question, whose last turn of the step "answer" counts."""
    last = max(turns, key=lambda turn: (turn.step == ANSWER, turn.turn))
    return Answer(
        question_id=last.question_id,
        parser=last.parser,
        category="",
        group="",
        outcome=last.outcome,
        label=last.label,
        choice=last.choice,
        chosen_text=None,
        correct=last.correct,
        right_label=None,
        refusal_label=None,
        refusal_is_correct=False,
        chance=0.0,
        options="{}",
        forced_outcome="",
        forced_correct=False,
        undefined="",
        label_mass=None,
        label_follows_text=False,
        turns=[(each.turn, each.step, each.outcome, each.label, each.choice, each.correct) for each in turns],
    )


def read_scores(path: Path, variant: str, seed: int = 0) -> list[Score]:
    return tables.read_scores(Part(path, Cell(variant, seed)))
