"""The registry of benchmarks. A benchmark is one folder with an object named ``BENCHMARK``.

`get` returns the object of one benchmark, `names` the names of all of them. A folder in the package
``known_unknowns_benchmarks`` is found by itself. A benchmark of another distribution is found through its entry point
in the group ``known_unknowns.benchmarks``, whose value is the `Benchmark` object (docs/architecture.md,
CONTRIBUTING.md). `pocket_of` returns a benchmark's rendered edition.

No other module of this package knows a benchmark by name.
"""

from __future__ import annotations

import pkgutil
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from known_unknowns.benchmark.interface import Benchmark
from known_unknowns.benchmark.pocket import Pocket
from known_unknowns.benchmark.terms import Terms
from known_unknowns.config import DataEntry, ReleasedData, ScenesData
from known_unknowns.errors import ConfigError, unknown_name

PACKAGE = "known_unknowns_benchmarks"
"""The package with the folders of the benchmarks that are part of this distribution."""
GROUP = "known_unknowns.benchmarks"
"""The entry point group of benchmarks that live in other distributions."""
POCKET = "known_unknowns_pocket.editions"
"""The module with the rendered editions of this distribution's benchmarks."""


def names() -> list[str]:
    """Names of all benchmarks, those of `PACKAGE` first."""
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
        found = getattr(import_module(f"{PACKAGE}.{name}"), "BENCHMARK", None)
    else:
        entry = next((entry for entry in _elsewhere(tuple(sys.path)) if entry.name == name), None)
        if entry is None:
            raise ConfigError(unknown_name(name, names()), path=f"benchmarks.{name}")
        try:
            found = entry.load()
        except Exception as error:  # the plugin's own code
            text = f"the plugin {entry.value} cannot be imported ({type(error).__name__}: {error})"
            raise ConfigError(text, path=f"benchmarks.{name}") from error
    if not isinstance(found, Benchmark) or found.name != name:
        raise ConfigError(
            f"the folder of the benchmark {name!r} must define BENCHMARK, an object of a subclass of Benchmark whose "
            f"name is {name!r}",
            path=f"benchmarks.{name}",
        )
    return found


def pocket_of(name: str) -> Pocket | None:
    """Return the rendered edition of a benchmark: its own, or that of `POCKET`; None if it has none."""
    own = get(name).pocket()
    if own is not None:
        return own
    found: Pocket | None = import_module(POCKET).edition(name)
    return found


def terms_of(name: str, entry: DataEntry | None) -> Terms:
    """Return the terms of a benchmark's data, by default those of the published data.

    Rendered data have the renderer's licence, and the paper of the benchmark. Raises ConfigError if there is no such
    benchmark.
    """
    published = get(name).terms
    if isinstance(entry, ReleasedData):
        title = f"{published.title}: released replies"
        return published.model_copy(update={"title": title, "url": entry.repository})
    pocket = pocket_of(name) if isinstance(entry, ScenesData) else None
    if pocket is None:
        return published
    title = f"{published.title}: {pocket.terms.title}"
    paper = {"cite": published.cite, "bibtex": published.bibtex}
    return pocket.terms.model_copy(update={"title": title, **paper})


@cache
def _own() -> tuple[str, ...]:
    """Folders of `PACKAGE`, in alphabetical order."""
    folders = import_module(PACKAGE).__path__
    return tuple(m.name for m in pkgutil.iter_modules(folders) if m.ispkg and not m.name.startswith("_"))


@cache
def _elsewhere(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Entry points of the distributions on ``path``. Reading them takes 30 ms."""
    return tuple(entry_points(group=GROUP))
