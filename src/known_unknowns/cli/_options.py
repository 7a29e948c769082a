"""Options that several subcommands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ParamsFile = Annotated[Path, typer.Option("--params", help="The configuration file.")]
Edition = Annotated[str | None, typer.Option(help="pocket or full; by default what the params file says.")]
Out = Annotated[Path, typer.Option("--out", help="The file or folder to write. It appears whole or not at all.")]
PARAMS = Path("params.yaml")
