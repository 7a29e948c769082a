"""The table of answers as a data frame, and its cells.

A *cell* has the answers to one variant with one seed and sample under one parser, with the question's id as index.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from known_unknowns.benchmark import registry
from known_unknowns.edition_files import asked
from known_unknowns.errors import DataError
from known_unknowns.records import FAILED, OVERALL, SAMPLE
from known_unknowns.scoring import has_input
from known_unknowns.scoring.answers import CONFIDENT_PARSER, answer_table
from known_unknowns.scoring.confidence import SAMPLES, SHUFFLES
from known_unknowns.scoring.dialogues import read_scores, read_turns
from known_unknowns.tables.parquet import Cell, Part

Cells = Mapping[int, pd.DataFrame]
"""The cells of one variant and parser, by seed."""


def read(
    variants: Path,
    scores: Path,
    replies: Path,
    *,
    benchmark: str,
    cells: Iterable[Cell],
    parsers: Sequence[str],
    kept: str | None = None,
) -> pd.DataFrame:
    """Read the answers of a model to a benchmark; ``variants`` is the benchmark's folder of variants.

    Raises
    ------
    DataError
        If a parser's score of a question's answer is missing or doubled, or the seeds of a variant have other
        questions.
    """
    found = []
    for variant, seed in cells:
        part, file = Part(replies, seed, variant), Part(scores, seed, variant)
        pairs = read_turns(asked(variants, variant, seed), part)
        turns = [turn for _, of_question in pairs for turn in of_question]
        scored = read_scores(file, pairs, [parser for parser in parsers if has_input(parser, turns)])
        found.append(((variant, seed), answer_table(benchmark, pairs, parsers, scored, file=file, kept=kept)))
    answers = frame(found)
    _check_questions(answers, variants)
    return answers


def frame(parts: Iterable[tuple[Cell, pa.Table]]) -> pd.DataFrame:
    """Return the answers of several variants and seeds as one data frame, with what they show only together.

    Besides the columns of the tables, it has ``variant``, ``seed``, ``cluster`` (the group as a number, in the order of
    the names), and the confidences `SAMPLES` and `SHUFFLES`.
    """
    found = []
    for (variant, seed), table in parts:
        key = {"variant": pa.repeat(variant, len(table)), "seed": pa.repeat(seed, len(table))}
        found.append(pa.table(key | dict(zip(table.column_names, table.columns, strict=True))))
    table = pa.concat_tables(found)
    # Few texts differ, except the identifiers of questions, which are the index of cells.
    texts = [field.name for field in table.schema if pa.types.is_string(field.type) and field.name != "question_id"]
    answers = table.to_pandas(categories=texts)
    answers["would_be_right"] = answers["would_be_right"].astype(float)  # NaN if it is not known
    names = answers["group"].cat
    answers["cluster"] = names.reorder_categories(sorted(names.categories)).cat.codes.to_numpy()
    samples = answers["seed"] // SAMPLE
    answers[SAMPLES] = _agreement(answers, answers["seed"] % SAMPLE)
    answers[SHUFFLES] = _agreement(answers, samples).where(_is_shuffled(answers, samples))
    return answers


def _agreement(answers: pd.DataFrame, within: pd.Series) -> pd.Series:
    """The share of the replies to a question that choose the option with the same text as this reply.

    The replies are those with the same value of ``within``. A reply counts itself; failed ones do not count. NaN if no
    option was chosen, if there is no other reply, and under other parsers than that of confidences.
    """
    question = [answers["variant"], answers["parser"], answers["question_id"], within]
    replied = (answers["outcome"] != FAILED).groupby(question, observed=True).transform("sum")
    equal = answers.groupby([*question, answers["chosen_text"]], observed=True)["choice"].transform("size")
    return (equal / replied).where((replied > 1) & (answers["parser"] == CONFIDENT_PARSER))


def _is_shuffled(answers: pd.DataFrame, samples: pd.Series) -> pd.Series:
    """Flag the answers to variants whose options have another order with another seed."""
    question = [answers["variant"], answers["question_id"], samples]
    orders = answers["options"].cat.codes.groupby(question, observed=True).transform("nunique")
    return orders.groupby([answers["variant"], samples], observed=True).transform("max") > 1


def _check_questions(answers: pd.DataFrame, variants: Path) -> None:
    """DataError if a seed of a variant has other questions than the first."""
    first: dict[str, tuple[int, list[str]]] = {}
    one_parser = answers[answers["parser"] == answers["parser"].iloc[0]]
    for (variant, seed), part in one_parser.groupby(["variant", "seed"], sort=False, observed=True):
        ids = part["question_id"].tolist()
        first_seed, expected = first.setdefault(variant, (seed, ids))
        if ids != expected:
            here, there = next(pair for pair in zip_longest(ids, expected) if pair[0] != pair[1])
            question = there or here
            text = f"other questions than those of seed {first_seed}, from {question!r} on; make the variants again"
            raise DataError(text, file=asked(variants, variant, seed))


def cells_of(answers: pd.DataFrame) -> dict[str, dict[str, dict[int, pd.DataFrame]]]:
    """Return the cells by variant, parser and seed, in the order of the table."""
    found: dict[str, dict[str, dict[int, pd.DataFrame]]] = {}
    for (variant, parser, seed), cell in answers.groupby(["variant", "parser", "seed"], sort=False, observed=True):
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
    for options in answers["options"].cat.categories:
        found.update(json.loads(options))
    return sorted(found)


def undefined(cells: Iterable[pd.DataFrame]) -> str:
    """Return why metrics computed from these cells are undefined; "" if they are defined."""
    return next((reason for cell in cells if (reason := cell["undefined"].iloc[0])), "")
