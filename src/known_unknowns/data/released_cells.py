"""Cells of the edition whose replies are released: what the workflow asks before it plans a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from known_unknowns.benchmark import registry
from known_unknowns.config import ImportedModel, Params, ReleasedData
from known_unknowns.config.params import ORIGINAL
from known_unknowns.data.git import read_manifest
from known_unknowns.errors import ConfigError
from known_unknowns.variants.corrections import corrected

if TYPE_CHECKING:
    from known_unknowns.benchmark.released import Released, ReleasedFile


def is_released(params: Params, benchmark: str) -> bool:
    """Whether the replies of the edition to a benchmark are released ones."""
    return isinstance(params.data(benchmark), ReleasedData)


def released_entry(params: Params, benchmark: str) -> ReleasedData:
    """Return the entry of a benchmark's released data. ConfigError if its data are others."""
    entry = params.data(benchmark)
    if not isinstance(entry, ReleasedData):
        raise ConfigError(f"{benchmark} has no released replies", path=f"benchmarks.{benchmark}.data")
    return entry


def raw_folder(params: Params, benchmark: str, root: Path = Path()) -> Path:
    """Return the folder of fetched files."""
    return root / "data" / params.data_name / "raw" / benchmark


def unfetched(params: Params, root: Path = Path()) -> list[str]:
    """Return the benchmarks whose released files have not been fetched with the present entry."""
    return [name for name in params.benchmarks if is_released(params, name) and _files(params, name, root) is None]


def _files(params: Params, benchmark: str, root: Path) -> list[ReleasedFile] | None:
    return read_manifest(raw_folder(params, benchmark, root), released_entry(params, benchmark))


def with_cells(params: Params, root: Path = Path()) -> Params:
    """Return the configuration with the cells of imported models that released files have.

    Models with ``cells`` of their own are not changed. Without fetched files, nothing is.
    """
    found: dict[str, dict[str, dict[str, list[int]]]] = {}
    for benchmark in filter(lambda name: is_released(params, name), params.benchmarks):
        files = _files(params, benchmark, root)
        if files is None:
            continue
        of_model = interface(benchmark).variants(files, released_entry(params, benchmark))
        for model in filter(params.is_imported, params.models):
            entry = params.model(model)
            assert isinstance(entry, ImportedModel)
            answered = of_model.get(entry.released.get(benchmark, ""), ())
            variants = [v for v in params.variants(benchmark) if answered_as(params, benchmark, v) in answered]
            if variants and "cells" not in entry.model_fields_set:
                seeds = {variant: params.seeds_of(benchmark, variant)[:1] for variant in variants}
                found.setdefault(model, {})[benchmark] = seeds
    models = {model: params.model(model).model_copy(update={"cells": cells}) for model, cells in found.items()}
    return params.with_entries("models", models)


def interface(benchmark: str) -> Released:
    """Return how a benchmark's replies were released. ConfigError if it has no released replies."""
    released = registry.get(benchmark).released()
    if released is None:
        raise ConfigError(f"{benchmark} has no released replies", path=f"benchmarks.{benchmark}.data")
    return released


def is_imported_from(params: Params, model: str, benchmark: str) -> bool:
    """Whether a model's replies to a benchmark are released ones, and the files have some."""
    return is_released(params, benchmark) and params.is_imported(model) and bool(params.cells(benchmark, model))


def names_in_files(params: Params, benchmark: str) -> dict[str, str]:
    """Return the models of the edition by their names in a benchmark's released files."""
    return {name: model for model, name in names_of_imported(params, benchmark).items() if model in params.models}


def names_of_imported(params: Params, benchmark: str) -> dict[str, str]:
    """Return the name in a benchmark's released files of every model that has one, those of other editions included."""
    imported = {model: entry for model, entry in params.file.models.items() if isinstance(entry, ImportedModel)}
    return {model: entry.released[benchmark] for model, entry in imported.items() if benchmark in entry.released}


def answered_as(params: Params, benchmark: str, variant: str) -> str:
    """Return the variant whose released replies count for a variant.

    It is the variant itself, except for corrected questions: their answers were given to the questions as published,
    under the same protocol.
    """
    if params.variant(variant).function != corrected.__name__:
        return variant
    protocol = params.protocol_name(benchmark, variant)
    return next(
        (
            name
            for name in params.variants(benchmark)
            if params.variant(name).function == ORIGINAL and params.protocol_name(benchmark, name) == protocol
        ),
        variant,
    )
