"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ParamsFile = Annotated[Path, typer.Option("--params", envvar="KNOWN_UNKNOWNS_PARAMS", help="The configuration file.")]
Edition = Annotated[str | None, typer.Option(help="An edition of the configuration file, for example pocket or full.")]
Out = Annotated[
    Path, typer.Option("--out", help="The file or folder to write. It is written completely or not at all.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
ModelName = Annotated[str, typer.Argument(help="A model of the edition.")]
OneOrAllBenchmarks = Annotated[str | None, typer.Argument(help="A benchmark of the edition. [default: all]")]
Reviewers = Annotated[int, typer.Option(min=1, help="Number of reviewers that each question needs.")]
ScoresOfEdition = Annotated[Path, typer.Option(help="The edition's folder of scores.")]
QuestionFolder = Annotated[Path, typer.Option("--questions", help="The benchmark's question folder.")]
RawFolder = Annotated[Path, typer.Option(help="Folder of the fetched files.")]
VariantFolder = Annotated[Path, typer.Option("--variants", help="The benchmark's folder of variants.")]
RepliesTable = Annotated[Path, typer.Option("--replies", help="The table of the model's replies to the benchmark.")]
MetricTables = Annotated[list[Path], typer.Argument(help="Tables of metrics.")]
Results = Annotated[Path, typer.Option(help="The edition's results folder.")]
Data = Annotated[Path, typer.Option(help="The edition's data folder.")]
Digests = Annotated[
    Path | None, typer.Option(help="Also write the files' digests, to <results>/digests/<rule>.sha256.")
]
PARAMS = Path("params.yaml")
