"""Commands that make the questions and their variants."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from known_unknowns.command_options import (
    PARAMS,
    Edition,
    Out,
    ParamsFile,
)
from known_unknowns.data.questions import normalise
from known_unknowns.data.questions import vary as run
from known_unknowns.workflow import selection


def questions(
    benchmark: str,
    raw: Annotated[Path, typer.Option(help="Folder of the published files.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write: questions.parquet and images/.")],
    workers: Annotated[int, typer.Option(min=1, help="Number of processes that decode and write images.")] = 1,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Convert published files to a table of questions and a folder of images.

    \b
    Example:
      known-unknowns questions BENCHMARK --raw data/pocket/raw/BENCHMARK \\
        --out questions
    """
    settings = selection.load(params, "questions", edition=edition, benchmark=benchmark).data(benchmark)
    normalise(benchmark, raw, out, settings=settings, workers=workers)


def vary(
    benchmark: str,
    variant: str,
    questions: Annotated[Path, typer.Option(help="The table of original questions.")],
    out: Out,
    seed: Annotated[
        list[int] | None, typer.Option(help="A seed. Repeatable. [default: those of the benchmark and variant]")
    ] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Apply a variant of params.yaml (nota_only, noise, ...) to a table of questions, with all seeds.

    \b
    Example:
      known-unknowns vary BENCHMARK noise --out variants/noise.parquet \\
        --questions data/pocket/questions/BENCHMARK/questions.parquet
    """
    chosen = selection.load(params, "vary", edition=edition, benchmark=benchmark, variant=variant)
    seeds = seed or chosen.seeds_of(benchmark, variant)
    run(chosen.variant(variant), questions, out, seeds=seeds, limit=chosen.limit)
