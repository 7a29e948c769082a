"""The command that runs the workflow in this folder, for messages."""

from __future__ import annotations

import shlex
from pathlib import Path


def run_command(edition: str = "", *arguments: str) -> str:
    """Return the command that runs an edition: ``make run`` in a checkout, ``snakemake`` in a project of ``init``.

    Parameters
    ----------
    edition : str
        The edition; by default the selected one of params.yaml.
    *arguments : str
        Further arguments of Snakemake.
    """
    if Path("Makefile").is_file():
        words = ["make run"]
        words += [f"EDITION={shlex.quote(edition)}"] if edition else []
        words += [f"ARGS={shlex.quote(shlex.join(arguments))}"] if arguments else []
    else:
        words = ["snakemake", *map(shlex.quote, arguments)]
        words += [f"--config edition={shlex.quote(edition)}"] if edition else []  # last: it takes all that follows
    return " ".join(words)
