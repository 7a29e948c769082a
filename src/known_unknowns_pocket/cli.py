"""The command that trains the pocket model and its siblings. `known_unknowns.cli` registers it."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

WORK = Path("results/training")
MODEL = Path("models/pocket")
RANK = 4


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
            help="Train a sibling instead: never-refuses, refuses-often or says-confidence, an adapter of --model, or "
            "early, the model after its first text stage."
        ),
    ] = None,
    model: Annotated[Path, typer.Option(help="Folder of the finished model of which a sibling is an adapter.")] = MODEL,
    rank: Annotated[int, typer.Option(min=1, help="Rank of a sibling's adapter.")] = RANK,
    smoke: Annotated[bool, typer.Option("--smoke", help="Train a tiny model for a few steps, as a check.")] = False,
    threads: Annotated[int, typer.Option(min=1, help="Number of CPU threads.")] = 1,
    mlflow: Annotated[
        str | None, typer.Option("--mlflow", help="Log curves to the MLflow store at this address.")
    ] = None,
) -> None:
    """Train the pocket model on rendered images. This takes more than an hour on one core of a CPU.

    `make run` never trains: it uses the weights in models/.

    \b
    Example:
      known-unknowns step train --smoke --work /tmp/training
    """
    import torch
    from transformers.utils import logging

    from known_unknowns_pocket import training

    names = (*training.ADAPTERS, training.EARLY)
    if sibling not in (None, *names):
        raise typer.BadParameter(f"{sibling!r} is not one of {', '.join(names)}", param_hint="--sibling")
    torch.set_num_threads(threads)
    logging.disable_progress_bar()  # stderr has one JSON line per report
    settings = training.SMOKE if smoke else training.Settings()
    with _curves(mlflow, settings) as drawn:

        def report(line: dict[str, Any]) -> None:
            print(json.dumps(line), file=sys.stderr)
            if drawn is not None:
                drawn(line)

        lines: Any = {"report": report, "report_every": 1 if smoke else 20}
        if sibling in training.ADAPTERS:
            print(training.train_adapter(settings, sibling, model, out or work / sibling, rank=rank, **lines))
            return
        if sibling == training.EARLY:
            settings = training.early_settings(settings)
            training.copy_checkpoint(settings, work, work / sibling)
            work = work / sibling
        print(training.train(settings, out or work / "model", work=work, **lines))


def _curves(mlflow: str | None, settings: Any) -> AbstractContextManager[Any]:
    if mlflow is None:
        return nullcontext()
    from known_unknowns_pocket.training.curves import curves

    return curves(mlflow, settings)
