"""What other packages add to this one: the objects that they register as entry points.

The packages of this distribution and those of others are found in the same way. A name of a group has one object.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

BENCHMARKS = "known_unknowns.benchmarks"
"""A `Benchmark` by its name."""
POCKETS = "known_unknowns.pockets"
"""The rendered edition of a benchmark, a `Pocket`, by the name of the benchmark."""
ENGINES = "known_unknowns.engines"
"""The settings of an engine, a subclass of `ModelSettings`, by the name of the engine; also the package of our own."""
COMMANDS = "known_unknowns.commands"
"""A module with ``COMMANDS`` and ``GROUPS``, as in `known_unknowns.cli`."""
SECTIONS = "known_unknowns.sections"
"""A function that yields the mistakes of a section of params.yaml, by the name of the section."""

AUDITS = "known_unknowns.audits"
"""A function that returns the findings on published numbers (`Published`), by the name of the package."""
AUDIT_SECTIONS = "known_unknowns.audit_sections"
"""A function that returns what the report shows of these findings, by the name of the package."""

DISTRIBUTION = "known-unknowns"
_PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def of_group(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name, those of this distribution first."""
    found = {name: EntryPoint(name, value, group) for name, value in _of_checkout().get(group, {}).items()}
    for entry in _installed(group, tuple(sys.path)):
        found.setdefault(entry.name, entry)
    return found


@cache
def _installed(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points of the distributions on ``path``, sorted. Reading them takes 30 ms."""
    return tuple(sorted(entry_points(group=group), key=lambda entry: entry.name))


@cache
def _of_checkout() -> Mapping[str, Mapping[str, str]]:
    """Return the values of this distribution's entry points by group and name; nothing if it is not a checkout.

    The metadata of a checkout may be older than its files. A job in a conda environment, and a clone that is only on
    PYTHONPATH, have none.
    """
    if not _PROJECT.is_file():
        return {}
    project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]
    groups: Mapping[str, Mapping[str, str]] = project["entry-points"] if project["name"] == DISTRIBUTION else {}
    return groups
