"""Commands on recorded replies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from known_unknowns import stopping, unusable
from known_unknowns.cli.options import PARAMS, Edition, ModelName, OneOrAllBenchmarks, ParamsFile
from known_unknowns.inference import journal as journals
from known_unknowns.model_runs import model_run
from known_unknowns.run_command import run_command
from known_unknowns.workflow import configuration
from known_unknowns.workflow.run_lock import lock_run


def retry(
    model: ModelName,
    benchmark: OneOrAllBenchmarks = None,
    finish: Annotated[
        list[str] | None,
        typer.Option(help="Ask only these again: error, rejected, content_filter, refusal or empty. [default: all]"),
    ] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Ask only the questions again whose recorded reply is a failure or empty.

    Run the workflow afterwards: it updates the metrics and the report.

    \b
    Example:
      known-unknowns retry MODEL
      known-unknowns retry MODEL BENCHMARK --finish error --finish rejected
    """
    settings = configuration.load(params, edition=edition)
    stopping.install()
    with lock_run():
        retried = model_run.retry(settings, model, benchmark, finishes=finish or unusable.RETRIED)
    for each in retried:
        print(each)
    if any(each.asked for each in retried):
        print(f"Update the results with  {run_command(settings.edition)}")


def journal(
    action: Annotated[Literal["check", "repair"], typer.Argument(help="What to do.")],
    paths: Annotated[list[Path] | None, typer.Argument(help="Journals. [default: all below journal/]")] = None,
) -> None:
    """Check journals of replies for damaged lines, or move such lines to <journal>.damaged.

    Every sound reply is kept. The next run asks the questions of the damaged lines again. With damage, check exits
    with 1.

    \b
    Example:
      known-unknowns journal check
      known-unknowns journal repair journal/MODEL/BENCHMARK.jsonl
    """
    damaged = False
    if not (found_journals := journals.journals(paths or ())):
        print("There are no journals below journal/ in this folder.")
    for path in found_journals:
        found = (journals.repair if action == "repair" else journals.check)(path)
        damaged = damaged or bool(found.damaged)
        print(found)
        if found.damaged and action == "repair":
            print(f"  moved to {path}.damaged; {len(found.lost_keys)} named replies are lost and will be asked again")
    if damaged and action == "check":
        print("Set the damaged lines aside with: known-unknowns journal repair")
        raise typer.Exit(1)
