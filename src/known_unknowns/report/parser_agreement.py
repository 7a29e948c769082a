"""How often two parsers disagree, from the tables of scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from known_unknowns import tables
from known_unknowns.edition_files import scores_table
from known_unknowns.records import Score
from known_unknowns.report.formatting import Cell, Head, Row, Table, move_n_to_column, move_n_to_heading, percent
from known_unknowns.report.tables import Run
from known_unknowns.scoring.dialogues import final_scores
from known_unknowns.tables import Part

Pair = tuple[str, str]


def scores_of(results: Path, model: str, benchmark: str, variant: str, seed: int) -> Part:
    """Return the scores of a variant and seed."""
    return Part(scores_table(results / "scores", model, benchmark), seed, variant)


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
        scores = final_scores(tables.read_scores(part))
        for pair in pairs:
            first, second = (scores.get(parser, {}) for parser in pair)
            both = first.keys() & second.keys()
            differ, n = counts[pair]
            counts[pair] = (
                differ + sum(_parsed(first[question]) != _parsed(second[question]) for question in both),
                n + len(both),
            )
    return counts


def _parsed(score: Score) -> int | str:
    """The index of the chosen option, or the outcome without one."""
    return score.outcome if score.choice is None else score.choice
