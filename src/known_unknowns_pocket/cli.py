"""The command that trains the pocket model and its siblings. `known_unknowns.cli` registers it."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

WORK = Path("results/training")


def train(
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the trained model; by default model/ in the work folder.")
    ] = None,
    work: Annotated[
        Path, typer.Option(help="Folder of the checkpoint and the log, from which a stopped run continues.")
    ] = WORK,
    sibling: Annotated[
        str | None,
        typer.Option(
            help="Continue the checkpoint as a sibling, in its own folder: early, never-refuses or refuses-often."
        ),
    ] = None,
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
      known-unknowns train --smoke --work /tmp/training
    """
    import torch
    from transformers.utils import logging

    from known_unknowns_pocket.training import SMOKE, Settings
    from known_unknowns_pocket.training import train as run

    torch.set_num_threads(threads)
    logging.disable_progress_bar()  # stderr has one JSON line per report
    settings = SMOKE if smoke else Settings()
    if sibling is not None:
        settings, work = _start_sibling(settings, sibling, work)
    with _curves(mlflow, settings) as drawn:

        def report(line: dict[str, Any]) -> None:
            print(json.dumps(line), file=sys.stderr)
            if drawn is not None:
                drawn(line)

        print(run(settings, out or work / "model", work=work, report=report, report_every=1 if smoke else 20))


def _start_sibling(settings: Any, sibling: str, work: Path) -> tuple[Any, Path]:
    """Return the settings and the work folder of a sibling, which continues the checkpoint of the model in ``work``."""
    from known_unknowns_pocket.training import SIBLINGS, sibling_settings, start_from_model

    if sibling not in SIBLINGS:
        raise typer.BadParameter(f"{sibling!r} is not one of {', '.join(SIBLINGS)}", param_hint="--sibling")
    settings = sibling_settings(settings, sibling)
    try:
        start_from_model(settings, work, work / sibling)
    except FileNotFoundError as error:
        print(f"{error.filename} is missing: train the model itself first, with --work {work}", file=sys.stderr)
        raise typer.Exit(2) from error
    return settings, work / sibling


def _curves(mlflow: str | None, settings: Any) -> AbstractContextManager[Any]:
    if mlflow is None:
        return nullcontext()
    from known_unknowns_pocket.training.curves import curves

    return curves(mlflow, settings)
