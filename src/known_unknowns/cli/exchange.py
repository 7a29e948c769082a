"""The commands for files of other tools: check, rescore and export. `known_unknowns.cli` registers them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    """Check params.yaml, or compare a benchmark's files with the statements of its papers.

    For params, the error names the path of the invalid key.

    For a benchmark, the exit code is 0 without findings or with notes only, 1 with warnings (numbers can be wrong), and
    3 with errors (the data cannot be used).

    \b
    Example:
      known-unknowns check params
    """
    from known_unknowns.data import check as checks
    from known_unknowns.workflow import configuration

    checked = configuration.load(params, edition=edition)
    if what == "params":
        print(
            f"{params} is valid: edition {checked.edition}, benchmarks {', '.join(checked.benchmarks)}, "
            f"models {', '.join(checked.models)}"
        )
        return
    folder = raw or Path("data", checked.data_name, "raw", what)
    found = checks.check(what, folder, settings=_settings(checked, what))
    print(checks.as_json(found) if as_json else _printable(checks.as_table(found)))
    if found.exit_code:
        raise typer.Exit(found.exit_code)


def _settings(params: Params, benchmark: str) -> Mapping[str, Any] | None:
    """Return the data's entry in params.yaml, if the benchmark has one."""
    return params.data(benchmark) if benchmark in params.raw["benchmarks"] else None


def _printable(text: str) -> str:
    """Replace terminal control characters, which names in a file of unknown origin can contain."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def rescore(
    files: Annotated[list[Path], typer.Argument(help="Files of predictions; together the replies of one model.")],
    benchmark: Annotated[str, typer.Option(help="A benchmark's name.")],
    variant: Annotated[
        str | None,
        typer.Option(
            help="The variant that was asked; by default the published questions, or what the file's questions suggest."
        ),
    ] = None,
    annotations: Annotated[
        Path | None,
        typer.Option(help="The questions: a benchmark's annotation file or folder, or a table of questions."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print exactly one JSON object on stdout.")] = False,
    categories: Annotated[bool, typer.Option(help="Include the metrics of each category in the JSON.")] = False,
    partial: Annotated[bool, typer.Option(help="Allow questions without a prediction.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of a variant with random choices (shuffled_options).")] = 0,
    import_as: Annotated[
        str | None,
        typer.Option("--import", metavar="MODEL", help="Add the predictions to results/ as a model of this name."),
    ] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Score predictions of other tools with every scorer.

    The file can be a result of the benchmark's own tool, a log of lmms-eval or VLMEvalKit, or a CSV or JSONL file with
    question_id and prediction. See docs/rescore.md.

    \b
    Example:
      known-unknowns rescore predictions.csv --benchmark BENCHMARK
    """
    from known_unknowns import exchange
    from known_unknowns.exchange import output
    from known_unknowns.workflow import configuration

    checked = configuration.load(params, edition=edition) if params != PARAMS or params.is_file() or import_as else None
    if import_as is not None:
        if annotations is not None or partial:
            raise ConfigError("uses all questions of the edition; omit --annotations and --partial", path="--import")
        result = exchange.import_predictions(
            checked, import_as, benchmark, files, variant=variant or "original", seed=seed
        )
    else:
        result = exchange.rescore(
            benchmark,
            files,
            variant=variant,
            annotations=annotations,
            known=checked.every_variant if checked else None,
            settings=_settings(checked, benchmark) if checked else None,
            seed=seed,
            partial=partial,
        )
    print(output.format_json(result, categories=categories) if as_json else _printable(output.format_tables(result)))
    for note in result.notes:
        print(f"known-unknowns: note: {note}", file=sys.stderr)


def export(
    questions: Annotated[Path, typer.Option(help="The table of questions.")],
    replies: Annotated[Path, typer.Option(help="The table of replies.")],
    out: Out,
    format: Annotated[
        str | None,
        typer.Option(help="lmms_eval, vlmevalkit, csv, jsonl, or a benchmark's own format, which is the default."),
    ] = None,
) -> None:
    """Write replies in the file format of another tool.

    \b
    Example:
      known-unknowns export --questions questions/original/seed0.parquet \\
        --replies replies/original/seed0.parquet --format csv --out predictions.csv
    """
    from known_unknowns import exchange

    exchange.export(format, questions, replies, out)
