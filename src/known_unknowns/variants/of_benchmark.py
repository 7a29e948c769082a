"""The variants of a benchmark's questions: those of any benchmark, and the benchmark's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from known_unknowns import variants
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.variant import Variant
from known_unknowns.errors import ConfigError, unknown_name

if TYPE_CHECKING:
    from known_unknowns.config import Params
    from known_unknowns.records import ResolvedVariant

_REMOVES_OPTIONS = "nota_only"
"""Function of variants in which an unparsed reply can be a choice: that of the removed option."""


def variants_of(benchmark: str) -> dict[str, Variant]:
    """Return the variants that the benchmark's questions can have, by the names of their functions."""
    return {**variants.VARIANTS, **registry.get(benchmark).variants()}


def every_variant() -> dict[str, Variant]:
    """Return the variants of all registered benchmarks."""
    found = dict(variants.VARIANTS)
    for name in registry.names():
        found |= variants_of(name)
    return found


def variant_of(benchmark: str, entry: ResolvedVariant) -> Variant:
    """Return the variant that an entry of params.yaml's ``variants`` describes.

    Raises
    ------
    ConfigError
        If the benchmark has no such variant.
    """
    known = variants_of(benchmark)
    if entry.function not in known:
        raise ConfigError(unknown_name(entry.function, known), path=f"benchmarks.{benchmark}.variants")
    return known[entry.function]


def content_free(params: Params, benchmark: str) -> frozenset[str]:
    """Return the names of the benchmark's variants without content (`Variant.content_free`)."""
    return without_content(benchmark, params.functions(benchmark))


def without_content(benchmark: str, functions: Mapping[str, str]) -> frozenset[str]:
    """Return the names of the variants without content among these, whose functions are given."""
    known = variants_of(benchmark)
    return frozenset(name for name, used in functions.items() if used in known and known[used].content_free)


def removes_options(params: Params, variant: str) -> bool:
    """Return whether a variant removes the right option.

    A reply that names the removed option is unparsed with a label, and wrong, but not unusable.
    """
    return params.variant(variant).function == _REMOVES_OPTIONS
