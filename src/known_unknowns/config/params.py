"""`Params`: a configuration with one edition selected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import TypeAdapter

from known_unknowns.config.base import Entry
from known_unknowns.config.construction import ConstructionEntry
from known_unknowns.config.errors import as_config_error
from known_unknowns.config.models import ImportedModel, Model, ModelEntry
from known_unknowns.config.sections import (
    BenchmarkData,
    BenchmarkEntry,
    Configuration,
    DataEntry,
    Edition,
    HttpData,
    Judge,
    Report,
    Statistics,
    Tracking,
)
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.records import Cell, ResolvedProtocol, ResolvedVariant

T = TypeVar("T")

_MODEL: TypeAdapter[ModelEntry] = TypeAdapter(Model)
_DATA: TypeAdapter[DataEntry] = TypeAdapter(BenchmarkData)
ORIGINAL = "original"
"""The variant function of questions that are asked as published."""


@dataclass(frozen=True)
class Params:
    """A configuration with one edition selected.

    Attributes
    ----------
    file : Configuration
        The whole of params.yaml after all overrides, with the entries of the catalogue that it names.
    """

    file: Configuration

    @property
    def edition(self) -> str:
        """Name of the selected edition."""
        return self.file.edition

    @property
    def selected(self) -> Edition:
        """The entry of the selected edition."""
        return self.file.editions[self.edition]

    @property
    def benchmarks(self) -> list[str]:
        """The edition's benchmarks."""
        return list(self.selected.benchmarks)

    @property
    def models(self) -> list[str]:
        """The edition's models."""
        return list(self.selected.models)

    @property
    def seeds(self) -> list[int]:
        """The edition's seeds."""
        return list(self.selected.seeds)

    @property
    def limit(self) -> int | None:
        """The largest number of questions of a benchmark that are asked; None for all."""
        return self.selected.limit or None

    @property
    def confidence(self) -> list[str]:
        """The sources of a confidence that the models are asked for after each answer."""
        return list(self.selected.confidence)

    @property
    def parsers(self) -> list[str]:
        """The parsers that are computed."""
        return list(self.file.parsers)

    @property
    def judge(self) -> Judge | None:
        """Settings of the parser judge; None if there are none."""
        return self.file.judge

    @property
    def statistics(self) -> Statistics:
        """Settings of the confidence intervals."""
        return self.file.statistics

    @property
    def report(self) -> Report:
        """Settings of the report."""
        return self.file.report

    @property
    def tracking(self) -> Tracking:
        """Settings of MLflow."""
        return self.file.tracking

    @classmethod
    def of_sections(cls, sections: Mapping[str, Any]) -> Params:
        """Return a configuration of these sections alone, from plain values. To read another one is an AttributeError.

        Jobs of the workflow have the sections that their step reads.
        """
        typed = {}
        for name, value in sections.items():
            section: TypeAdapter[Any] = TypeAdapter(Configuration.model_fields[name].annotation)  # type: ignore[arg-type]
            typed[name] = section.validate_python(value)
        file = Configuration.model_construct(_fields_set=set(typed), **typed)
        for name in Configuration.model_fields.keys() - typed.keys():
            vars(file).pop(name, None)  # the default of a section that is not there
        return cls(file)

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any]) -> Params:
        """Return that of the settings of a job that makes tables or pages: `shown`, and further sections."""
        further = {name: value for name, value in settings.items() if name in Configuration.model_fields}
        return cls.of_sections(settings["configuration"] | further)

    def shown(self, benchmarks: Sequence[str] | None = None, models: Sequence[str] | None = None) -> dict[str, Any]:
        """Return what tables and pages show of the edition, as plain sections for `of_sections`.

        With ``benchmarks`` or ``models``, only these are in it.
        """
        benchmarks = self.benchmarks if benchmarks is None else benchmarks
        models = self.models if models is None else models
        judge = [] if self.judge is None else [self.judge.model]
        entries = {name: self.benchmark(name).plain() for name in benchmarks}
        variants = {name: None for benchmark in benchmarks for name in self.variants(benchmark)}
        protocols = {
            self.protocol_name(benchmark, name) for benchmark in benchmarks for name in self.variants(benchmark)
        }
        edition = self.selected.plain() | {"benchmarks": list(benchmarks), "models": list(models)}
        if own := edition.pop("variants", None):
            edition["variants"] = {name: own[name] for name in benchmarks if name in own}
        return {
            "edition": self.edition,
            "editions": {self.edition: edition},
            "benchmarks": {name: _without(entry, "sources") for name, entry in entries.items()},
            "variants": _plain(self.file.variants, variants),
            "protocols": _plain(self.file.protocols, sorted(protocols)),
            "models": _plain(self.file.models, dict.fromkeys([*models, *judge])),
            "parsers": self.parsers,
            "statistics": self.statistics.plain(),
            "judge": None if self.judge is None else self.judge.plain(),
            "report": self.report.plain(),
        }

    def of_edition(self, name: str) -> Params:
        """Return the same configuration with another edition selected."""
        return Params(self.file.model_copy(update={"edition": name}))

    def with_entries(self, section: str, entries: Mapping[str, Entry]) -> Params:
        """Return the configuration with these entries of a section, in place of those of the same names."""
        return Params(self.file.model_copy(update={section: getattr(self.file, section) | entries}))

    def model(self, name: str) -> ModelEntry:
        """Return the entry of a model."""
        return _entry(self.file.models, name, "models")

    def construction(self, name: str) -> ConstructionEntry:
        """Return an entry of the section ``construction``."""
        return _entry(self.file.construction, name, "construction")

    @property
    def constructions(self) -> list[str]:
        """Names of the section ``construction``."""
        return list(self.file.construction)

    def is_imported(self, model: str) -> bool:
        """Whether the model's replies were imported from another tool's file."""
        return isinstance(self.file.models.get(model), ImportedModel)

    def published(self, model: str, benchmark: str) -> str | None:
        """Return the row of the benchmark's published tables that the model corresponds to."""
        return self.model(model).published_row(benchmark)

    @property
    def data_name(self) -> str:
        """Name of the edition's data: a key under ``data`` of each benchmark, and the folder under data/."""
        return self.selected.data or self.edition

    def benchmark(self, name: str) -> BenchmarkEntry:
        """Return the entry of a benchmark."""
        return _entry(self.file.benchmarks, name, "benchmarks")

    def data(self, benchmark: str) -> DataEntry:
        """Return the source of the benchmark's data in this edition."""
        return _entry(self.benchmark(benchmark).data, self.data_name, f"benchmarks.{benchmark}.data")

    @property
    def sources(self) -> dict[str, HttpData]:
        """The data sets that benchmarks were constructed from, by name."""
        found: dict[str, HttpData] = {}
        for benchmark in self.file.benchmarks.values():
            found |= benchmark.sources
        return found

    def variants(self, benchmark: str) -> list[str]:
        """Return the names of the benchmark's variants: the edition's, or else `listed_variants`."""
        selected = self.file.editions.get(self.edition)
        own = selected.variants.get(benchmark) if selected else None
        return self.listed_variants(benchmark) if own is None else list(own)

    def listed_variants(self, benchmark: str) -> list[str]:
        """Return the variants in the benchmark's entry: those of its listed protocols first."""
        entry = self.benchmark(benchmark)
        return [*entry.variants_of_protocols, *entry.variants]

    def seeds_of(self, benchmark: str, variant: str) -> list[int]:
        """Return the variant's own seeds if the benchmark's entry has some, else the edition's."""
        own = self.benchmark(benchmark).seeds.get(variant)
        return self.seeds if own is None else list(own)

    def samples(self, model: str) -> int:
        """Return how often a model is asked each question: its entry's number, or else the edition's."""
        entry = self.file.models.get(model)
        if entry is not None and entry.samples is not None:
            return entry.samples
        return self.selected.samples

    def cells(self, benchmark: str, model: str | None = None, *, samples: int = 1) -> list[Cell]:
        """Return every variant of the benchmark with each of its seeds and samples, in the order of the file.

        For a ``model``, the samples are as many as it is asked for; of a model with imported replies, only the cells of
        its entry are returned.
        """
        if model is not None:
            samples = self.samples(model)
        cells = [
            Cell(variant, seed, sample)
            for variant in self.variants(benchmark)
            for sample in range(samples)
            for seed in self.seeds_of(benchmark, variant)
        ]
        entry = None if model is None else self.file.models.get(model)
        if not isinstance(entry, ImportedModel):
            return cells
        imported = entry.cells.get(benchmark, {})
        return [cell for cell in cells if cell.seed in imported.get(cell.variant, ())]

    def variant(self, name: str) -> ResolvedVariant:
        """Return a variant."""
        if name in self.file.variants:
            entry = self.file.variants[name]
            return ResolvedVariant.of(**{"function": name} | entry.plain())
        for benchmark in self.file.benchmarks.values():
            if name in benchmark.variants_of_protocols:
                protocol, _ = benchmark.variants_of_protocols[name]
                return ResolvedVariant(ORIGINAL, protocol)
        raise ConfigError(unknown_name(name, self.every_variant), path="variants")

    @property
    def every_variant(self) -> dict[str, ResolvedVariant]:
        """Every variant of every benchmark by name, those of listed protocols included."""
        listed = [name for entry in self.file.benchmarks.values() for name in entry.variants_of_protocols]
        return {name: self.variant(name) for name in [*self.file.variants, *listed]}

    def protocol(self, benchmark: str, variant: str) -> ResolvedProtocol:
        """Return the protocol of a benchmark's variant: the variant's own, or else the benchmark's."""
        name = self.protocol_name(benchmark, variant)
        _, arguments = self.benchmark(benchmark).variants_of_protocols.get(variant, (name, {}))
        return self.protocol_entry(name, arguments)

    def functions(self, benchmark: str) -> dict[str, str]:
        """Return the function of each variant of a benchmark."""
        return {name: self.variant(name).function for name in self.variants(benchmark)}

    def protocols(self, benchmark: str) -> dict[str, ResolvedProtocol]:
        """Return the protocol of each variant of a benchmark."""
        return {name: self.protocol(benchmark, name) for name in self.variants(benchmark)}

    def protocol_entry(self, name: str, arguments: Mapping[str, Any] | None = None) -> ResolvedProtocol:
        """Return an entry of the section ``protocols``. ``arguments`` are added to its own."""
        settings = _entry(self.file.protocols, name, "protocols").plain() | dict(arguments or {})
        function = settings.pop("function", name)
        return ResolvedProtocol(function, settings)

    def protocol_name(self, benchmark: str, variant: str) -> str:
        """Return the name of the entry of ``protocols`` that the benchmark's variant is asked by."""
        entry = self.benchmark(benchmark)
        if variant in entry.variants_of_protocols:
            protocol, _ = entry.variants_of_protocols[variant]
            return protocol
        return self.variant(variant).protocol or entry.protocol


def data_entry(plain: Mapping[str, Any]) -> DataEntry:
    """Return the source of a benchmark's data from plain values."""
    return _DATA.validate_python(plain)


def typed_model(name: str, entry: Mapping[str, Any]) -> ModelEntry:
    """Return the settings of a model from its entry. ConfigError for all mistakes in it at once."""
    with as_config_error(entry, f"models.{name}"):
        return _MODEL.validate_python(entry)


def _plain(section: Mapping[str, Entry], names: Iterable[str]) -> dict[str, Any]:
    """Return the entries of a section that have these names. A variant or protocol may be no entry."""
    return {name: section[name].plain() for name in names if name in section}


def _without(entry: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != key}


def _entry(section: Mapping[str, T], name: str, path: str) -> T:
    if name not in section:
        raise ConfigError(unknown_name(name, section), path=path)
    return section[name]
