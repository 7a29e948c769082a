"""The command that trains the pocket model and its siblings. pyproject.toml registers this module."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

COMMANDS = {"known_unknowns_pocket.cli": {"train": "Train the pocket model, for more than an hour."}}
GROUPS: dict[str, str] = {}
WORK = Path("results/training")
MODEL = Path("models/pocket")


def train(
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for the trained model; by default in the work folder."),
    ] = None,
    work: Annotated[
        Path, typer.Option(help="Folder of the checkpoint and the log, from which a stopped run continues.")
    ] = WORK,
    sibling: Annotated[
        str | None,
        typer.Option(
            help="Train a sibling instead, an adapter of --model: never-refuses, refuses-often or says-confidence."
        ),
    ] = None,
    model: Annotated[Path, typer.Option(help="Folder of the finished model of which a sibling is an adapter.")] = MODEL,
    smoke: Annotated[bool, typer.Option("--smoke", help="Train a tiny model for a few steps, as a check.")] = False,
) -> None:
    """Train the pocket model on rendered images. This takes more than an hour on one core of a CPU.

    `make run` never trains: it uses the weights in models/.

    \b
    Example:
      known-unknowns train --smoke --work /tmp/training
    """
    import torch
    from transformers.utils import logging

    from known_unknowns_pocket import training

    if sibling not in (None, *training.ADAPTERS):
        raise typer.BadParameter(f"{sibling!r} is not one of {', '.join(training.ADAPTERS)}", param_hint="--sibling")
    torch.set_num_threads(1)  # as in the training of the weights in models/
    logging.disable_progress_bar()  # stderr has one JSON line per report
    settings = training.SMOKE if smoke else training.Settings()
    lines: dict[str, Any] = {
        "report": lambda line: print(json.dumps(line), file=sys.stderr),
        "report_every": 1 if smoke else 20,
    }
    if sibling is None:
        print(training.train(settings, out or work / "model", work=work, **lines))
    else:
        print(training.train_adapter(settings, sibling, model, out or work / sibling, **lines))
