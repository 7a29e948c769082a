"""Commands for sharing data and replies: pin and licences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from known_unknowns.command_options import PARAMS, AsJson, Edition, ParamsFile
from known_unknowns.data import pinning
from known_unknowns.data.licences import all_terms
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.workflow import configuration, end_products


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
    """Pin the data, journals and results of a finished run with DVC.

    Data that may not be redistributed are pinned by hash only. Commit the .dvc files, then run dvc push.

    \b
    Example:
      known-unknowns pin --edition pocket
    """
    if results and redistribute:
        other = f"run  known-unknowns pin --redistribute {redistribute[0]}"
        raise ConfigError(f"cannot be combined with --results; {other}", path="--redistribute")
    settings = configuration.load(params, edition=edition)
    end_products.check(Path("results", settings.edition), settings.edition)
    if results:
        if not pinning.record_results(settings):
            print(f"Nothing was recorded: no finished results of a stage of dvc.yaml below results/{settings.edition}/")
        return
    pins = pinning.pin(settings, redistribute=redistribute or ())
    if not pins:
        run = f"run it first (make run EDITION={settings.edition})"
        message = f"no data and no journals of the edition {settings.edition} in this folder; {run}"
        raise DataError(message, file="data")
    for pinned in pins:
        print(f"{pinned.file}  {'shared by dvc push' if pinned.shared else 'hash only: ' + pinned.meta['why']}")


def licences(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Data sets; by default all.")] = None,
    as_json: AsJson = False,
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Print the papers to cite, as BibTeX.")] = False,
) -> None:
    """Show the licence of each data set, whether it may be redistributed, and its citation.

    \b
    Example:
      known-unknowns licences --bibtex
    """
    every = all_terms()
    for name in names or ():
        if name not in every:
            raise ConfigError(unknown_name(name, every), path="NAME")
    chosen = {name: terms for name, terms in every.items() if not names or name in names}
    if as_json:
        print(json.dumps({name: terms.as_dict() for name, terms in chosen.items()}, indent=2, ensure_ascii=False))
    elif bibtex:
        print("\n".join(terms.citation.bibtex for terms in chosen.values() if terms.citation), end="")
    else:
        print("\n".join(terms.as_text() for terms in chosen.values()), end="")
