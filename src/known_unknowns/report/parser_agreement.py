"""How often two parsers disagree, from the tables of scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.edition_files import scores_table
from known_unknowns.report.formatting import Cell, Head, Row, Table, move_n_to_column, move_n_to_heading, percent
from known_unknowns.report.tables import Run
from known_unknowns.tables import SCORES
from known_unknowns.tables.parquet import CELL, read_columns

Pair = tuple[str, str]
_SCHEMA = pa.schema([*CELL, *SCORES])
_COLUMNS = ("variant", "seed", "question_id", "turn", "step", "parser", "outcome", "choice")


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
        file = scores_table(results / "scores", model, run.benchmark)
        scores = read_columns(file, _SCHEMA, _COLUMNS) if file.is_file() else _SCHEMA.empty_table()
        by_variant = {variant: scores.filter(pc.field("variant") == variant) for variant in run.variants}
        counts = {variant: _count(table, pairs) for variant, table in by_variant.items()}
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


def _count(table: pa.Table, pairs: Sequence[Pair]) -> dict[Pair, tuple[int, int]]:
    """Return for each pair of parsers the number of answers on which they disagree, and of answers with both.

    Two parsers agree if they chose the same option, or none with the same outcome.
    """
    scores = table.to_pandas()
    answers = scores[scores.step == ANSWER].sort_values("turn", kind="stable")
    answers = answers.drop_duplicates(["seed", "question_id", "parser"], keep="last")
    parsed = answers.choice.astype(object).where(answers.choice.notna(), answers.outcome)
    by_parser = answers.assign(parsed=parsed).pivot(index=["seed", "question_id"], columns="parser", values="parsed")
    counts = dict.fromkeys(pairs, (0, 0))
    for one, other in pairs:
        if {one, other} <= set(by_parser):
            both = by_parser[[one, other]].dropna()
            counts[one, other] = int((both[one] != both[other]).sum()), len(both)
    return counts
