"""Command that checks the endpoint of a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from known_unknowns.command_options import PARAMS, Edition, ParamsFile
from known_unknowns.errors import ConfigError


def served(
    model: Annotated[str, typer.Argument(help="The name of a model in params.yaml whose engine is openai.")],
    out: Annotated[Path | None, typer.Option("--out", help="A JSON file to write the endpoint's answer to.")] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Check that a model's endpoint serves the model and revision that params.yaml names.

    No question is sent.

    \b
    Example:
      known-unknowns served MODEL
    """
    from known_unknowns.config import OpenAIModel
    from known_unknowns.files import write_text
    from known_unknowns.workflow import configuration

    entry = configuration.load(params, edition=edition).model(model)
    if not isinstance(entry, OpenAIModel):
        raise ConfigError(f"{model} has no endpoint: its engine is {entry.engine}", path=f"models.{model}.engine")
    from known_unknowns.engines.endpoint.endpoint_check import check_endpoint

    found = check_endpoint(model, entry)
    text = json.dumps(found, indent=2, sort_keys=True)
    if out is not None:
        write_text(out, text + "\n")
    print(text)
