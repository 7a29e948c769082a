"""Steps of a run with the settings that a whole configuration has, as the rules give them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from known_unknowns.config import Params
from known_unknowns.inference.asking import Asking
from known_unknowns.inference.shards import Shard
from known_unknowns.metrics import measure as measuring
from known_unknowns.model_runs import judging, model_run
from known_unknowns.records import Reply


def infer(
    params: Params,
    model: str,
    benchmark: str,
    *,
    questions: Path,
    variants: Path,
    out: Path,
    journal: Path,
    records: Path | None = None,
    ask_again: Collection[str] = (),
) -> Mapping[str, Reply]:
    """Ask a model the questions of a benchmark (`model_run.infer`)."""
    return model_run.infer(
        Asking.of(params, model, benchmark),
        model,
        benchmark,
        questions=questions,
        variants=variants,
        out=out,
        journal=journal,
        records=records,
        ask_again=ask_again,
    )


def infer_shard(
    params: Params,
    model: str,
    benchmark: str,
    shard: Shard,
    *,
    questions: Path,
    variants: Path,
    records: Path,
    journal: Path,
) -> None:
    """Ask a model one part of the questions of a benchmark (`model_run.infer_shard`)."""
    model_run.infer_shard(
        Asking.of(params, model, benchmark),
        model,
        benchmark,
        shard,
        questions=questions,
        variants=variants,
        records=records,
        journal=journal,
    )


def judge(params: Params, *, variants: Path, replies: Path, out: Path, journal: Path) -> None:
    """Ask the judge about the replies of the edition's models (`judging.judge`)."""
    assert params.judge is not None
    judging.judge(
        params.judge,
        params.model(params.judge.model),
        judging.cells_of(params),
        own_models=judging.own_models(params),
        variants=variants,
        replies=replies,
        out=out,
        journal=journal,
    )


def measure(params: Params, model: str, benchmark: str, *, answers: Path, out: Path) -> None:
    """Write the metrics of a model on a benchmark (`measure.measure`)."""
    measuring.measure(
        model,
        benchmark,
        answers=answers,
        out=out,
        cells=params.cells(benchmark, model),
        parsers=params.parsers,
        confidence_level=params.statistics.confidence,
        variants=params.functions(benchmark),
        protocols=params.protocols(benchmark),
    )
