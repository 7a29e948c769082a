"""The registry of benchmarks. A benchmark is one folder with an object named ``BENCHMARK``.

`get` returns the object of one benchmark, `names` the names of all of them. A folder in this package is found by
itself. A benchmark of another distribution is found through its entry point in the group ``known_unknowns.benchmarks``,
whose value is the `Benchmark` object (docs/architecture.md, CONTRIBUTING.md).

No other module of the package knows a benchmark by name.
"""

from __future__ import annotations

import pkgutil
import sys
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from known_unknowns.benchmarks._interface import (
    Audit,
    Benchmark,
    Check,
    Contents,
    Lazy,
    Load,
    OfficialParser,
    Pocket,
    Prompt,
    PublishedProtocol,
    Render,
)
from known_unknowns.benchmarks._pocket import is_installed
from known_unknowns.benchmarks._terms import Terms
from known_unknowns.errors import ConfigError, unknown_name

__all__ = [
    "GROUP",
    "Audit",
    "Benchmark",
    "Check",
    "Contents",
    "Lazy",
    "Load",
    "OfficialParser",
    "Pocket",
    "Prompt",
    "PublishedProtocol",
    "Render",
    "Terms",
    "get",
    "names",
]

GROUP = "known_unknowns.benchmarks"
"""The entry point group of benchmarks that live in other distributions."""


def names() -> list[str]:
    """Names of all benchmarks, those of this package first."""
    return list(dict.fromkeys([*_own(), *(entry.name for entry in _elsewhere(tuple(sys.path)))]))


@cache
def get(name: str) -> Benchmark:
    """Return the benchmark called ``name``.

    Raises
    ------
    ConfigError
        If there is no such benchmark, or if its folder has no sound ``BENCHMARK``.
    """
    if name in _own():
        found = getattr(import_module(f"{__name__}.{name}"), "BENCHMARK", None)
    else:
        entry = next((entry for entry in _elsewhere(tuple(sys.path)) if entry.name == name), None)
        if entry is None:
            raise ConfigError(unknown_name(name, names()), path=f"benchmarks.{name}")
        found = entry.load()
    if not isinstance(found, Benchmark) or found.name != name:
        raise ConfigError(
            f"the folder of the benchmark {name!r} must define BENCHMARK = Benchmark(name={name!r}, ...)",
            path=f"benchmarks.{name}",
        )
    return found if found.pocket is None or is_installed() else replace(found, pocket=None)


@cache
def _own() -> tuple[str, ...]:
    """Folders of this package, in alphabetical order."""
    return tuple(m.name for m in pkgutil.iter_modules(__path__) if m.ispkg and not m.name.startswith("_"))


@cache
def _elsewhere(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Entry points of the distributions on ``path``. Reading them takes 30 ms."""
    return tuple(entry_points(group=GROUP))
