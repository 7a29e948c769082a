"""The subcommands that bring published data here and hold them fast: fetch and lock. `known_unknowns.cli` registers
them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from known_unknowns.cli._options import PARAMS, Edition, ParamsFile


def fetch(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A benchmark, or a data set that one is made from (psg).")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder to make; by default data/<edition>/raw/NAME.")
    ] = None,
    given: Annotated[
        Path | None, typer.Option("--from", metavar="FOLDER", help="Take files that you have, in any layout, if right.")
    ] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Get data in their published format: rendered (pocket), or from their hub, git repository or addresses (full).

    Every file is checked against params.lock.yaml. What was cut is continued; where all is there, nothing is done.
    HF_ENDPOINT names a mirror of the hub, HF_TOKEN a token. docs/data.md says more.
    """
    from known_unknowns import config
    from known_unknowns.data.fetch import default_out
    from known_unknowns.data.fetch import fetch as run

    chosen = config.load(params, edition=edition)
    run(chosen, name, out or default_out(chosen, name), given=given)


def lock(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Benchmarks and models; by default all.")
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Take what is newest, and tell what moved.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Change nothing; end with 1 if something has moved.")] = False,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write into params.lock.yaml which commit every data set and model is, and the hash of every file.

    What is locked stays as it is, unless --update asks for newer.
    """
    from known_unknowns import config
    from known_unknowns.data import lock_command
    from known_unknowns.errors import ConfigError

    if update and check:
        raise ConfigError("--check changes nothing, so it does not go with --update", path="lock")
    if not lock_command.run(config.load(params, edition=edition), names or (), update=update, check=check):
        raise typer.Exit(1)
