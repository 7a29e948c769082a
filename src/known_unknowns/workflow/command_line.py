"""The command line of this run of Snakemake."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection
from pathlib import Path

from known_unknowns.workflow.opening import program

_FORCE_ALL = frozenset({"-F", "--forceall"})
_FORCE = frozenset({"-R", "--forcerun"})
_DRY = frozenset({"-n", "--dry-run", "--dryrun"})


def is_dry_run() -> bool:
    """Return whether this run only plans."""
    return not _DRY.isdisjoint(sys.argv)


def is_forced(rules: Collection[str]) -> bool:
    """Return whether this run makes the files of these rules again."""
    given = set(sys.argv)
    return not _FORCE_ALL.isdisjoint(given) or (not _FORCE.isdisjoint(given) and given.issuperset(rules))


def forcing(rules: Collection[str]) -> str:
    """Return the command that makes the files of these rules again."""
    return shlex.join([program("snakemake"), *sys.argv[1:], "--forcerun", *rules])


def constructions() -> list[str]:
    """Return the names of the constructions among the targets."""
    parts = (Path(argument).parts for argument in sys.argv[1:] if not argument.startswith("-"))
    return sorted({each[1] for each in parts if len(each) > 2 and each[0] == "construction"})
