"""The table of answers as a data frame, and its cells.

A *cell* has the answers to one variant with one seed and sample under one parser, with the question's id as index.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.answer_columns import TEXT, answer_schema
from known_unknowns.errors import DataError
from known_unknowns.records import ABSTAINED, ANSWERED, FAILED, LIKELIHOOD, OVERALL, REFUSED, Cell, Repeat
from known_unknowns.tables.confidence_sources import COLUMNS, PARSER, REFUSAL, SAMPLES
from known_unknowns.tables.parquet import CELL, Part

Cells = Mapping[Repeat, pd.DataFrame]
"""The cells of one variant and parser."""

FEWEST_SAMPLES = 3
"""Replies to a question below which `SAMPLES` is no confidence: one other reply agrees or does not."""

_CELL = CELL.names
_OF_CONFIDENCE = (
    *("question_id", "group", "parser", "outcome", "choice", "chosen_text", "correct", "would_be_right"),
    *(source for source in COLUMNS if source not in (SAMPLES, REFUSAL)),
)
"""The columns of which confidences are read and derived."""


def read(file: Path, benchmark: str, *, cells: Iterable[Cell], parsers: Iterable[str]) -> pd.DataFrame:
    """Read the answers of a model to a benchmark, as `complete` returns them.

    Raises
    ------
    DataError
        If there are no answers to a cell under a parser, or the cells of a variant have other questions.
    """
    schema = _schema(benchmark)
    answers = tables.read_columns(file, schema, [name for name in schema.names if name != "turns"]).to_pandas()
    chosen = pd.MultiIndex.from_tuples([(*cell, parser) for cell in cells for parser in parsers])
    present = pd.MultiIndex.from_frame(answers[[*_CELL, "parser"]])
    missing = chosen.difference(present.unique(), sort=False)
    if len(missing):
        *cell, parser = missing[0]
        text = f"no answers to {Cell(*cell)} by {parser!r}; delete it and run again"
        raise DataError(text, file=file)
    answers = answers[present.isin(chosen)]
    _check_questions(answers, file)
    return complete(answers)


def confidences(file: Path, benchmark: str) -> pd.DataFrame:
    """Read the confidences in all answers of a model to a benchmark, as `complete` returns them.

    They are under the parser `PARSER`. A confidence may need the other samples of a reply, so that this is called once
    for a model, not for each cell.
    """
    answers = tables.read_columns(file, _schema(benchmark), [*_CELL, *_OF_CONFIDENCE])
    return complete(answers.filter(pc.field("parser") == PARSER).to_pandas())


def _schema(benchmark: str) -> pa.Schema:
    """The columns of the table of answers, in which the variants are stored as `TEXT` too."""
    return pa.schema([*CELL.set(0, CELL.field("variant").with_type(TEXT)), *answer_schema(benchmark)])


def frame(parts: Iterable[tuple[Cell, pa.Table]]) -> pd.DataFrame:
    """Return the answers to several cells (`scoring.answers.answer_table`), as `complete` returns them."""
    found = []
    for cell, table in parts:
        named = table.append_column("variant", pa.repeat(cell.variant, len(table)).cast(TEXT))
        for name in ("seed", "sample"):
            named = named.append_column(name, pa.repeat(getattr(cell, name), len(table)))
        found.append(named)
    return complete(pa.concat_tables(found).unify_dictionaries().to_pandas())


def complete(answers: pd.DataFrame) -> pd.DataFrame:
    """Return answers with what they show only together.

    These are ``cluster``, the group as a number in the order of the names, and the confidences `SAMPLES` and
    `REFUSAL`. ``would_be_right`` becomes a number, NaN if it is not known.
    """
    names = answers["group"].cat
    added = {
        "cluster": names.reorder_categories(sorted(names.categories)).cat.codes.to_numpy(),
        "would_be_right": answers["would_be_right"].astype(float),
        SAMPLES: _agreement(answers),
        REFUSAL: answers["outcome"].astype(object).map({ANSWERED: 1.0, REFUSED: 0.0, ABSTAINED: 0.0}),
    }
    return answers.assign(**added)


def _agreement(answers: pd.DataFrame) -> pd.Series:
    """The share of the other samples of a reply that choose the option with the same text as this one.

    With itself, a reply would raise its own confidence. Failed replies do not count. NaN if no option was chosen, if
    there are fewer than `FEWEST_SAMPLES` replies, and under other parsers than that of confidences.
    """
    question = [answers["variant"], answers["parser"], answers["question_id"], answers["seed"]]
    replied = (answers["outcome"] != FAILED).groupby(question, observed=True).transform("sum")
    equal = answers.groupby([*question, answers["chosen_text"]], observed=True)["choice"].transform("size")
    is_known = (replied >= FEWEST_SAMPLES) & (answers["parser"] == PARSER)
    return ((equal - 1) / (replied - 1)).where(is_known)


def _check_questions(answers: pd.DataFrame, file: Path) -> None:
    """DataError if a question occurs twice, or not in all cells and under all parsers of a variant."""
    first: dict[str, tuple[str, Repeat, list[str]]] = {}
    for cell, parser, of_cell in _by_cell(answers):
        ids = of_cell["question_id"].tolist()
        first_parser, first_repeat, expected = first.setdefault(cell.variant, (parser, cell.repeat, ids))
        if len(set(ids)) < len(ids):
            question = of_cell["question_id"][of_cell["question_id"].duplicated()].iloc[0]
            text = f"question {question!r} is answered twice by {parser!r}; delete it and run again"
            raise DataError(text, file=Part(file, cell))
        if ids != expected:
            here, there = next(pair for pair in zip_longest(ids, expected) if pair[0] != pair[1])
            text = (
                f"other questions by {parser!r} than those of {first_repeat} by {first_parser!r}, "
                f"from {there or here!r} on; make the variants again"
            )
            raise DataError(text, file=Part(file, cell))


def _by_cell(answers: pd.DataFrame) -> Iterator[tuple[Cell, str, pd.DataFrame]]:
    """The answers by cell and parser, in the order of the table."""
    for (*cell, parser), of_cell in answers.groupby([*_CELL, "parser"], sort=False, observed=True):
        yield Cell(*cell), parser, of_cell


def cells_of(answers: pd.DataFrame) -> dict[str, dict[str, dict[Repeat, pd.DataFrame]]]:
    """Return the cells by variant, parser and repeat, in the order of the table."""
    found: dict[str, dict[str, dict[Repeat, pd.DataFrame]]] = {}
    for cell, parser, of_cell in _by_cell(answers):
        of_parser = found.setdefault(cell.variant, {}).setdefault(parser, {})
        of_parser[cell.repeat] = of_cell.set_index("question_id")
    return found


def categories(benchmark: str, cell: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return flags of all questions, of the benchmark's own non-empty sets, and of each category, sorted by name."""
    found = {OVERALL: np.ones(len(cell), dtype=bool)}
    for name, members in registry.get(benchmark).metrics().categories(cell).items():
        found[name] = np.asarray(members, dtype=bool)
    for name in sorted(cell["category"].unique()):
        found[name] = (cell["category"] == name).to_numpy()
    return {name: members for name, members in found.items() if name == OVERALL or members.any()}


def labels_of(answers: pd.DataFrame) -> list[str]:
    """Return all labels that any question offers, sorted."""
    found: set[str] = set()
    for options in answers["options"].unique():
        found.update(json.loads(options))
    return sorted(found)


def replies_left_out(cells: Iterable[pd.DataFrame]) -> np.ndarray:
    """Flag the questions that the parser likelihood leaves out in any cell, because the label follows other text.

    None where its metrics are undefined as a whole, and under other parsers.
    """
    of_cells = []
    for cell in cells:
        is_used = (cell["parser"] == LIKELIHOOD) & (cell["undefined"] == "")
        of_cells.append((cell["label_follows_text"] & is_used).to_numpy(dtype=bool))
    return np.any(of_cells, axis=0)


def undefined(cells: Iterable[pd.DataFrame]) -> str:
    """Return why metrics computed from these cells are undefined; "" if they are defined."""
    return next((reason for cell in cells if (reason := cell["undefined"].iloc[0])), "")
