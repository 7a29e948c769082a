"""The table of answers as a data frame, and its cells.

A *cell* has the answers to one variant with one seed and sample under one parser, with the question's id as index.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.errors import DataError
from known_unknowns.records import ABSTAINED, ANSWERED, FAILED, OVERALL, REFUSED, SAMPLE, seed_name
from known_unknowns.scoring.answers import TEXT, answer_schema
from known_unknowns.tables.confidence_sources import PARSER, REFUSAL, SAMPLES, SHUFFLES
from known_unknowns.tables.parquet import Cell, Part

Cells = Mapping[int, pd.DataFrame]
"""The cells of one variant and parser, by seed."""


def read(file: Path, benchmark: str, *, cells: Iterable[Cell], parsers: Iterable[str]) -> pd.DataFrame:
    """Read the answers of a model to a benchmark, as `complete` returns them.

    Raises
    ------
    DataError
        If there are no answers to a variant and seed under a parser, or the seeds of a variant have other questions.
    """
    table = tables.read_columns(file, pa.schema([("variant", TEXT), ("seed", pa.int64()), *answer_schema(benchmark)]))
    answers = table.to_pandas()
    chosen = pd.MultiIndex.from_tuples([(*cell, parser) for cell in cells for parser in parsers])
    present = pd.MultiIndex.from_frame(answers[["variant", "seed", "parser"]])
    missing = chosen.difference(present.unique(), sort=False)
    if len(missing):
        variant, seed, parser = missing[0]
        text = f"no answers to {variant} with {seed_name(seed)} by {parser!r}; delete it and run again"
        raise DataError(text, file=file)
    answers = answers[present.isin(chosen)]
    _check_questions(answers, file)
    return complete(answers)


def frame(parts: Iterable[tuple[Cell, pa.Table]]) -> pd.DataFrame:
    """Return the answers to several variants and seeds (`scoring.answers.answer_table`), as `complete` returns them."""
    found = []
    for (variant, seed), table in parts:
        named = table.append_column("variant", pa.repeat(variant, len(table)).cast(TEXT))
        found.append(named.append_column("seed", pa.repeat(seed, len(table))))
    return complete(pa.concat_tables(found).unify_dictionaries().to_pandas())


def complete(answers: pd.DataFrame) -> pd.DataFrame:
    """Return answers with what they show only together.

    These are ``cluster``, the group as a number in the order of the names, and the confidences `SAMPLES`, `SHUFFLES`
    and `REFUSAL`. ``would_be_right`` becomes a number, NaN if it is not known.
    """
    names = answers["group"].cat
    samples = answers["seed"] // SAMPLE
    added = {
        "cluster": names.reorder_categories(sorted(names.categories)).cat.codes.to_numpy(),
        "would_be_right": answers["would_be_right"].astype(float),
        SAMPLES: _agreement(answers, answers["seed"] % SAMPLE),
        SHUFFLES: _agreement(answers, samples).where(_is_shuffled(answers, samples)),
        REFUSAL: answers["outcome"].astype(object).map({ANSWERED: 1.0, REFUSED: 0.0, ABSTAINED: 0.0}),
    }
    return answers.assign(**added)


def _agreement(answers: pd.DataFrame, within: pd.Series) -> pd.Series:
    """The share of the replies to a question that choose the option with the same text as this reply.

    The replies are those with the same value of ``within``. A reply counts itself; failed ones do not count. NaN if no
    option was chosen, if there is no other reply, and under other parsers than that of confidences.
    """
    question = [answers["variant"], answers["parser"], answers["question_id"], within]
    replied = (answers["outcome"] != FAILED).groupby(question, observed=True).transform("sum")
    equal = answers.groupby([*question, answers["chosen_text"]], observed=True)["choice"].transform("size")
    return (equal / replied).where((replied > 1) & (answers["parser"] == PARSER))


def _is_shuffled(answers: pd.DataFrame, samples: pd.Series) -> pd.Series:
    """Flag the answers to variants whose options have another order with another seed."""
    question = [answers["variant"], answers["question_id"], samples]
    orders = answers["options"].cat.codes.groupby(question, observed=True).transform("nunique")
    return orders.groupby([answers["variant"], samples], observed=True).transform("max") > 1


def _check_questions(answers: pd.DataFrame, file: Path) -> None:
    """DataError if a question occurs twice, or not with all seeds and under all parsers of a variant."""
    first: dict[str, tuple[str, int, list[str]]] = {}
    for (variant, seed, parser), cell in _by_cell(answers):
        ids = cell["question_id"].tolist()
        first_parser, first_seed, expected = first.setdefault(variant, (parser, seed, ids))
        if len(set(ids)) < len(ids):
            question = cell["question_id"][cell["question_id"].duplicated()].iloc[0]
            text = f"question {question!r} is answered twice by {parser!r}; delete it and run again"
            raise DataError(text, file=Part(file, seed, variant))
        if ids != expected:
            here, there = next(pair for pair in zip_longest(ids, expected) if pair[0] != pair[1])
            text = (
                f"other questions by {parser!r} than those of seed {first_seed} by {first_parser!r}, "
                f"from {there or here!r} on; make the variants again"
            )
            raise DataError(text, file=Part(file, seed, variant))


def _by_cell(answers: pd.DataFrame) -> Iterable[tuple[tuple[str, int, str], pd.DataFrame]]:
    """The answers by variant, seed and parser, in the order of the table."""
    return answers.groupby(["variant", "seed", "parser"], sort=False, observed=True)


def cells_of(answers: pd.DataFrame) -> dict[str, dict[str, dict[int, pd.DataFrame]]]:
    """Return the cells by variant, parser and seed, in the order of the table."""
    found: dict[str, dict[str, dict[int, pd.DataFrame]]] = {}
    for (variant, seed, parser), cell in _by_cell(answers):
        of_parser = found.setdefault(variant, {}).setdefault(parser, {})
        of_parser[seed] = cell.set_index("question_id")
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


def undefined(cells: Iterable[pd.DataFrame]) -> str:
    """Return why metrics computed from these cells are undefined; "" if they are defined."""
    return next((reason for cell in cells if (reason := cell["undefined"].iloc[0])), "")
