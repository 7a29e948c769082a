"""Commands that ask models, and parse their replies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from known_unknowns.command_options import (
    PARAMS,
    Edition,
    Out,
    ParamsFile,
    QuestionFolder,
    RepliesTable,
    VariantFolder,
)
from known_unknowns.engines import stopping
from known_unknowns.inference import model_run
from known_unknowns.inference.judging import judge as ask_judge
from known_unknowns.inference.shards import Shard
from known_unknowns.scoring.judge import JUDGE
from known_unknowns.scoring.table import parse as parse_replies
from known_unknowns.workflow import configuration, selection


def infer(
    model: str,
    benchmark: str,
    questions: QuestionFolder,
    variants: VariantFolder,
    out: Annotated[
        Path,
        typer.Option("--out", help="Folder to write: replies.parquet and engine.json; the record of a shard."),
    ],
    journal: Annotated[Path, typer.Option(help="Journal of replies. Only turns that it lacks are sent to the model.")],
    shard: Annotated[
        str | None,
        typer.Option(help="Ask one part of the questions only: 2/4 is the second of four. Writes no table."),
    ] = None,
    shards: Annotated[Path | None, typer.Option(help="Folder of the records of the model's shards.")] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Ask a model every question of a benchmark, in all its variants and seeds.

    The model is loaded once. A run that was killed continues from its journal. Shards may run at the same time; the
    command without --shard then writes the table, and asks what is missing.

    \b
    Examples:
      known-unknowns infer MODEL BENCHMARK --out replies \\
        --questions data/pocket/questions/BENCHMARK \\
        --variants results/pocket/variants/BENCHMARK --journal journal.jsonl
      known-unknowns infer MODEL BENCHMARK --out shards \\
        --questions data/pocket/questions/BENCHMARK \\
        --variants results/pocket/variants/BENCHMARK --journal journal.jsonl \\
        --shard 1/4
    """
    part = None if shard is None else Shard.parse(shard)
    names = {"model": model, "benchmark": benchmark}
    whole = configuration.load(params, edition=edition)
    chosen = selection.select(whole, "infer", **names)
    stopping.install()
    if part is None:
        model_run.infer(
            chosen,
            model,
            benchmark,
            settings=selection.compared(whole, "infer", **names),
            questions=questions,
            variants=variants,
            out=out,
            journal=journal,
            records=shards,
        )
    else:
        model_run.infer_shard(
            chosen, model, benchmark, part, questions=questions, variants=variants, records=out, journal=journal
        )


def parse(
    model: str,
    benchmark: str,
    variants: VariantFolder,
    replies: RepliesTable,
    out: Out,
    verdicts: Annotated[
        Path | None, typer.Option(help="The judge's verdicts; without it, the judge is left out.")
    ] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Parse every reply of a model to a benchmark with every parser, and write the scores.

    \b
    Example:
      known-unknowns parse MODEL BENCHMARK --out scores.parquet \\
        --variants results/pocket/variants/BENCHMARK \\
        --replies results/pocket/replies/MODEL/BENCHMARK/replies.parquet
    """
    chosen = selection.load(params, "parse", edition=edition, model=model, benchmark=benchmark)
    parsers = [name for name in chosen.parsers if name != JUDGE or verdicts is not None]
    kept = chosen.raw["models"][model].get("kept")
    cells = chosen.cells(benchmark, model)
    parse_replies(variants, replies, out, cells=cells, parsers=parsers, verdicts=verdicts, kept=kept)


def judge(
    variants: Annotated[Path, typer.Option(help="The edition's folder of variants.")],
    replies: Annotated[Path, typer.Option(help="The edition's folder of replies.")],
    out: Annotated[Path, typer.Option("--out", help="The JSON file of verdicts to write.")],
    journal: Annotated[Path, typer.Option(help="The journal of the judge's replies.")],
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Ask the judge of params.yaml which options the replies of all models give.

    It first states the number of requests and what they cost. Replies in the journal are not asked about again.

    \b
    Example:
      known-unknowns judge --variants results/pocket/variants \\
        --replies results/pocket/replies --out verdicts.json --journal judge.jsonl
    """
    chosen = selection.load(params, "judge", edition=edition)
    stopping.install()
    ask_judge(chosen, variants=variants, replies=replies, out=out, journal=journal)
