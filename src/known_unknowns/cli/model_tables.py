"""Commands that make the tables of all models on a benchmark in one process."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from known_unknowns.command_options import (
    PARAMS,
    Code,
    Edition,
    MadeFrom,
    ParamsFile,
    QuestionFolder,
    RepliesOfEdition,
    ScoresOfEdition,
    Workers,
)


def score_models(
    benchmark: str,
    questions: QuestionFolder,
    replies: RepliesOfEdition,
    out: Annotated[Path, typer.Option("--out", help="The edition's folder of scores.")],
    made_from: MadeFrom = None,
    code: Code = "",
    workers: Workers = 1,
    verdicts: Annotated[Path | None, typer.Option(help="The judge's verdicts, if the parsers include it.")] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Parse the replies of all models to a benchmark with every parser, in one process.

    With --made-from, a table is kept if neither its inputs nor --code have changed.

    \b
    Example:
      known-unknowns score-models BENCHMARK --replies results/pocket/replies \\
        --questions data/pocket/questions/BENCHMARK --out results/pocket/scores
    """
    from known_unknowns.data.up_to_date import UpToDate
    from known_unknowns.scoring.table import score_models as run
    from known_unknowns.workflow import configuration

    chosen = configuration.load(params, edition=edition)
    run(
        {model: chosen.cells(benchmark, model) for model in chosen.models},
        benchmark,
        questions=questions,
        replies=replies,
        out=out,
        parsers=chosen.parsers,
        up_to_date=UpToDate(made_from, code=code),
        workers=workers,
        verdicts=verdicts,
    )


def judge(
    benchmark: str,
    questions: QuestionFolder,
    replies: RepliesOfEdition,
    out: Annotated[Path, typer.Option("--out", help="The JSON file of verdicts to write.")],
    journal: Annotated[Path, typer.Option(help="The journal of the judge's replies.")],
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Ask the judge of params.yaml which options the models' replies to a benchmark give.

    It first states the number of requests and what they cost. Replies in the journal are not asked about again.

    \b
    Example:
      known-unknowns judge BENCHMARK --replies results/pocket/replies \\
        --questions data/pocket/questions/BENCHMARK --out verdicts.json \\
        --journal judge.jsonl
    """
    from known_unknowns.engines import stopping
    from known_unknowns.inference.judging import judge as run
    from known_unknowns.workflow import configuration

    chosen = configuration.load(params, edition=edition)
    stopping.install()
    run(chosen, benchmark, questions=questions, replies=replies, out=out, journal=journal)


def measure_models(
    benchmark: str,
    questions: QuestionFolder,
    scores: ScoresOfEdition,
    replies: RepliesOfEdition,
    out: Annotated[Path, typer.Option("--out", help="The edition's folder of metrics.")],
    made_from: MadeFrom = None,
    code: Code = "",
    workers: Workers = 1,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Compute every metric of all models on a benchmark, in one process.

    With --made-from, a table is kept if neither its inputs nor --code have changed.

    \b
    Example:
      known-unknowns measure-models BENCHMARK --scores results/pocket/scores \\
        --questions data/pocket/questions/BENCHMARK \\
        --replies results/pocket/replies --out results/pocket/metrics
    """
    from known_unknowns.data.up_to_date import UpToDate
    from known_unknowns.metrics.measure_models import measure_models as run
    from known_unknowns.workflow import configuration

    run(
        configuration.load(params, edition=edition),
        benchmark,
        questions=questions,
        scores=scores,
        replies=replies,
        out=out,
        up_to_date=UpToDate(made_from, code=code),
        workers=workers,
    )
