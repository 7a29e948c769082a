"""How benchmarks are constructed: their generators and published formats, by the names of the benchmarks."""

from __future__ import annotations

from known_unknowns.entry_points import of_group
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
    entry = of_group(GROUP).get(benchmark)
    if entry is None:
        return None
    try:
        found: Construction = entry.load()
    except Exception as error:  # the plugin's own code
        text = f"the plugin {entry.value} cannot be imported ({type(error).__name__}: {error})"
        raise ConfigError(text, path=f"benchmarks.{benchmark}") from error
    return found
