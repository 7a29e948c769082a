"""How benchmarks are constructed: their generators and published formats, by the names of the benchmarks."""

from __future__ import annotations

from importlib.metadata import entry_points

from known_unknowns.errors import ConfigError
from known_unknowns_construction.benchmarks import actiview, humblebench
from known_unknowns_construction.interface import Construction

GROUP = "known_unknowns_construction.benchmarks"
"""The entry point group of `Construction` objects of other distributions, named as their benchmarks."""


def construction_of(benchmark: str) -> Construction | None:
    """Return how a benchmark is constructed; None if it cannot be."""
    if benchmark == "humblebench":
        return humblebench.CONSTRUCTION
    if benchmark == "actiview":
        return actiview.CONSTRUCTION
    for entry in entry_points(group=GROUP, name=benchmark):
        try:
            found: Construction = entry.load()
        except Exception as error:  # the plugin's own code
            text = f"the plugin {entry.value} cannot be imported ({type(error).__name__}: {error})"
            raise ConfigError(text, path=f"benchmarks.{benchmark}") from error
        return found
    return None
