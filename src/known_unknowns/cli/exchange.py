"""The subcommands that look at other people's files: check, rescore and export. `known_unknowns.cli` registers them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from known_unknowns.cli._options import PARAMS, Edition, Out, ParamsFile
from known_unknowns.errors import ConfigError

if TYPE_CHECKING:
    from known_unknowns.config import Params


def check(
    what: Annotated[str, typer.Argument(metavar="params|BENCHMARK", help="params, or a benchmark's name.")],
    raw: Annotated[
        Path | None, typer.Option(help="Folder of the published files; by default data/<edition>/raw/BENCHMARK.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Check params.yaml, or what a benchmark's files hold against what its papers promise.

    params: against its schema and the registries; the error names the path of the bad key.

    A benchmark: ends with 0 where all is well or worth a note, 1 with warnings (a number may suffer), 3 with errors
    (the data cannot be used).

    \b
    Example:
      known-unknowns check params
    """
    from known_unknowns.data import check as checks
    from known_unknowns.workflow import configuration

    checked = configuration.load(params, edition=edition)
    if what == "params":
        print(
            f"{params} is sound: edition {checked.edition}, benchmarks {', '.join(checked.benchmarks)}, "
            f"models {', '.join(checked.models)}"
        )
        return
    folder = raw or Path("data", checked.data_name, "raw", what)
    found = checks.check(what, folder, settings=_settings(checked, what))
    print(checks.as_json(found) if as_json else _printable(checks.as_table(found)))
    if found.exit_code:
        raise typer.Exit(found.exit_code)


def _settings(params: Params, benchmark: str) -> dict | None:
    """The data's entry in params.yaml, where the benchmark has one."""
    return params.data(benchmark) if benchmark in params.raw["benchmarks"] else None


def _printable(text: str) -> str:
    """Without what would command a terminal: names in somebody else's file may hold anything."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def rescore(
    files: Annotated[list[Path], typer.Argument(help="Files of predictions: parts of one model's replies.")],
    benchmark: Annotated[str, typer.Option(help="humblebench, mmsap or actiview.")],
    variant: Annotated[
        str | None, typer.Option(help="What was asked; by default as published (or as the files' own questions tell).")
    ] = None,
    annotations: Annotated[
        Path | None, typer.Option(help="The questions: the benchmark's annotation file or folder, or our table.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print exactly one JSON object on stdout.")] = False,
    categories: Annotated[bool, typer.Option(help="In the JSON, each category's metrics too.")] = False,
    partial: Annotated[bool, typer.Option(help="Allow predictions for a part of the questions.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of a variant that draws (shuffled_options).")] = 0,
    import_as: Annotated[
        str | None, typer.Option("--import", metavar="MODEL", help="Put them into results/ as a model of this name.")
    ] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Score other people's predictions with every scorer: HumbleBench's and ActiView's results, lmms-eval's and
    VLMEvalKit's logs, or a CSV or JSONL of question_id and prediction. docs/rescore.md says more.

    \b
    Example:
      known-unknowns rescore predictions.csv --benchmark BENCHMARK
    """
    from known_unknowns.exchange import output
    from known_unknowns.exchange import rescore as scoring
    from known_unknowns.workflow import configuration

    checked = configuration.load(params, edition=edition) if params != PARAMS or params.is_file() or import_as else None
    if import_as is not None:
        from known_unknowns.exchange.importing import import_predictions

        if annotations is not None or partial:
            raise ConfigError("the questions are those of the edition, all of them", path="--import")
        found = import_predictions(checked, import_as, benchmark, files, variant=variant or "original", seed=seed)
    else:
        found = scoring.rescore(
            benchmark,
            files,
            variant=variant,
            questions=annotations,
            known=checked.every_variant if checked else None,
            settings=_settings(checked, benchmark) if checked else None,
            seed=seed,
            partial=partial,
        )
    print(output.as_json(found, categories=categories) if as_json else _printable(output.as_tables(found)))
    for note in found.notes:
        print(f"known-unknowns: note: {note}", file=sys.stderr)


def export(
    questions: Annotated[Path, typer.Option(help="The table of questions that was asked.")],
    replies: Annotated[Path, typer.Option(help="The table of replies.")],
    out: Out,
    format: Annotated[
        str, typer.Option(help="humblebench, actiview, lmms_eval, vlmevalkit, csv or jsonl.")
    ] = "humblebench",
) -> None:
    """Write our replies in the format of somebody else's tool.

    \b
    Example:
      known-unknowns export --questions questions/original/seed0.parquet \\
        --replies replies/original/seed0.parquet --format csv --out predictions.csv
    """
    from known_unknowns.exchange.export import export as run

    run(format, questions, replies, out)
