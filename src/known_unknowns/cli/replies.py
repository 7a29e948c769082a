"""Commands on recorded replies."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from known_unknowns.command_options import PARAMS, Edition, ModelName, OneOrAllBenchmarks, ParamsFile
from known_unknowns.engines import stopping, unusable
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.inference import journal as journals
from known_unknowns.inference import model_run
from known_unknowns.verification import verify as verification
from known_unknowns.verification.summaries import folder_of
from known_unknowns.workflow import configuration, selection
from known_unknowns.workflow.run import LOCK_FILE, lock


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
    with lock(LOCK_FILE):
        retried = model_run.retry(
            settings,
            model,
            benchmark,
            finishes=finish or unusable.RETRIED,
            settings_of=lambda name: selection.compared(settings, "infer", model=model, benchmark=name),
        )
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


def verify(
    model: ModelName,
    benchmark: OneOrAllBenchmarks = None,
    sample: Annotated[int, typer.Option(min=1, help="Number of replies of each benchmark to ask again.")] = 64,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    max_changed: Annotated[
        float, typer.Option(min=0, max=1, help="Largest share of changed answers that is accepted.")
    ] = 0.02,
    out: Annotated[Path | None, typer.Option(help="Folder to write. [default: results/<edition>/verify]")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead of text.")] = False,
    report_only: Annotated[bool, typer.Option("--report-only", help="Exit with 0 whatever changed.")] = False,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Ask a random sample of recorded replies again, batched in other ways, and report changed answers.

    The ways: other turns in the batch, another order, other batch sizes, without shared prefixes, and alone. A changed
    answer is a near tie if rounding explains it. The command exits with 1 if another answer changed, or more than
    --max-changed. The next run of the workflow uses the result in the margins of published numbers. An endpoint is
    asked three times the sample, at its price.

    \b
    Example:
      known-unknowns verify MODEL
      known-unknowns verify MODEL BENCHMARK --sample 256 --seed 1 --json
    """
    settings = configuration.load(params, edition=edition)
    for argument, name, known in (("MODEL", model, settings.models), ("BENCHMARK", benchmark, settings.benchmarks)):
        if name is not None and name not in known:
            raise ConfigError(f"edition {settings.edition}: {unknown_name(name, known)}", path=argument)
    stopping.install()
    folder, results = out or folder_of(settings), []
    for name in [benchmark] if benchmark else settings.benchmarks:
        chosen = selection.select(settings, "verify", model=model, benchmark=name)
        result = verification.verify(chosen, model, name, sample=sample, seed=seed)
        path = verification.write(result, folder)
        results.append(result)
        if not as_json:
            print(verification.text(result), f"  {path}", sep="\n")
    if as_json:
        print(json.dumps([result.summary() for result in results], indent=2))
    exceeded = any(result.unexplained or result.changed > max_changed * result.compared for result in results)
    if exceeded and not report_only:
        print("More answers changed than are allowed: see docs/faults.md.", file=sys.stderr)
        raise typer.Exit(1)
