"""Steps of the workflow that compute the metrics of a model, and the tables of an edition's metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from known_unknowns import metrics as measuring
from known_unknowns.cli.options import (
    PARAMS,
    Digests,
    Edition,
    MetricTables,
    Out,
    ParamsFile,
)
from known_unknowns.metrics import summary
from known_unknowns.workflow import end_products, selection


def measure(
    model: str,
    benchmark: str,
    answers: Annotated[Path, typer.Option(help="The table of the model's answers to the benchmark.")],
    out: Out,
    confidence: Annotated[Path | None, typer.Option(help="Also write the confidences of each question here.")] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Compute every metric with its confidence interval, and the model's confidence in each answer."""
    chosen = selection.load(params, "measure", edition=edition, model=model, benchmark=benchmark)
    measuring.measure(chosen, model, benchmark, answers=answers, out=out, confidence=confidence)


def summarise(
    metrics: MetricTables,
    out: Annotated[Path, typer.Option("--out", help="The JSON file with a short record per model.")],
    plot: Annotated[Path, typer.Option(help="The CSV file of the benchmarks and their stress tests.")],
    headline: Annotated[
        Path | None, typer.Option(help="The CSV file of headline metrics. [default: headline.csv beside --out]")
    ] = None,
    leaderboard: Annotated[
        Path | None,
        typer.Option(help="The CSV file with a row per headline number. [default: leaderboard.csv beside --out]"),
    ] = None,
    models: Annotated[
        Path | None,
        typer.Option(help="The folder of each model's record (dvc metrics show). [default: models beside --out]"),
    ] = None,
    digests: Digests = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write the headline metrics and the leaderboard as CSV, and a short record per model as JSON."""
    headline, leaderboard = headline or out.with_name("headline.csv"), leaderboard or out.with_name("leaderboard.csv")
    models = models or out.with_name("models")
    summary.summarise(
        selection.load(params, "summarise", edition=edition),
        metrics,
        out=out,
        plot=plot,
        headline_table=headline,
        leaderboard_table=leaderboard,
        models=models,
    )
    if digests:
        end_products.write_digests(digests, [out, plot, headline, leaderboard, *models.glob("*.json")])
