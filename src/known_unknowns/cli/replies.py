"""Commands on recorded replies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from known_unknowns.cli._options import PARAMS, Edition, ParamsFile


def retry(
    model: Annotated[str, typer.Argument(help="A model of the edition.")],
    benchmark: Annotated[str | None, typer.Argument(help="A benchmark of the edition. [default: all]")] = None,
    finish: Annotated[
        list[str] | None,
        typer.Option(help="Failures to ask again: error, rejected, no_choice or content_filter. [default: all four]"),
    ] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Ask the questions again whose recorded reply is a failure of the engine or the endpoint, and only these.

    Run the workflow afterwards: it updates the metrics and the report.

    \b
    Example:
      known-unknowns retry MODEL
      known-unknowns retry MODEL BENCHMARK --finish error --finish rejected
    """
    from known_unknowns.engines import stopping
    from known_unknowns.inference import failures
    from known_unknowns.workflow import configuration
    from known_unknowns.workflow.run import LOCK_FILE, lock

    settings = configuration.load(params, edition=edition)
    stopping.install()
    with lock(LOCK_FILE):
        retried = failures.retry(settings, model, benchmark, finishes=finish or failures.FINISHES)
    for each in retried:
        print(each)
    if any(each.asked for each in retried):
        print("Run the workflow (make run) to update the results.")


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
      known-unknowns journal repair journal/pocket/MODEL/BENCHMARK.jsonl
    """
    from known_unknowns.inference import journal_repair

    damaged = False
    for path in journal_repair.journals(paths or ()):
        found = (journal_repair.repair if action == "repair" else journal_repair.check)(path)
        damaged = damaged or bool(found.damaged)
        print(found)
        if found.damaged and action == "repair":
            print(f"  moved to {path}.damaged; {len(found.lost_keys)} named replies are lost and will be asked again")
    if damaged and action == "check":
        print("Set the damaged lines aside with: known-unknowns journal repair")
        raise typer.Exit(1)
