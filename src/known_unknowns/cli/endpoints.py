"""Command that checks whether a model can answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from known_unknowns import json_files
from known_unknowns.command_options import PARAMS, Edition, ParamsFile
from known_unknowns.inference.probe import probe as run
from known_unknowns.workflow import selection


def probe(
    model: Annotated[str, typer.Argument(help="The name of a model in params.yaml.")],
    out: Annotated[Path | None, typer.Option("--out", help="A JSON file to write the result to.")] = None,
    journals: Annotated[
        Path | None,
        typer.Option(help="The model's folder of journals. Nothing is checked if its last runs have finished."),
    ] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Check that a model is there and can answer.

    An endpoint must serve the model and the revision that params.yaml names, accept the key, and answer a question
    about the colour of two small images. The files of a local model must be complete, hold every tensor of its class,
    and prepare a question with an image.

    \b
    Example:
      known-unknowns probe MODEL
    """
    chosen = selection.load(params, "probe", edition=edition, model=model)
    found = run(model, chosen.model(model), journals)
    if out is not None:
        json_files.write(out, found)
    print(json.dumps(found, indent=2, sort_keys=True))
