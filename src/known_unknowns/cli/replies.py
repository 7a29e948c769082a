"""Commands on recorded replies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from known_unknowns import stopping, unusable
from known_unknowns.cli.options import PARAMS, Edition, ModelName, OneOrAllBenchmarks, ParamsFile
from known_unknowns.inference import journal as journals
from known_unknowns.model_runs import model_run
from known_unknowns.run_command import run_command
from known_unknowns.workflow import configuration
from known_unknowns.workflow.run_lock import lock_run

Journals = Annotated[list[Path] | None, typer.Argument(help="Journals. [default: all below journal/]")]


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
      known-unknowns journal retry MODEL
      known-unknowns journal retry MODEL BENCHMARK --finish error --finish rejected
    """
    settings = configuration.load(params, edition=edition)
    stopping.install()
    with lock_run():
        retried = model_run.retry(settings, model, benchmark, finishes=finish or unusable.RETRIED)
    for each in retried:
        print(each)
    if any(each.asked for each in retried):
        print(f"Update the results with  {run_command(settings.edition)}")


def check(paths: Journals = None) -> None:
    """Check journals of replies for damaged lines. The exit code is 1 if there are some.

    \b
    Example:
      known-unknowns journal check
    """
    damaged = False
    for path in _journals(paths):
        checked = journals.check(path)
        print(checked)
        damaged = damaged or bool(checked.damaged)
    if damaged:
        print("Set the damaged lines aside with: known-unknowns journal repair")
        raise typer.Exit(1)


def repair(paths: Journals = None) -> None:
    """Move damaged lines of journals to <journal>.damaged.

    Every sound reply is kept. The next run asks the questions of the damaged lines again.

    \b
    Example:
      known-unknowns journal repair journal/MODEL/BENCHMARK.jsonl
    """
    for path in _journals(paths):
        repaired = journals.repair(path)
        print(repaired)
        if repaired.damaged:
            print(
                f"  moved to {path}.damaged; {len(repaired.lost_keys)} named replies are lost and will be asked again"
            )


def _journals(paths: list[Path] | None) -> list[Path]:
    """Return the journals to read, and say so if there are none."""
    existing = journals.journals(paths or ())
    if not existing:
        print("There are no journals below journal/ in this folder.")
    return existing
