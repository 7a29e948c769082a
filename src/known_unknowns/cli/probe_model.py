"""The command that checks whether a model can answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from known_unknowns import json_files
from known_unknowns.cli.options import PARAMS, Edition, ParamsFile
from known_unknowns.model_runs import probe as probing
from known_unknowns.workflow import configuration


def probe(
    model: Annotated[str, typer.Argument(help="The name of a model in params.yaml.")],
    out: Annotated[Path | None, typer.Option("--out", help="A JSON file to write the result to.")] = None,
    journals: Annotated[
        Path | None,
        typer.Option(help="The model's folder of journals. Nothing is checked if its last runs have finished."),
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Find anew which default settings an endpoint refuses. [journals: journal/MODEL]"),
    ] = False,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Check that a model is there and can answer.

    An endpoint must serve the model and the revision that params.yaml names, accept the key, and answer a question
    about the colour of two small images. Default settings that it refuses, such as temperature 0, are left out from
    then on. The files of a local model must be complete, hold every tensor of its class,
    and prepare a question with an image.

    \b
    Example:
      known-unknowns models probe MODEL
    """
    chosen = configuration.load(params, edition=edition)
    if again and journals is None:
        journals = Path("journal", model)
    found = probing.probe(model, chosen.model(model), journals, again=again)
    if out is not None:
        json_files.write(out, found)
    print(json.dumps(found, indent=2, sort_keys=True))
