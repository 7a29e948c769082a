"""Commands for sharing data and replies: pin and licences."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from known_unknowns.benchmark import registry
from known_unknowns.cli.options import PARAMS, Edition, ParamsFile
from known_unknowns.data import pinning
from known_unknowns.data.terms import published_terms, source_terms
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.run_command import run_command
from known_unknowns.workflow import configuration, end_products, run_settings


def pin(
    redistribute: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BENCHMARK",
            help="Allow this benchmark's data in shared storage although its licence does not. "
            "Use it only if you have the right to redistribute them. Repeat it for each benchmark.",
        ),
    ] = None,
    results: Annotated[
        bool, typer.Option("--results", help="Record the results in dvc.lock and pin the data, without the journals.")
    ] = False,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Pin the data and journals of a finished run with DVC, or record its results.

    Data that may not be redistributed are pinned by hash only. Commit the .dvc files, then run dvc push. dvc.lock
    changes with --results only.

    \b
    Example:
      known-unknowns data pin --edition pocket
    """
    if results and redistribute:
        other = f"run  known-unknowns data pin --redistribute {redistribute[0]}"
        raise ConfigError(f"cannot be combined with --results; {other}", path="--redistribute")
    settings = configuration.load(params, edition=edition)
    end_products.check(Path("results", settings.edition), settings.edition)
    whole = run_settings.path_of(settings.edition, run_settings.WHOLE)
    if not whole.is_file():
        print(f"note: no run of the edition is whole since its settings changed ({whole} is missing)")
    if results:
        if not pinning.record_results(settings):
            print(f"Nothing was recorded: no finished results of a stage of dvc.yaml below results/{settings.edition}/")
        return
    pins = pinning.pin(settings, redistribute=redistribute or ())
    if not pins:
        run = f"run it first ({run_command(settings.edition)})"
        message = f"no data and no journals of the edition {settings.edition} in this folder; {run}"
        raise DataError(message, file="data")
    for pinned in pins:
        print(f"{pinned.file}  {'shared by dvc push' if pinned.shared else 'hash only: ' + pinned.meta['why']}")


def licences(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Benchmarks; by default all.")] = None,
) -> None:
    """Print the terms of each benchmark's data and of the data sets that it is made from, and the papers to cite.

    \b
    Example:
      known-unknowns data licences BENCHMARK
    """
    for name in names or registry.names():
        for terms in (published_terms(name), *source_terms(name).values()):
            print(terms.as_text())
