"""The command that creates a project."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from known_unknowns.workflow import project

_EXTRAS = "pip install 'known-unknowns[models,adapters,workflow,report]'"


def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or an empty folder.")] = Path(),
) -> None:
    """Create a project: the folder in which the workflow runs.

    It gets the Snakefile, its rules, profiles and environments, params.yaml, and the pocket model (7 MB). An existing
    folder must be empty. The commands rescore, audit, check and export need no project.

    \b
    Example:
      known-unknowns init my-project
    """
    files = project.create(folder)
    size = sum((folder / path).stat().st_size for path in files)
    print(f"Created a project in {folder.resolve()}: {len(files)} files, {size / 1e6:.1f} MB.")
    steps = [] if folder == Path() else [(f"cd {folder}", "")]
    if find_spec("snakemake") is None or find_spec("torch") is None:
        steps.append((_EXTRAS, "Snakemake, and what local models need"))
    steps += [
        ("known-unknowns check params", "the configuration, params.yaml"),
        ("snakemake --dry-run", "what would run"),
        ("snakemake", "the pocket edition, on a CPU"),
        ("known-unknowns open", "its report"),
    ]
    width = max(len(command) for command, note in steps if note and command != _EXTRAS)
    print("Next:")
    for command, note in steps:
        print(f"  {command:<{width}}  # {note}" if note else f"  {command}")
    print("`known-unknowns try MODEL --dry-run` prints the entry of your model for params.yaml.")
    print("`known-unknowns models list` lists models that an edition can name without an entry.")
