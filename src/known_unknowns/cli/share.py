"""The subcommands for sharing: pin and licences. `known_unknowns.cli` registers them."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from known_unknowns.cli._options import PARAMS, Edition, ParamsFile
from known_unknowns.errors import ConfigError, unknown_name


def pin(
    redistribute: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BENCHMARK",
            help="Let this benchmark's data go into shared storage, although its terms do not say that it may. "
            "You say with it that you have the right to. Give it once for each benchmark.",
        ),
    ] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Pin a finished run with DVC: its data, and the journals of its replies. Then commit the .dvc files, and dvc push.

    Data that may not be passed on are pinned by their hash alone.
    """
    from known_unknowns import config
    from known_unknowns.data import pinning

    for each in pinning.pin(config.load(params, edition=edition), redistribute=redistribute or ()):
        print(f"{each.file}  {'shared by dvc push' if each.shared else 'hash only: ' + each.meta['why']}")


def licences(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Data sets; by default all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Print the papers to cite, as BibTeX.")] = False,
) -> None:
    """Tell the licence of each data set, whether it may be passed on, and what to cite."""
    from known_unknowns.data import licences as known

    for name in names or ():
        if name not in known.every():
            raise ConfigError(unknown_name(name, known.every()), path="NAME")
    chosen = {name: terms for name, terms in known.every().items() if not names or name in names}
    if as_json:
        print(json.dumps({name: terms.as_dict() for name, terms in chosen.items()}, indent=2, ensure_ascii=False))
    elif bibtex:
        print("\n".join(terms.paper.bibtex(name) for name, terms in chosen.items() if terms.paper), end="")
    else:
        print("\n".join(terms.as_text() for terms in chosen.values()), end="")
