"""The commands for files of other tools: check, rescore and export. `known_unknowns.cli` registers them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from known_unknowns import config, exchange
from known_unknowns.cli.options import PARAMS, AsJson, Edition, ParamsFile
from known_unknowns.config import DataEntry, Params, locked_commits
from known_unknowns.data import check as checks
from known_unknowns.data.check import CheckResult
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.exchange import every_eval_ever, output
from known_unknowns.records import Cell
from known_unknowns.tables import Part
from known_unknowns.workflow import configuration, prerequisites


def check(
    what: Annotated[str, typer.Argument(metavar="params|BENCHMARK", help="params, or a benchmark's name.")],
    raw: Annotated[
        Path | None, typer.Option(help="Folder of the published files; by default data/<edition>/raw/BENCHMARK.")
    ] = None,
    as_json: AsJson = False,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Check params.yaml, or compare a benchmark's files with the statements of its papers.

    For params, the error names the path of each invalid key. What the edition's run needs is checked too: your own data
    (source: folder), and the folders, weights and adapters of local models.

    For a benchmark, the exit code is 0 without findings or with notes only, 1 with warnings (numbers can be wrong), and
    3 with errors (the data cannot be used). With --raw, no params.yaml is needed.

    \b
    Example:
      known-unknowns check params
    """
    if what != "params" and raw is not None and params == PARAMS and not params.is_file():
        _report(checks.check(what, raw), as_json=as_json)
        return
    if what == "params":
        checked, notes = prerequisites.checked(config.read(params, edition=edition), weights=True)
        for note in [*notes, *_of_earlier_versions(EditionFiles.of(checked).results)]:
            print(_printable(note))
        print(
            f"{params} is valid: edition {checked.edition}, benchmarks {', '.join(checked.benchmarks)}, "
            f"models {', '.join(checked.models)}"
        )
        return
    checked = configuration.load(params, edition=edition)
    folder = raw or Path("data", checked.data_name, "raw", what)
    settings = _settings(checked, what)
    source = locked_commits.data_source(what, settings) if settings and raw is None else None
    if source:
        locked = locked_commits.read(params.parent / locked_commits.PATH).get(source.key)
        at = locked_commits.locked_revision(source, locked) if locked else f"{source.revision}, not locked"
        print(f"{what}: {source.repository}, {at}", file=sys.stderr)
    found = checks.check(what, folder, settings=settings, edition=checked.edition)
    _report(found, as_json=as_json)


def _of_earlier_versions(results: Path) -> list[str]:
    """Name the folders of results of an earlier version, which nothing reads."""
    folders = [folder.as_posix() for folder in (results / "scores", results / "confidence") if folder.is_dir()]
    if not folders:
        return []
    return [f"{' and '.join(folders)}: of an earlier version, no longer read; remove with  rm -r {shlex.join(folders)}"]


def _report(found: CheckResult, *, as_json: bool) -> None:
    """Print the result of a check, and exit with its code."""
    print(checks.as_json(found) if as_json else _printable(checks.as_table(found)))
    if found.exit_code:
        raise typer.Exit(found.exit_code)


def _settings(params: Params, benchmark: str) -> DataEntry | None:
    """Return the data's entry in params.yaml, if the benchmark has one."""
    if benchmark not in params.file.benchmarks:
        return None

    return params.data(benchmark)


def _own_questions(params: Params | None, benchmark: str) -> Path | None:
    """Return the edition's table of questions if it exists."""
    if params is None or benchmark not in params.benchmarks:
        return None
    table = EditionFiles.of(params).question_table(benchmark)
    return table if table.is_file() else None


def _printable(text: str) -> str:
    """Replace terminal control characters, which names in a file of unknown origin can contain."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def rescore(
    files: Annotated[list[Path], typer.Argument(help="Files of predictions; together the replies of one model.")],
    benchmark: Annotated[str, typer.Option(help="A benchmark's name.")],
    variant: Annotated[
        str | None,
        typer.Option(
            help="The variant that was asked; by default the one that the file names, or the published questions."
        ),
    ] = None,
    annotations: Annotated[
        Path | None,
        typer.Option(
            help="The questions: a benchmark's annotation file or folder, or a table of questions. By default those in "
            "the files, or the edition's if the files do not have them."
        ),
    ] = None,
    as_json: AsJson = False,
    categories: Annotated[bool, typer.Option(help="Include the metrics of each category in the JSON.")] = False,
    partial: Annotated[bool, typer.Option(help="Allow questions without a prediction, and unfinished logs.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of a variant with random choices (shuffled_options).")] = 0,
    match: Annotated[
        str | None,
        typer.Option(
            metavar="text", help="Match by the text of the question alone, where the ids are those of others."
        ),
    ] = None,
    import_as: Annotated[
        str | None,
        typer.Option("--import", metavar="MODEL", help="Add the predictions to results/ as a model of this name."),
    ] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Score predictions of other tools with every parser.

    The file can be a result of the benchmark's own tool, a log of lmms-eval, lm-evaluation-harness, inspect_ai or
    VLMEvalKit, or a CSV or JSONL file with question_id and prediction. See docs/rescore.md. The exit code is 1 if a log
    did not finish, without --partial.

    \b
    Example:
      known-unknowns rescore predictions.csv --benchmark BENCHMARK
    """
    if match not in (None, "text"):
        raise ConfigError(unknown_name(match, ["text"]), path="--match")
    required = params != PARAMS or import_as is not None
    checked = configuration.load(params, edition=edition) if required or params.is_file() else None
    if checked is not None and edition is None:
        checked = _with_benchmark(checked, benchmark, params)
    if import_as is not None and checked is not None:
        if annotations is not None:
            raise ConfigError("uses the questions of the edition; omit --annotations", path="--import")
        result = exchange.import_predictions(
            checked,
            import_as,
            benchmark,
            files,
            variant=variant or "original",
            seed=seed,
            partial=partial,
            by_text=match is not None,
        )
    else:
        result = exchange.rescore(
            benchmark,
            files,
            variant=variant,
            annotations=annotations,
            table=_own_questions(checked, benchmark),
            known=checked.every_variant if checked else None,
            settings=_settings(checked, benchmark) if checked else None,
            seed=seed,
            partial=partial,
            by_text=match is not None,
        )
    print(output.format_json(result, categories=categories) if as_json else _printable(output.format_tables(result)))
    _print_notes(result.notes)
    if result.unfinished and not partial:
        _print_notes(f"{text}; --partial accepts this" for text in result.unfinished)
        raise typer.Exit(1)


def _with_benchmark(checked: Params, benchmark: str, params: Path) -> Params:
    """Return the params with the first edition that has a benchmark, if the selected one has it not."""
    editions = [name for name, entry in checked.file.editions.items() if benchmark in entry.benchmarks]
    if checked.edition in editions or not editions:
        return checked
    _print_notes([f"the edition {checked.edition} has no {benchmark}; the edition is {editions[0]} (--edition)"])
    return configuration.load(params, edition=editions[0])


def _print_notes(notes: Iterable[str]) -> None:
    for note in notes:
        print(f"known-unknowns: note: {_printable(note)}", file=sys.stderr)


def export(
    model: Annotated[str | None, typer.Argument(help="A model of the edition.")] = None,
    benchmark: Annotated[str | None, typer.Argument(help="A benchmark of the edition.")] = None,
    variant: Annotated[
        str | None, typer.Option(help="The variant; by default the original questions, or else the first variant.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The variant's seed; by default the first.")] = None,
    sample: Annotated[int, typer.Option(help="The number of the sample, from 0.")] = 0,
    format: Annotated[
        str | None,
        typer.Option(
            help="lmms_eval, vlmevalkit, csv, jsonl, every_eval_ever (the numbers too, of all variants), or a "
            "benchmark's own format. The default is the benchmark's own, or else jsonl."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="The file to write, or a folder; by default MODEL-BENCHMARK-VARIANT-SEED in the current one."
        ),
    ] = None,
    questions: Annotated[
        Path | None, typer.Option(help="The table of the variant's questions, in place of MODEL and BENCHMARK.")
    ] = None,
    replies: Annotated[Path | None, typer.Option(help="The table of replies, in place of MODEL and BENCHMARK.")] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write a model's replies in the file format of another tool.

    \b
    Examples:
      known-unknowns export MODEL BENCHMARK --variant nota_only --format csv
      known-unknowns export --questions variants/noise.parquet --variant noise \\
        --replies replies.parquet --format csv --out predictions.csv
    """
    if questions is not None and replies is not None and model is None:
        if out is None:
            raise ConfigError("name the file to write", path="--out")
        number = seed or 0
        cell = Cell(variant or "original", number, sample)
        exported = exchange.export(format, Part(questions, number), Part(replies, cell), out)
        _print_notes(exported.notes)
        return
    if model is None or benchmark is None or questions is not None or replies is not None:
        raise ConfigError("give MODEL and BENCHMARK, or --questions and --replies", path="export")
    chosen = configuration.load(params, edition=edition)
    found = exchange.cell_tables(chosen, model, benchmark, variant, seed, sample)
    if format == every_eval_ever.NAME:
        _check_whole(format, variant, seed, sample)
        print(*every_eval_ever.write(chosen, model, benchmark, out or Path()), sep="\n")
        return
    named = out is not None and not out.is_dir()
    file = out if out is not None and named else (out or Path()) / found.name
    exported = exchange.export(format, found.questions, found.replies, file, add_suffix=not named)
    print(exported.path)
    _print_notes(exported.notes)


def _check_whole(format: str, variant: str | None, seed: int | None, sample: int) -> None:
    """ConfigError if a cell is chosen for a format that has all of them."""
    for name, value in (("variant", variant), ("seed", seed), ("sample", sample or None)):
        if value is not None:
            raise ConfigError(f"{format} has all variants, seeds and samples", path=f"--{name}")
