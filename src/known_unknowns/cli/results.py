"""Commands for finished results: open them, and export all metrics."""

from __future__ import annotations

import itertools
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

_TABLES = ("paper", "confidence")


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


def metrics(
    out: Annotated[Path, typer.Option("--out", help="The CSV file to write.")],
    model: Annotated[str | None, typer.Option(help="Only this model.")] = None,
    benchmark: Annotated[str | None, typer.Option(help="Only this benchmark.")] = None,
    variant: Annotated[str | None, typer.Option(help="Only this variant.")] = None,
    parser: Annotated[str | None, typer.Option(help="Only this parser.")] = None,
    category: Annotated[str | None, typer.Option(help="Only this category; Overall for all questions.")] = None,
    name: Annotated[str | None, typer.Option(help="Only this metric.")] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write metrics of a finished run as CSV, each with n, interval and method.

    Models that were removed from the edition are left out.

    \b
    Example:
      known-unknowns metrics --name accuracy --category Overall --out accuracy.csv
    """
    settings = configuration.load(params, edition=edition)
    for option, value, known in (
        ("--model", model, settings.models),
        ("--benchmark", benchmark, settings.benchmarks),
    ):
        if value is not None and value not in known:
            raise ConfigError(unknown_name(value, known), path=option)
    folder = Path("results", settings.edition, "metrics")
    files = [  # the folder may have tables of models that were removed from the edition
        path
        for path in sorted(folder.glob("*/*/metrics.parquet"))
        if model_of(path) in ([model] if model else settings.models)
        and benchmark_of(path) in ([benchmark] if benchmark else settings.benchmarks)
    ]
    if not files:
        raise DataError(f"no metrics here yet; run  {run_command(settings.edition)}  first", file=folder)
    chosen = {"variant": variant, "parser": parser, "category": category, "name": name}
    count = write_all_metrics(files, out, chosen=chosen)
    print(f"{count:,} metrics in {out}")


def tables(
    what: Annotated[str, typer.Argument(metavar="[paper|confidence]", help="The tables to write.")] = "paper",
    out: Annotated[Path, typer.Option("--out", help="The folder to write to.")] = Path("paper_tables"),
    format: Annotated[str, typer.Option(help="latex, markdown or csv.")] = "latex",
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write tables for a paper: the headline numbers of a run, and its models in each table of the benchmarks' papers.

    Every number has its interval; CSV also has n, method, published number and verdict. Tables of LaTeX need the
    packages array and booktabs.

    With "confidence", write CSV files with the confidence in each answer, from every source: one for each model and
    benchmark.

    \b
    Example:
      known-unknowns tables --edition pocket --format markdown --out paper_tables
    """
    if what not in _TABLES:
        raise ConfigError(unknown_name(what, _TABLES), path="tables")
    if format not in exported_tables.FORMATS:
        raise ConfigError(unknown_name(format, exported_tables.FORMATS), path="--format")
    suffix, written_as = exported_tables.FORMATS[format]
    settings = configuration.load(params, edition=edition)
    if what == "confidence":
        _write_confidences(settings, out)
        return
    for table in exported_tables.of_run(settings, Path("results", settings.edition)):
        path = out / f"{table.name}{suffix}"
        write_text(path, written_as(table))
        print(path)


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
