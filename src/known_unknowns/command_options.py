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
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
ModelName = Annotated[str, typer.Argument(help="A model of the edition.")]
OneOrAllBenchmarks = Annotated[str | None, typer.Argument(help="A benchmark of the edition. [default: all]")]
Reviewers = Annotated[int, typer.Option(min=1, help="Number of reviewers that each question needs.")]
RepliesOfEdition = Annotated[Path, typer.Option(help="The edition's folder of replies.")]
ScoresOfEdition = Annotated[Path, typer.Option(help="The edition's folder of scores.")]
QuestionFolder = Annotated[Path, typer.Option("--questions", help="The benchmark's question folder.")]
RawFolder = Annotated[Path, typer.Option(help="Folder of the fetched files.")]
MadeFrom = Annotated[
    Path | None, typer.Option(help="A JSON file with the digest of each table and of its inputs, to read and update.")
]
Code = Annotated[str, typer.Option(help="A digest of the code, which is an input of every table.")]
Workers = Annotated[int, typer.Option(min=1, help="Number of processes.")]
PARAMS = Path("params.yaml")
