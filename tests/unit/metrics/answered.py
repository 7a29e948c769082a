"""Runs in small: questions and replies, scored by every parser and written where the workflow has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from known_unknowns import tables
from known_unknowns.benchmark.protocol import CONFIDENCE
from known_unknowns.config import Params
from known_unknowns.metrics.answers import cells_of, frame
from known_unknowns.records import OVERALL, AnsweredTurn, Cell, Metric, Question, Reply, Score
from known_unknowns.scoring.answers import answer_table
from known_unknowns.scoring.dialogues import ScoresByTurn, score_turn
from known_unknowns.scoring.table import parse
from tests.asked_and_measured import measure
from tests.factories import params_from, with_keys

PARSERS = ("official", "robust", "likelihood")


def params(
    variants: Sequence[str],
    seeds: Sequence[int],
    *,
    parsers: Sequence[str] = PARSERS,
    **statistics: float,
) -> Params:
    """A params.yaml with no more than what is measured."""
    return params_from(
        {
            "edition": "pocket",
            "editions": {"pocket": {"benchmarks": ["humblebench"], "models": ["m"], "seeds": list(seeds)}},
            "benchmarks": {"humblebench": {"variants": list(variants), "protocol": "single_turn"}},
            "variants": {name: {} for name in variants},
            "protocols": {"single_turn": {}},
            "parsers": list(parsers),
            "statistics": {"confidence": 0.95} | statistics,
        }
    )


def write(folder: Path, cells: Mapping[Cell, Sequence[tuple[Question, Reply]]], *, kept: str | None = None) -> None:
    for variant in dict.fromkeys(cell.variant for cell in cells):
        of_variant = {cell.seed: [q for q, _ in pairs] for cell, pairs in cells.items() if cell.variant == variant}
        tables.write_variant(folder / "variants" / f"{variant}.parquet", of_variant)
    turns = {
        cell: [AnsweredTurn(q.id, 0, "answer", "p", (), q.labels, "k", reply) for q, reply in pairs]
        for cell, pairs in cells.items()
    }
    files = folder / "replies.parquet", folder / "answers.parquet"
    tables.write_replies(files[0], turns)
    parse(folder / "variants", *files, cells=list(cells), parsers=PARSERS, kept=kept)


def measured(
    folder: Path,
    cells: Mapping[Cell, Sequence[tuple[Question, Reply]]],
    *,
    kept: str | None = None,
    **statistics: float,
) -> list[Metric]:
    write(folder, cells, kept=kept)
    return measured_again(folder, cells, **statistics)


def measured_again(folder: Path, cells: Mapping[Cell, object], **statistics: float) -> list[Metric]:
    variants, seeds, _ = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    own = {name: [cell.seed for cell in cells if cell.variant == name] for name in variants}
    settings = with_keys(params(variants, seeds, **statistics), benchmarks__humblebench__seeds=own)
    measure(
        settings,
        "m",
        "humblebench",
        answers=folder / "answers.parquet",
        out=folder / "metrics.parquet",
    )
    return tables.read_metrics(folder / "metrics.parquet")


Dialogue = Sequence[AnsweredTurn]


def dialogue(question: Question, replies: Sequence[tuple[str, Reply]]) -> list[AnsweredTurn]:
    """Turns of these steps; all but that of the confidence offer the options."""
    return [
        AnsweredTurn(question.id, place, step, "p", (), None if step == CONFIDENCE else question.labels, "k", reply)
        for place, (step, reply) in enumerate(replies)
    ]


def answers_of(
    cells: Mapping[Cell, Sequence[tuple[Question, Dialogue]]], parsers: Sequence[str] = ("robust",)
) -> pd.DataFrame:
    """The table of answers to questions with their dialogues, by variant and seed."""
    parts = []
    for cell, pairs in cells.items():
        scores: dict[str, ScoresByTurn] = {parser: {} for parser in parsers}
        for question, turns in pairs:
            for turn, parser in product((turn for turn in turns if turn.labels is not None), parsers):
                scores[parser][question.id, turn.turn] = score_turn(turn, question, parser)
        parts.append((cell, answer_table(pairs[0][0].benchmark, pairs, parsers, scores, file="replies")))
    return frame(parts)


def cell_of(
    scores: Sequence[tuple[Question, Score]], forced: Mapping[str, Score] | None = None, **reply: Any
) -> pd.DataFrame:
    """One cell with these scores, and those of the forced choices by question; ``reply`` are the fields of replies."""
    parser = scores[0][1].parser
    found: ScoresByTurn = {}
    pairs = []
    for question, score in scores:
        steps = ["answer", *(["forced"] if question.id in (forced or {}) else [])]
        turns = dialogue(question, [(step, Reply(**{"text": ""} | reply)) for step in steps])
        pairs.append((question, turns))
        found[question.id, 0] = score
        if forced and question.id in forced:
            found[question.id, 1] = forced[question.id]
    table = answer_table(scores[0][0].benchmark, pairs, [parser], {parser: found}, file="replies")
    return only_cell(frame([(Cell("original", 0), table)]))


def only_cell(answers: pd.DataFrame, parser: str | None = None) -> pd.DataFrame:
    """The only cell of a table, or of a parser in it."""
    (of_parsers,) = cells_of(answers).values()
    of_seeds = of_parsers[parser] if parser else next(iter(of_parsers.values()))
    (cell,) = of_seeds.values()
    return cell


def pick(metrics: Sequence[Metric], name: str, **where: object) -> Metric:
    """The one metric of this name; by default robust, overall, on the original, the first sample with seed 0."""
    where = {"variant": "original", "seed": 0, "sample": 0, "parser": "robust", "category": OVERALL} | where
    if where["seed"] is None:
        where["sample"] = None
    (found,) = [
        metric
        for metric in metrics
        if metric.name == name and all(getattr(metric, key) == value for key, value in where.items())
    ]
    return found
