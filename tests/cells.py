"""Tables of questions, replies and scores that are written one variant and seed at a time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from known_unknowns import tables
from known_unknowns.edition_files import asked
from known_unknowns.records import AnsweredTurn, Cell, Question, Score
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


def write_scores(path: Path, variant: str, seed: int, scores: Iterable[Score], sample: int = 0) -> None:
    """Add the scores of a cell to a table, or replace them."""
    kept = {cell: tables.read_scores(Part(path, cell)) for cell in (tables.cells_in(path) if path.is_file() else ())}
    tables.write_scores(path, kept | {Cell(variant, seed, sample): list(scores)})


def read_scores(path: Path, variant: str, seed: int = 0) -> list[Score]:
    return tables.read_scores(Part(path, Cell(variant, seed)))
