"""The command line: one subcommand per arrow of the workflow, each a thin call into the package.

Nothing heavy is imported here, so that ``known-unknowns --help`` starts at once.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from known_unknowns import __version__
from known_unknowns.benchmarks._pocket import train_command
from known_unknowns.cli import (
    data as cli_data,
)
from known_unknowns.cli import (
    endpoints as cli_endpoints,
)
from known_unknowns.cli import (
    exchange as cli_exchange,
)
from known_unknowns.cli import (
    models as cli_models,
)
from known_unknowns.cli import (
    share as cli_share,
)
from known_unknowns.cli._options import PARAMS, Edition, Out, ParamsFile
from known_unknowns.errors import KnownUnknownsError

app = typer.Typer(
    name="known-unknowns",
    help="Reproduce the benchmarks of what multimodal LLMs know that they do not know. "
    "The workflow (make run) calls these commands; each also works by hand.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _version(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        print(f"known-unknowns {__version__}")
        raise typer.Exit


app.command()(cli_data.fetch)
app.command()(cli_data.lock)


@app.command()
def questions(
    benchmark: str,
    raw: Annotated[Path, typer.Option(help="Folder of the published files.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write: questions.parquet and images/.")],
    workers: Annotated[int, typer.Option(min=1, help="Processes that decode and write pictures.")] = 1,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Normalise published files into the table of questions and a folder of pictures."""
    from known_unknowns import config
    from known_unknowns.data.questions import normalise

    normalise(benchmark, raw, out, settings=config.load(params, edition=edition).data(benchmark), workers=workers)


@app.command()
def vary(
    variant: str,
    questions: Annotated[Path, typer.Option(help="The table of original questions.")],
    out: Out,
    seed: Annotated[int, typer.Option(help="Seed of the variant.")] = 0,
    params: ParamsFile = PARAMS,
) -> None:
    """Make a variant of a table of questions (nota_only, noise, shuffled_options, ...)."""
    from known_unknowns import config
    from known_unknowns.data.questions import vary as run

    run(config.load(params).variant(variant), questions, out, seed=seed)


@app.command()
def infer(
    model: str,
    benchmark: str,
    questions: Annotated[Path, typer.Option(help="The benchmark's question folder.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write: <variant>/seed<k>.parquet.")],
    journal: Annotated[Path, typer.Option(help="Journal of replies: only what it lacks is asked.")],
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Ask a model every question of a benchmark, in all its variants and seeds, loading the model once.

    A run that was killed continues where it stopped.
    """
    from known_unknowns import config
    from known_unknowns.inference import infer as run

    run(config.load(params, edition=edition), model, benchmark, questions=questions, out=out, journal=journal)


@app.command()
def score(
    benchmark: str,
    questions: Annotated[Path, typer.Option(help="The benchmark's question folder.")],
    replies: Annotated[Path, typer.Option(help="The model's and benchmark's folder of replies.")],
    out: Out,
    model: Annotated[str | None, typer.Option(help="The model, if its replies were imported.")] = None,
    params: ParamsFile = PARAMS,
) -> None:
    """Read every reply of a model to a benchmark with every scorer."""
    from known_unknowns import config
    from known_unknowns.scoring.table import score_tables

    chosen = config.load(params)
    score_tables(questions, replies, out, cells=chosen.cells(benchmark, model), scorers=chosen.scorers)


@app.command()
def measure(
    model: str,
    benchmark: str,
    questions: Annotated[Path, typer.Option(help="The benchmark's question folder.")],
    scores: Annotated[Path, typer.Option(help="The model's and benchmark's folder of scores.")],
    replies: Annotated[Path, typer.Option(help="The model's and benchmark's folder of replies.")],
    out: Out,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Compute every metric with its interval."""
    from known_unknowns import config
    from known_unknowns.metrics import measure as run

    run(
        config.load(params, edition=edition),
        model,
        benchmark,
        questions=questions,
        scores=scores,
        replies=replies,
        out=out,
    )


@app.command()
def compare(
    metrics: Annotated[list[Path], typer.Argument(help="Tables of metrics.")],
    out: Out,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Set every published number beside ours, with a verdict."""
    from known_unknowns import config
    from known_unknowns.comparison import compare as run

    run(config.load(params, edition=edition), metrics, out)


@app.command()
def summarise(
    metrics: Annotated[list[Path], typer.Argument(help="Tables of metrics.")],
    out: Annotated[Path, typer.Option("--out", help="The JSON file of headline numbers (dvc metrics show).")],
    table: Annotated[Path, typer.Option(help="The CSV file of all metrics.")],
    plot: Annotated[Path, typer.Option(help="The CSV file that dvc plots draws.")],
) -> None:
    """Write the tables that people and DVC read: all metrics as CSV, the headline ones as JSON."""
    from known_unknowns.metrics.summary import summarise as run

    run(metrics, out=out, table=table, plot=plot)


@app.command()
def track(
    metrics: Annotated[list[Path], typer.Argument(help="Tables of metrics.")],
    results: Annotated[Path, typer.Option(help="The edition's results folder.")],
    data: Annotated[Path, typer.Option(help="The edition's data folder.")],
    out: Annotated[Path, typer.Option("--out", help="A JSON file that lists the runs, by their key.")],
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Log one MLflow run per model, benchmark, variant and seed; a rerun updates its runs."""
    from known_unknowns import config
    from known_unknowns.tracking import track as run

    run(config.load(params, edition=edition), metrics, results=results, data=data, out=out)


@app.command()
def report(
    metrics: Annotated[list[Path], typer.Argument(help="Tables of metrics.")],
    results: Annotated[Path, typer.Option(help="The edition's results folder.")],
    data: Annotated[Path, typer.Option(help="The edition's data folder.")],
    comparison: Annotated[Path, typer.Option(help="The table of published numbers beside ours.")],
    out: Annotated[Path, typer.Option("--out", help="The HTML file; figures are written into its folder.")],
    checks: Annotated[Path | None, typer.Option(help="Folder of <benchmark>.json, written by check --json.")] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write the report: one HTML file that opens offline."""
    from known_unknowns import config
    from known_unknowns.report import build

    build(
        config.load(params, edition=edition),
        metrics,
        results=results,
        data=data,
        comparison=comparison,
        out=out,
        checks=checks,
    )


for command in (
    cli_exchange.check,
    cli_exchange.rescore,
    cli_exchange.export,
    cli_models.models,
    cli_share.licences,
    cli_share.pin,
    cli_endpoints.served,
):
    app.command()(command)
app.command("train")(train_command())


def main() -> None:
    """Entry point. Our own errors end in one line on stderr and their exit code (see `known_unknowns.errors`)."""
    try:
        app()
    except KnownUnknownsError as error:
        if os.environ.get("KNOWN_UNKNOWNS_TRACEBACK"):
            raise
        print(f"known-unknowns: error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
