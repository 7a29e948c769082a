"""How often two parsers disagree, from the tables of scores.

The published data have millions of rows, so scores are columns here, not objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from known_unknowns import tables
from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.edition_files import scores_table
from known_unknowns.report.formatting import Cell, Head, Row, Table, move_n_to_column, move_n_to_heading, percent
from known_unknowns.report.tables import Run
from known_unknowns.tables import Part

if TYPE_CHECKING:
    import pandas as pd

Pair = tuple[str, str]
_QUESTION = ["question_id", "parser"]
_COLUMNS = ["question_id", "turn", "step", "parser", "outcome", "choice", "correct"]


def scores_of(results: Path, model: str, benchmark: str, variant: str, seed: int) -> Part:
    """Return the scores of a variant and seed."""
    return Part(scores_table(results / "scores", model, benchmark), seed, variant)


def final_scores(scores: Part) -> pd.DataFrame:
    """Return the answer of each question under each parser: the last turn of the step "answer".

    Columns question_id, parser, outcome, choice, correct, and ``parsed``: the index of the option chosen as text, or
    the outcome where none was. Raises DataError when the file is not a table of scores.
    """
    table = tables.read_columns(scores, tables.SCORES, _COLUMNS, what="a readable table of scores")
    answers = table.filter(pc.equal(table.column("step"), ANSWER)).drop_columns("step").to_pandas()
    last = answers.sort_values("turn", kind="stable").drop_duplicates(_QUESTION, keep="last")
    chosen = last["choice"].astype("Int64").astype("string")
    parsed = chosen.where(chosen.notna(), last["outcome"].astype("string"))
    return last.drop(columns="turn").assign(parsed=parsed).reset_index(drop=True)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """``table`` has the models with a reply on which two parsers disagree; ``agreed`` are the others."""

    table: Table | None
    agreed: tuple[str, ...]


def disagreement(run: Run, results: Path) -> Disagreement | None:
    """Return how often two parsers disagree on the same reply, per model and variant, over all seeds.

    Returns None for a single parser. Raises DataError for an invalid table of scores.
    """
    pairs = list(combinations(run.parsers, 2))
    if not pairs:
        return None
    rows: list[Row] = []
    agreed = []
    for model in run.models:
        counts = {}
        for variant in run.variants:
            parts = [scores_of(results, model, run.benchmark, variant, seed) for seed in run.seeds[variant]]
            counts[variant] = _count(parts, pairs)
        if any(differ for count in counts.values() for differ, _ in count.values()):
            rows += _rows(run, model, counts)
        else:
            agreed.append(model)
    columns = [Head(f"{run.parser_name(one)} and {run.parser_name(other)}") for one, other in pairs]
    columns, rows = move_n_to_column(*move_n_to_heading(columns, rows))
    table = Table(
        caption=f"{run.section.title}: replies on which two parsers disagree, in percent (and number)",
        corner=("Model", "Variant"),
        columns=columns,
        rows=rows,
    )
    return Disagreement(table if rows else None, tuple(agreed))


def _rows(run: Run, model: str, counts: Mapping[str, Mapping[Pair, tuple[int, int]]]) -> Iterator[Row]:
    for place, (variant, count) in enumerate(counts.items()):
        heads = [Head(model, span=len(counts))] if place == 0 else []
        heads.append(Head(run.section.name(variant), note=variant))
        yield Row(tuple(heads), tuple(_share(*count[pair]) for pair in count))


def _share(differ: int, n: int) -> Cell:
    return Cell(percent(differ / n), f"({differ:,})", n) if n else Cell(percent(None))


def _count(parts: Iterable[Part], pairs: Sequence[Pair]) -> dict[Pair, tuple[int, int]]:
    """Return for each pair of parsers the number of questions on which they disagree, and of questions with both."""
    counts = dict.fromkeys(pairs, (0, 0))
    for part in parts:
        if not tables.has_rows(part):
            continue
        scores = final_scores(part)
        answers_by_parser = scores.pivot(index="question_id", columns="parser", values="parsed")  # noqa: PD010
        for pair in pairs:
            if set(pair) <= set(answers_by_parser.columns):
                both = answers_by_parser[list(pair)].dropna()
                differ, n = counts[pair]
                counts[pair] = differ + int((both[pair[0]] != both[pair[1]]).sum()), n + len(both)
    return counts
