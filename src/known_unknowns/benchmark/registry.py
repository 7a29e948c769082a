"""The registry of benchmarks.

`get` returns the object of one benchmark, `names` the names of all of them. A benchmark is found through its entry
point in the group ``known_unknowns.benchmarks``, whose value is the `Benchmark` object (docs/architecture.md,
CONTRIBUTING.md). `pocket_of` returns a benchmark's rendered edition.

No other module of this package knows a benchmark by name.
"""

from __future__ import annotations

from functools import cache

from known_unknowns.benchmark.interface import Benchmark
from known_unknowns.benchmark.pocket import Pocket
from known_unknowns.entry_points import BENCHMARKS, POCKETS, of_group
from known_unknowns.errors import ConfigError, unknown_name


def names() -> list[str]:
    """Names of all benchmarks, those of this distribution first."""
    return list(of_group(BENCHMARKS))


@cache
def get(name: str) -> Benchmark:
    """Return the benchmark called ``name``.

    Raises
    ------
    ConfigError
        If there is no such benchmark, or if its entry point is not a `Benchmark` of this name.
    """
    entry = of_group(BENCHMARKS).get(name)
    if entry is None:
        raise ConfigError(unknown_name(name, names()), path=f"benchmarks.{name}")
    try:
        benchmark = entry.load()
    except Exception as error:  # the plugin's own code
        text = f"the plugin {entry.value} cannot be imported ({type(error).__name__}: {error})"
        raise ConfigError(text, path=f"benchmarks.{name}") from error
    if not isinstance(benchmark, Benchmark) or benchmark.name != name:
        raise ConfigError(
            f"the entry point {name} = {entry.value} must be an object of a subclass of Benchmark with this name",
            path=f"benchmarks.{name}",
        )
    return benchmark


def pocket_of(name: str) -> Pocket | None:
    """Return the rendered edition of a benchmark: its own, or the one that a package registers; None if it has none."""
    own = get(name).pocket()
    registered = of_group(POCKETS).get(name)
    if own is not None or registered is None:
        return own
    pocket: Pocket = registered.load()
    return pocket
