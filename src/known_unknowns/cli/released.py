"""Commands for replies that a benchmark's authors released."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from known_unknowns.command_options import (
    PARAMS,
    Edition,
    Out,
    ParamsFile,
    RawFolder,
    ScoresOfEdition,
    VariantFolder,
)
from known_unknowns.comparison.reply_tables import write_tables
from known_unknowns.exchange.released import import_released as run
from known_unknowns.exchange.released import write_published
from known_unknowns.workflow import selection


def import_released(
    model: str,
    benchmark: str,
    raw: RawFolder,
    variants: VariantFolder,
    out: Annotated[Path, typer.Option("--out", help="Folder to write: replies.parquet and engine.json.")],
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write the released replies of a model as the workflow writes replies.

    \b
    Example:
      known-unknowns import-released MODEL BENCHMARK --edition released \\
        --raw data/released/raw/BENCHMARK --out replies \\
        --variants results/released/variants/BENCHMARK
    """
    chosen = selection.load(params, "import_released", edition=edition, model=model, benchmark=benchmark)
    run(chosen, model, benchmark, raw=raw, variants=variants, out=out)


def released_numbers(
    benchmark: str,
    raw: RawFolder,
    variants: VariantFolder,
    out: Out,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write the numbers released with replies, and whether these reproduce them, as JSON.

    \b
    Example:
      known-unknowns released-numbers BENCHMARK --edition released \\
        --raw data/released/raw/BENCHMARK --out numbers.json \\
        --variants results/released/variants/BENCHMARK
    """
    chosen = selection.load(params, "released_numbers", edition=edition, benchmark=benchmark)
    write_published(chosen, benchmark, raw=raw, variants=variants, out=out)


def reply_tables(
    benchmark: str,
    variants: VariantFolder,
    scores: ScoresOfEdition,
    out: Annotated[Path, typer.Option("--out", help="Folder to write: CSV files.")],
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Compare parsers, variants and models question by question, and write the tables as CSV.

    \b
    Example:
      known-unknowns reply-tables BENCHMARK --edition released \\
        --variants results/released/variants/BENCHMARK \\
        --scores results/released/scores --out reply_tables
    """
    chosen = selection.load(params, "reply_tables", edition=edition, benchmark=benchmark)
    write_tables(chosen, benchmark, variants=variants, scores=scores, out=out)
