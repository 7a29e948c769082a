"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ParamsFile = Annotated[Path, typer.Option("--params", help="The configuration file.")]
Edition = Annotated[str | None, typer.Option(help="An edition of the configuration file, for example pocket or full.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
ModelName = Annotated[str, typer.Argument(help="A model of the edition.")]
OneOrAllBenchmarks = Annotated[str | None, typer.Argument(help="A benchmark of the edition. [default: all]")]
Reviewers = Annotated[int, typer.Option(min=1, help="Number of reviewers that each question needs.")]
PARAMS = Path("params.yaml")
