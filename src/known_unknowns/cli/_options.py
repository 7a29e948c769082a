"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ParamsFile = Annotated[Path, typer.Option("--params", help="The configuration file.")]
Edition = Annotated[str | None, typer.Option(help="An edition of the configuration file, for example pocket or full.")]
Out = Annotated[
    Path, typer.Option("--out", help="The file or folder to write. It is written completely or not at all.")
]
PARAMS = Path("params.yaml")
