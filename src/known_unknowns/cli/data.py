"""Commands that fetch published data, and lock data and models to fixed revisions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from known_unknowns.cli.options import PARAMS, Edition, ParamsFile
from known_unknowns.data import lock_command
from known_unknowns.data.fetch import default_out, entry_of
from known_unknowns.data.fetch import fetch as run
from known_unknowns.errors import ConfigError
from known_unknowns.workflow import configuration


def fetch(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A benchmark, or a data set that a benchmark is made from.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder to write; by default data/<edition>/raw/NAME.")
    ] = None,
    user_folder: Annotated[
        Path | None,
        typer.Option("--from", metavar="FOLDER", help="Copy files from this folder if their hashes are right."),
    ] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Fetch data in their published format.

    The pocket edition is rendered. The full edition comes from a hub, a git repository, or plain addresses. Every file
    is checked against params.lock.yaml. An interrupted download is continued; correct files are not fetched again.
    HF_ENDPOINT names a mirror of the hub, HF_TOKEN an access token. See docs/data.md.

    \b
    Example:
      known-unknowns data fetch BENCHMARK --edition full --from ~/Downloads
    """
    chosen = configuration.load(params, edition=edition)
    edition = chosen.data_name if name in chosen.file.benchmarks else ""
    run(name, entry_of(chosen, name), out or default_out(chosen, name), edition=edition, user_folder=user_folder)


def lock(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Benchmarks and models; by default all.")
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Lock the newest revisions, and list the changes.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if a source has changed or is not locked.")
    ] = False,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write the commit and file hashes of every data set and model into params.lock.yaml.

    Existing entries are kept unless --update is given.

    \b
    Example:
      known-unknowns data lock --check
    """
    if update and check:
        raise ConfigError("--check writes nothing and cannot be combined with --update", path="data lock")
    if not lock_command.run(configuration.load(params, edition=edition), names or (), update=update, check=check):
        raise typer.Exit(1)
