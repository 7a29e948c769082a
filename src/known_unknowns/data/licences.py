"""Licences and citations of all data sets. They accompany the data wherever the data go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.terms import Terms
from known_unknowns.config import DataEntry, ReleasedData, ScenesData


@cache
def all_terms() -> Mapping[str, Terms]:
    """Return the terms of every data set by name: rendered data, benchmarks, and the sources of benchmarks."""
    rendered: dict[str, Terms] = {}
    published: dict[str, Terms] = {}
    for name in registry.names():
        benchmark = registry.get(name)
        published |= {name: benchmark.terms, **benchmark.source_terms}
        terms = rendered_terms(name)
        if terms is not None:
            rendered[terms.name] = terms
    return rendered | published


def rendered_terms(benchmark: str) -> Terms | None:
    """Return the terms of a benchmark's rendered edition; None if it has none."""
    pocket = registry.pocket_of(benchmark)
    return pocket.terms if pocket else None


def terms_of(benchmark: str, entry: DataEntry | None) -> Terms:
    """Return the terms of a benchmark's data, by default those of the published data.

    Rendered data have the renderer's licence and the citation of the benchmark. Raises ConfigError if there is no such
    benchmark.
    """
    published = registry.get(benchmark).terms
    if isinstance(entry, ReleasedData):
        return replace(published, title=f"{published.title}: released replies", url=entry.repository)
    if not isinstance(entry, ScenesData):
        return published
    rendered = rendered_terms(benchmark)
    if rendered is None:
        return published
    title = f"{published.title}: {rendered.title}"
    return replace(rendered, name=benchmark, title=title, citation=published.citation)
