"""`Params`: a configuration with one edition selected, and typed access to its entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import TypeAdapter

from known_unknowns.config.base import Text, WithArguments
from known_unknowns.config.construction import ConstructionEntry
from known_unknowns.config.errors import as_config_error
from known_unknowns.config.models import Model, ModelEntry
from known_unknowns.config.sections import (
    BenchmarkData,
    DataEntry,
    HttpData,
    Judge,
    ListedProtocol,
    Report,
    Statistics,
    Tracking,
    VariantEntry,
)
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.records import SAMPLE

T = TypeVar("T")

_MODEL: TypeAdapter[ModelEntry] = TypeAdapter(Model)
_DATA: TypeAdapter[DataEntry] = TypeAdapter(BenchmarkData)
_LISTED: TypeAdapter[str | ListedProtocol] = TypeAdapter(str | ListedProtocol)
ORIGINAL = "original"
"""The variant function of questions that are asked as published."""


class ResolvedProtocol(WithArguments):
    """A protocol as it is run: its function's name, and the arguments."""

    name: str


class ResolvedVariant(VariantEntry):
    """A variant as it is applied: its function's name, the arguments, and the protocol if it names one."""

    function: Text


_VARIANT: TypeAdapter[ResolvedVariant] = TypeAdapter(ResolvedVariant)


@dataclass(frozen=True)
class Params:
    """A configuration with one edition selected.

    ``raw`` is the whole configuration as plain values, as params.yaml has it after all overrides.
    """

    raw: Mapping[str, Any]

    @property
    def edition(self) -> str:
        """Name of the selected edition."""
        return self.raw["edition"]

    @property
    def _selected(self) -> Mapping[str, Any]:
        return self.raw["editions"][self.edition]

    @property
    def benchmarks(self) -> list[str]:
        """The edition's benchmarks."""
        return list(self._selected["benchmarks"])

    @property
    def models(self) -> list[str]:
        """The edition's models."""
        return list(self._selected["models"])

    @property
    def seeds(self) -> list[int]:
        """The edition's seeds."""
        return list(self._selected["seeds"])

    @property
    def limit(self) -> int | None:
        """The largest number of questions of a benchmark that are asked; None for all."""
        return self._selected.get("limit")

    @property
    def confidence(self) -> list[str]:
        """The sources of a confidence that the models are asked for after each answer."""
        return list(self._selected.get("confidence", ()))

    @property
    def parsers(self) -> list[str]:
        """The parsers that are computed."""
        return list(self.raw["parsers"])

    @property
    def judge(self) -> Judge | None:
        """Settings of the parser judge; None if there are none."""
        entry = self.raw.get("judge")
        return None if entry is None else _typed(TypeAdapter(Judge), entry, "judge")

    @property
    def statistics(self) -> Statistics:
        """Settings of the confidence intervals."""
        return _typed(TypeAdapter(Statistics), self.raw["statistics"], "statistics")

    @property
    def report(self) -> Report:
        """Settings of the report."""
        return _typed(TypeAdapter(Report), self.raw.get("report", {}), "report")

    @property
    def tracking(self) -> Tracking:
        """Settings of MLflow."""
        return _typed(TypeAdapter(Tracking), self.raw["tracking"], "tracking")

    def model(self, name: str) -> ModelEntry:
        """Return the entry of a model."""
        return typed_model(name, _entry(self.raw["models"], name, "models"))

    @property
    def every_model(self) -> dict[str, ModelEntry]:
        """Every model by name, those of other editions included."""
        return {name: self.model(name) for name in self.raw["models"]}

    def construction(self, name: str) -> ConstructionEntry:
        """Return an entry of the section ``construction``."""
        entry = _entry(self.raw.get("construction", {}), name, "construction")
        return _typed(TypeAdapter(ConstructionEntry), entry, f"construction.{name}")

    @property
    def constructions(self) -> list[str]:
        """Names of the section ``construction``."""
        return list(self.raw.get("construction", {}))

    def is_imported(self, model: str) -> bool:
        """Whether the model's replies were imported from another tool's file."""
        return self.raw.get("models", {}).get(model, {}).get("engine") == "imported"

    def published(self, model: str, benchmark: str) -> str | None:
        """Return the row of the benchmark's published tables that the model corresponds to."""
        return self.model(model).published_row(benchmark)

    @property
    def data_name(self) -> str:
        """Name of the edition's data: a key under ``data`` of each benchmark, and the folder under data/."""
        return self._selected.get("data", self.edition)

    def data(self, benchmark: str) -> DataEntry:
        """Return the source of the benchmark's data in this edition."""
        sources = self._benchmark(benchmark)["data"]
        path = f"benchmarks.{benchmark}.data"
        return _typed(_DATA, _entry(sources, self.data_name, path), f"{path}.{self.data_name}")

    def every_data(self, benchmark: str) -> dict[str, DataEntry]:
        """Return every source of the benchmark's data, by its name under ``data``."""
        path = f"benchmarks.{benchmark}.data"
        return {
            name: _typed(_DATA, each, f"{path}.{name}") for name, each in self._benchmark(benchmark)["data"].items()
        }

    @property
    def sources(self) -> dict[str, HttpData]:
        """The data sets that benchmarks were constructed from, by name."""
        return {
            name: HttpData.model_validate(entry)
            for benchmark in self.raw["benchmarks"].values()
            for name, entry in benchmark.get("sources", {}).items()
        }

    def variants(self, benchmark: str) -> list[str]:
        """Return the names of the benchmark's variants: the edition's, or else `listed_variants`."""
        edition = self.raw.get("editions", {}).get(self.raw.get("edition"), {})
        own = edition.get("variants", {}).get(benchmark)
        return self.listed_variants(benchmark) if own is None else list(own)

    def listed_variants(self, benchmark: str) -> list[str]:
        """Return the variants in the benchmark's entry: those of its listed protocols first."""
        entry = self._benchmark(benchmark)
        return [*_of_protocols(entry), *entry.get("variants", ())]

    def seeds_of(self, benchmark: str, variant: str) -> list[int]:
        """Return the variant's own seeds if the benchmark's entry has some, else the edition's."""
        return list(self._benchmark(benchmark).get("seeds", {}).get(variant, self.seeds))

    def samples(self, model: str) -> int:
        """Return how often a model is asked each question: its entry's number, or else the edition's."""
        entry = self.raw.get("models", {}).get(model, {})
        default = 1 if self.is_imported(model) else self._selected.get("samples", 1)
        return entry.get("samples", default)

    def cells(self, benchmark: str, model: str | None = None, *, samples: int = 1) -> list[tuple[str, int]]:
        """Return every variant of the benchmark with each of its seeds, in the order of the file.

        For a ``model``, each sample has a seed of its own (`records.SAMPLE`); of a model with imported replies, only
        the cells of its entry are returned.
        """
        if model is not None:
            samples = self.samples(model)
        cells = [
            (variant, seed + sample * SAMPLE)
            for variant in self.variants(benchmark)
            for sample in range(samples)
            for seed in self.seeds_of(benchmark, variant)
        ]
        if model is None or not self.is_imported(model):
            return cells
        imported = self.raw["models"][model].get("cells", {}).get(benchmark, {})
        return [(v, seed) for v, seed in cells if seed % SAMPLE in imported.get(v, ())]

    def variant(self, name: str) -> ResolvedVariant:
        """Return a variant."""
        if name in self.raw["variants"]:
            entry = {"function": name} | dict(self.raw["variants"][name])
            return _typed(_VARIANT, entry, f"variants.{name}")
        if (listed := self._listed(name)) is not None:
            return ResolvedVariant(function=ORIGINAL, protocol=listed[0])
        known = [*self.raw["variants"], *(v for b in self.raw["benchmarks"].values() for v in _of_protocols(b))]
        raise ConfigError(unknown_name(name, known), path="variants")

    def protocol(self, benchmark: str, variant: str) -> ResolvedProtocol:
        """Return the protocol of a benchmark's variant: the variant's own, or else the benchmark's."""
        name = self.protocol_name(benchmark, variant)
        _, arguments = _of_protocols(self._benchmark(benchmark)).get(variant, ("", {}))
        return self.protocol_entry(name, arguments)

    def protocol_entry(self, name: str, arguments: Mapping[str, Any] | None = None) -> ResolvedProtocol:
        """Return an entry of the section ``protocols``. ``arguments`` are added to its own."""
        settings = {**_entry(self.raw["protocols"], name, "protocols"), **(arguments or {})}
        return ResolvedProtocol(name=settings.pop("function", name), **settings)

    @property
    def every_variant(self) -> dict[str, ResolvedVariant]:
        """Every variant of every benchmark by name, those of listed protocols included."""
        listed = [name for entry in self.raw["benchmarks"].values() for name in _of_protocols(entry)]
        return {name: self.variant(name) for name in [*self.raw["variants"], *listed]}

    def protocol_name(self, benchmark: str, variant: str) -> str:
        """Return the name of the entry of ``protocols`` that the benchmark's variant is asked by."""
        listed = _of_protocols(self._benchmark(benchmark))
        return (
            listed[variant][0]
            if variant in listed
            else self.variant(variant).protocol or self._benchmark(benchmark)["protocol"]
        )

    def _benchmark(self, name: str) -> Mapping[str, Any]:
        return _entry(self.raw["benchmarks"], name, "benchmarks")

    def _listed(self, variant: str) -> tuple[str, Mapping[str, Any]] | None:
        """The protocol that a benchmark lists directly and that gives the variant its name."""
        every = (_of_protocols(entry) for entry in self.raw["benchmarks"].values())
        return next((protocols[variant] for protocols in every if variant in protocols), None)


def _of_protocols(benchmark: Mapping[str, Any]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Name of each variant that the benchmark lists as a protocol, to the protocol and the arguments given there."""
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for item in benchmark.get("protocols", ()):
        listed = _LISTED.validate_python(item)
        if isinstance(listed, str):
            listed = ListedProtocol(name=listed)
        found |= {name: (listed.name, arguments) for name, arguments in listed.variants.items()}
    return found


def typed_model(name: str, entry: Mapping[str, Any]) -> ModelEntry:
    """Return the settings of a model from its entry. ConfigError for all mistakes in it at once."""
    return _typed(_MODEL, entry, f"models.{name}")


def _typed(adapter: TypeAdapter[T], value: Any, path: str) -> T:
    with as_config_error(value, path):
        return adapter.validate_python(value)


def _entry(section: Mapping[str, Any], name: str, path: str) -> Mapping[str, Any]:
    if name not in section:
        raise ConfigError(unknown_name(name, section), path=path)
    return section[name]
