"""Commands for finished results: open them, and write their tables."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from known_unknowns.cli.options import PARAMS, Edition, ParamsFile
from known_unknowns.comparison import exported_tables
from known_unknowns.config import Params
from known_unknowns.edition_files import EditionFiles, benchmark_of, model_of
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.files import write_text
from known_unknowns.metrics.answers import confidences
from known_unknowns.metrics.confidence_sources import confidence_table
from known_unknowns.metrics.summary import write_all_metrics
from known_unknowns.run_command import run_command
from known_unknowns.workflow import configuration, opening

_TABLES = ("paper", "metrics", "confidence")


def open(
    browser: Annotated[bool, typer.Option(help="Open a browser, if there is a display.")] = True,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Open the report of a finished run, and print the commands that serve it and the MLflow runs on this machine.

    No server is started. Other users of the machine can read what these commands serve.

    \b
    Example:
      known-unknowns open --edition pocket --no-browser
    """
    chosen = configuration.load(params, edition=edition)
    page = opening.report_page(chosen)
    for line in opening.places(chosen, page):
        print(line)
    if browser:
        opening.open_in_browser(page)


def tables(
    what: Annotated[str, typer.Argument(metavar="paper|metrics|confidence", help="The tables to write.")] = "paper",
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The folder to write to, or the CSV file of metrics. [default: paper_tables]"),
    ] = None,
    format: Annotated[str, typer.Option(help="latex, markdown or csv, of tables for a paper.")] = "latex",
    model: Annotated[str | None, typer.Option(help="Only metrics of this model.")] = None,
    benchmark: Annotated[str | None, typer.Option(help="Only metrics of this benchmark.")] = None,
    variant: Annotated[str | None, typer.Option(help="Only metrics of this variant.")] = None,
    parser: Annotated[str | None, typer.Option(help="Only metrics of this parser.")] = None,
    category: Annotated[
        str | None, typer.Option(help="Only metrics of this category; Overall for all questions.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Only this metric.")] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write tables of a finished run: for a paper, its metrics, or the confidence in each answer.

    "paper" writes the headline numbers of a run, and its models in each table of the benchmarks' papers. Every number
    has its interval; CSV also has n, method, published number and verdict. Tables of LaTeX need the packages array and
    booktabs.

    "metrics" writes one CSV file, each metric with n, interval and method.

    "confidence" writes CSV files with the confidence in each answer, from every source: one for each model and
    benchmark.

    Models that were removed from the edition are left out.

    \b
    Examples:
      known-unknowns tables --edition pocket --format markdown --out paper_tables
      known-unknowns tables metrics --name accuracy --category Overall --out accuracy.csv
    """
    if what not in _TABLES:
        raise ConfigError(unknown_name(what, _TABLES), path="tables")
    if format not in exported_tables.FORMATS:
        raise ConfigError(unknown_name(format, exported_tables.FORMATS), path="--format")
    filters = {
        "model": model,
        "benchmark": benchmark,
        "variant": variant,
        "parser": parser,
        "category": category,
        "name": name,
    }
    chosen = {column: value for column, value in filters.items() if value is not None}
    if chosen and what != "metrics":
        raise ConfigError("selects metrics; write  tables metrics", path=f"--{next(iter(chosen))}")
    settings = configuration.load(params, edition=edition)
    if what == "metrics":
        _write_metrics(settings, out, chosen)
        return
    folder = out or Path("paper_tables")
    if what == "confidence":
        _write_confidences(settings, folder)
        return
    suffix, written_as = exported_tables.FORMATS[format]
    for table in exported_tables.of_run(settings, Path("results", settings.edition)):
        path = folder / f"{table.name}{suffix}"
        write_text(path, written_as(table))
        print(path)


def _write_metrics(params: Params, out: Path | None, chosen: Mapping[str, str]) -> None:
    """Write the metrics with these values as CSV. DataError if nothing was measured."""
    if out is None:
        raise ConfigError("name the CSV file to write", path="--out")
    for column, known in (("model", params.models), ("benchmark", params.benchmarks)):
        if column in chosen and chosen[column] not in known:
            raise ConfigError(unknown_name(chosen[column], known), path=f"--{column}")
    models = [chosen["model"]] if "model" in chosen else params.models
    benchmarks = [chosen["benchmark"]] if "benchmark" in chosen else params.benchmarks
    folder = Path("results", params.edition, "metrics")
    files = [  # the folder may have tables of models that were removed from the edition
        path
        for path in sorted(folder.glob("*/*/metrics.parquet"))
        if model_of(path) in models and benchmark_of(path) in benchmarks
    ]
    if not files:
        raise DataError(f"no metrics here yet; run  {run_command(params.edition)}  first", file=folder)
    count = write_all_metrics(files, out, chosen=chosen)
    print(f"{count:,} metrics in {out}")


def _write_confidences(params: Params, out: Path) -> None:
    """Write the confidence in each answer of each model to each benchmark. DataError if nothing was answered."""
    files = EditionFiles.of(params)
    pairs = itertools.product(params.models, params.benchmarks)
    answered = [pair for pair in pairs if files.answers(*pair).is_file()]
    if not answered:
        raise DataError(f"no answers here yet; run  {run_command(params.edition)}  first", file=files.results)
    for model, benchmark in answered:
        table = confidence_table(confidences(files.answers(model, benchmark), benchmark))
        path = out / "confidence" / model / f"{benchmark}.csv"
        write_text(path, table.to_csv(index=False, lineterminator="\n"))
        print(path)
