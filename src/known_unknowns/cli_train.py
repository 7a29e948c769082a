"""The subcommand that trains the pocket model. `known_unknowns.cli` registers it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

WORK = Path("results/training")


def train(
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the trained model; by default model/ in the work folder.")
    ] = None,
    work: Annotated[Path, typer.Option(help="Folder of the checkpoint and the log: a stopped run goes on.")] = WORK,
    smoke: Annotated[bool, typer.Option("--smoke", help="A tiny model and a few steps, to see that it runs.")] = False,
    threads: Annotated[int, typer.Option(min=1, help="Threads of a CPU to compute with.")] = 1,
) -> None:
    """Train the pocket model from nothing, on pictures drawn from seeds: an hour on one core of a shared CPU.

    `make run` never trains: it uses the weights that the repository ships.
    """
    import torch

    from known_unknowns.training import SMOKE, Settings
    from known_unknowns.training import train as run

    torch.set_num_threads(threads)
    settings = SMOKE if smoke else Settings()
    print(run(settings, out or work / "model", work=work, report=_say, report_every=1 if smoke else 20))


def _say(line: dict[str, Any]) -> None:
    print(json.dumps(line), file=sys.stderr)
