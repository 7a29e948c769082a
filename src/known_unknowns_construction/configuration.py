"""The section ``construction`` of a configuration, checked against the registries.

Models are not checked: a configuration that constructs nothing may lack them, and a job reports them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from known_unknowns.benchmark import registry
from known_unknowns.config import Params
from known_unknowns.config.construction import ConstructionEntry
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns_construction.benchmarks import construction_of
from known_unknowns_construction.filters import FILTERS
from known_unknowns_construction.generation import TEMPLATES


def unknown_to_registries(params: Params) -> Iterator[ConfigError]:
    """Yield the mistakes of all entries: unknown benchmarks, generators and filters, and scenes that do not fit."""
    for name in params.constructions:
        entry, path = params.construction(name), f"construction.{name}"
        if (entry.scenes is None) == (entry.psg is None):
            yield ConfigError("give exactly one of scenes and psg", path=path)
        yield from _of_filters(entry, f"{path}.filters")
        if entry.benchmark not in registry.names():
            yield ConfigError(unknown_name(entry.benchmark, registry.names()), path=f"{path}.benchmark")
        else:
            yield from _of_generators(entry, path)


def _of_filters(entry: ConstructionEntry, path: str) -> Iterator[ConfigError]:
    yield from _unknown(entry.filters.without, FILTERS, f"{path}.without")
    yield from _unknown(entry.filters.flag, FILTERS, f"{path}.flag")


def _unknown(names: Iterable[str], known: Iterable[str], path: str) -> Iterator[ConfigError]:
    for index, name in enumerate(names):
        if name not in known:
            yield ConfigError(unknown_name(name, known), path=f"{path}[{index}]")


def _of_generators(entry: ConstructionEntry, path: str) -> Iterator[ConfigError]:
    """Generators that the benchmark lacks, that lack a model, or that do not fit the source of the scenes."""
    part = construction_of(entry.benchmark)
    if part is None:
        yield ConfigError(f"{entry.benchmark} cannot be constructed", path=f"{path}.benchmark")
        return
    pocket, own = registry.pocket_of(entry.benchmark), part.generators
    if entry.scenes is not None and (pocket is None or pocket.scenes is None):
        yield ConfigError(f"{entry.benchmark} has no rendered scenes; give psg", path=f"{path}.scenes")
    known = {*own, *([TEMPLATES] if pocket is not None and pocket.templates is not None else [])}
    for generator, settings in entry.generators.items():
        key = f"{path}.generators.{generator}"
        if generator not in known:
            yield ConfigError(unknown_name(generator, known), path=key)
        elif generator in own and own[generator].needs_model and settings.model is None:
            yield ConfigError("it asks a model; name one of the section models", path=f"{key}.model")
        elif generator not in own and entry.scenes is None and entry.psg is not None:
            others = ", ".join(sorted(own))
            yield ConfigError(f"it fits rendered scenes only, and psg is given; for psg use {others}", path=key)
