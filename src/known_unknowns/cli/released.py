"""Commands for replies that a benchmark's authors released."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from known_unknowns.command_options import (
    PARAMS,
    Code,
    Edition,
    MadeFrom,
    Out,
    ParamsFile,
    QuestionFolder,
    RawFolder,
    ScoresOfEdition,
)


def import_released(
    model: str,
    benchmark: str,
    raw: RawFolder,
    questions: QuestionFolder,
    out: Annotated[Path, typer.Option("--out", help="Folder to write: <variant>/seed<k>.parquet and engine.json.")],
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write the released replies of a model as the workflow writes replies.

    \b
    Example:
      known-unknowns import-released MODEL BENCHMARK --edition released \\
        --raw data/released/raw/BENCHMARK --out replies \\
        --questions data/released/questions/BENCHMARK
    """
    from known_unknowns.exchange.released import import_released as run
    from known_unknowns.workflow import configuration

    run(configuration.load(params, edition=edition), model, benchmark, raw=raw, questions=questions, out=out)


def import_released_models(
    benchmark: str,
    raw: RawFolder,
    questions: QuestionFolder,
    out: Annotated[Path, typer.Option("--out", help="The edition's folder of replies.")],
    made_from: MadeFrom = None,
    code: Code = "",
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write the released replies of all models to a benchmark, in one process.

    With --made-from, the replies of a model are kept if neither its inputs nor --code have changed. If the replies of a
    model cannot be imported, those of the others are.

    \b
    Example:
      known-unknowns import-released-models BENCHMARK --edition released \\
        --raw data/released/raw/BENCHMARK --out results/released/replies \\
        --questions data/released/questions/BENCHMARK
    """
    from known_unknowns.data.up_to_date import UpToDate
    from known_unknowns.exchange.released_models import import_models
    from known_unknowns.workflow import configuration

    import_models(
        configuration.load(params, edition=edition),
        benchmark,
        raw=raw,
        questions=questions,
        out=out,
        up_to_date=UpToDate(made_from, code=code),
    )


def released_numbers(
    benchmark: str,
    raw: RawFolder,
    questions: QuestionFolder,
    out: Out,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write the numbers that were released with replies, and whether the replies reproduce them, as JSON.

    \b
    Example:
      known-unknowns released-numbers BENCHMARK --edition released \\
        --raw data/released/raw/BENCHMARK --out numbers.json \\
        --questions data/released/questions/BENCHMARK
    """
    from known_unknowns.exchange.released import write_published
    from known_unknowns.workflow import configuration

    write_published(configuration.load(params, edition=edition), benchmark, raw=raw, questions=questions, out=out)


def reply_tables(
    benchmark: str,
    questions: QuestionFolder,
    scores: ScoresOfEdition,
    out: Annotated[Path, typer.Option("--out", help="Folder to write: CSV files.")],
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Compare parsers, variants and models question by question, and write the tables as CSV.

    \b
    Example:
      known-unknowns reply-tables BENCHMARK --edition released \\
        --questions data/released/questions/BENCHMARK \\
        --scores results/released/scores --out reply_tables
    """
    from known_unknowns.comparison.raw_replies import write_tables
    from known_unknowns.workflow import configuration

    write_tables(configuration.load(params, edition=edition), benchmark, questions=questions, scores=scores, out=out)
