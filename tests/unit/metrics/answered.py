"""Runs in small: questions and replies, scored by every parser and written where the workflow has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from known_unknowns import tables
from known_unknowns.config import Params
from known_unknowns.metrics.measure import measure
from known_unknowns.records import OVERALL, AnsweredTurn, Metric, Question, Reply
from known_unknowns.scoring.table import parse
from tests.factories import params_from, with_keys

PARSERS = ("official", "robust", "likelihood")
Cell = tuple[str, int]


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
    for variant in dict.fromkeys(name for name, _ in cells):
        of_variant = {seed: [q for q, _ in pairs] for (name, seed), pairs in cells.items() if name == variant}
        tables.write_variant(folder / "variants" / f"{variant}.parquet", of_variant)
    turns = {
        cell: [AnsweredTurn(q.id, 0, "answer", "p", (), q.labels, "k", reply) for q, reply in pairs]
        for cell, pairs in cells.items()
    }
    files = folder / "replies.parquet", folder / "scores.parquet"
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
    return measured_again(folder, cells, kept=kept, **statistics)


def measured_again(
    folder: Path, cells: Mapping[Cell, object], *, kept: str | None = None, **statistics: float
) -> list[Metric]:
    variants, seeds = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    own = {name: [seed for variant, seed in cells if variant == name] for name in variants}
    settings = with_keys(params(variants, seeds, **statistics), benchmarks__humblebench__seeds=own)
    measure(
        settings,
        "m",
        "humblebench",
        variants=folder / "variants",
        scores=folder / "scores.parquet",
        replies=folder / "replies.parquet",
        out=folder / "metrics.parquet",
        kept=kept,
    )
    return tables.read_metrics(folder / "metrics.parquet")


def pick(metrics: Sequence[Metric], name: str, **where: object) -> Metric:
    """The one metric of this name; by default robust, overall, on the original, with seed 0."""
    where = {"variant": "original", "seed": 0, "parser": "robust", "category": OVERALL} | where
    (found,) = [
        metric
        for metric in metrics
        if metric.name == name and all(getattr(metric, key) == value for key, value in where.items())
    ]
    return found
