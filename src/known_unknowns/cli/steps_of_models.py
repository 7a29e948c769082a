"""Steps of the workflow that make questions, ask models and score their replies: jobs of one model or benchmark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from known_unknowns import json_files
from known_unknowns.cli.options import (
    PARAMS,
    Edition,
    Out,
    ParamsFile,
    QuestionFolder,
    RepliesTable,
    VariantFolder,
)
from known_unknowns.data import questions as tables_of_questions
from known_unknowns.engines import stopping
from known_unknowns.inference import judging, model_run
from known_unknowns.inference import probe as probing
from known_unknowns.inference.shards import Shard
from known_unknowns.scoring.judge import JUDGE
from known_unknowns.scoring.table import parse as parse_replies
from known_unknowns.workflow import configuration, selection


def questions(
    benchmark: str,
    raw: Annotated[Path, typer.Option(help="Folder of the published files.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write: questions.parquet and images/.")],
    workers: Annotated[int, typer.Option(min=1, help="Number of processes that decode and write images.")] = 1,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Convert published files to a table of questions and a folder of images."""
    settings = selection.load(params, "questions", edition=edition, benchmark=benchmark).data(benchmark)
    tables_of_questions.normalise(benchmark, raw, out, settings=settings, workers=workers)


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
    """Apply a variant of params.yaml (nota_only, noise, ...) to a table of questions, with all seeds."""
    chosen = selection.load(params, "vary", edition=edition, benchmark=benchmark, variant=variant)
    seeds = seed or chosen.seeds_of(benchmark, variant)
    tables_of_questions.vary(chosen.variant(variant), questions, out, seeds=seeds, limit=chosen.limit)


def probe(
    model: Annotated[str, typer.Argument(help="The name of a model in params.yaml.")],
    out: Annotated[Path | None, typer.Option("--out", help="A JSON file to write the result to.")] = None,
    journals: Annotated[
        Path | None,
        typer.Option(help="The model's folder of journals. Nothing is checked if its last runs have finished."),
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Find anew which default settings an endpoint refuses. [journals: journal/MODEL]"),
    ] = False,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Check that a model is there and can answer.

    An endpoint must serve the model and the revision that params.yaml names, accept the key, and answer a question
    about the colour of two small images. Default settings that it refuses, such as temperature 0, are left out from
    then on. The files of a local model must be complete, hold every tensor of its class,
    and prepare a question with an image.

    \b
    Example:
      known-unknowns models probe MODEL
    """
    chosen = selection.load(params, "probe", edition=edition, model=model)
    if again and journals is None:
        journals = Path("journal", model)
    found = probing.probe(model, chosen.model(model), journals, again=again)
    if out is not None:
        json_files.write(out, found)
    print(json.dumps(found, indent=2, sort_keys=True))


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
    answers: Annotated[Path, typer.Option(help="The table of answers to write, from which metrics are computed.")],
    judgements: Annotated[
        Path | None, typer.Option(help="The judge's judgements; without it, the judge is left out.")
    ] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Parse every reply of a model to a benchmark with every parser, and write the scores and the answers."""
    chosen = selection.load(params, "parse", edition=edition, model=model, benchmark=benchmark)
    parsers = [name for name in chosen.parsers if name != JUDGE or judgements is not None]
    kept = getattr(chosen.model(model), "kept", None)
    cells = chosen.cells(benchmark, model)
    parse_replies(
        variants, replies, out, cells=cells, parsers=parsers, judgements=judgements, kept=kept, answers=answers
    )


def judge(
    variants: Annotated[Path, typer.Option(help="The edition's folder of variants.")],
    replies: Annotated[Path, typer.Option(help="The edition's folder of replies.")],
    out: Annotated[Path, typer.Option("--out", help="The JSON file of judgements to write.")],
    journal: Annotated[Path, typer.Option(help="The journal of the judge's replies.")],
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Ask the judge of params.yaml which options the replies of all models give.

    It first states the number of requests and what they cost. Replies in the journal are not asked about again.
    """
    chosen = selection.load(params, "judge", edition=edition)
    stopping.install()
    judging.judge(chosen, variants=variants, replies=replies, out=out, journal=journal)
