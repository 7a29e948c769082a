"""params.yaml: read, checked against its schema and against the registries, before any job runs.

The Snakefile calls `check` on Snakemake's merged configuration, the command line calls `load`; both see the
same errors, each naming the path of the bad key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from known_unknowns.config import catalogue
from known_unknowns.errors import ConfigError, unknown_name

SCHEMA = Path("schemas/params.schema.yaml")
NOT_IN_THE_REPLY = frozenset(
    {
        # of a model in process
        "batch_size",
        "cache_gib",
        "device",
        "sharing",
        "threads",
        # of one behind an endpoint
        "answers_as",
        "batch",
        "concurrency",
        "key_env",
        "max_cost",
        "max_retries",
        "patience",
        "requests_per_minute",
        "timeout",
        "tokens_per_minute",
        # of any
        "card",
        "published",
        "seconds_per_reply",
    }
)
"""Keys of a model's entry that cannot change a reply: when one of them changes, nothing is asked again."""


@dataclass(frozen=True)
class Params:
    """A checked params.yaml with one edition chosen. ``raw`` is the whole of it, as a dictionary."""

    raw: Mapping[str, Any]

    @property
    def edition(self) -> str:
        return self.raw["edition"]

    @property
    def _chosen(self) -> Mapping[str, Any]:
        return self.raw["editions"][self.edition]

    @property
    def benchmarks(self) -> list[str]:
        return list(self._chosen["benchmarks"])

    @property
    def models(self) -> list[str]:
        return list(self._chosen["models"])

    @property
    def seeds(self) -> list[int]:
        return list(self._chosen["seeds"])

    @property
    def scorers(self) -> list[str]:
        return list(self.raw["scorers"])

    @property
    def statistics(self) -> Mapping[str, Any]:
        return self.raw["statistics"]

    @property
    def tracking(self) -> Mapping[str, Any]:
        return self.raw["tracking"]

    def variants(self, benchmark: str) -> list[str]:
        return list(self.raw["benchmarks"][benchmark]["variants"])

    def seeds_of(self, benchmark: str, variant: str) -> list[int]:
        """The variant's own seeds where the benchmark's entry gives some, else the edition's."""
        return list(self.raw["benchmarks"][benchmark].get("seeds", {}).get(variant, self.seeds))

    def cells(self, benchmark: str, model: str | None = None) -> list[tuple[str, int]]:
        """Every variant of the benchmark with each of its seeds, in the order of the file; of a ``model`` whose
        replies were imported, those that its entry has."""
        cells = [(v, seed) for v in self.variants(benchmark) for seed in self.seeds_of(benchmark, v)]
        if model is None or not self.is_imported(model):
            return cells
        there = self.model(model)["cells"].get(benchmark, {})
        return [(v, seed) for v, seed in cells if seed in there.get(v, ())]

    def is_imported(self, model: str) -> bool:
        """Whether the model's replies come from somebody else's file (`known_unknowns.exchange.importing`)."""
        return self.raw.get("models", {}).get(model, {}).get("engine") == "imported"

    def variant(self, name: str) -> dict[str, Any]:
        """The variant's function under "function", and its arguments."""
        return {"function": name} | _entry(self.raw["variants"], name, "variants")

    def model(self, name: str) -> dict[str, Any]:
        return _entry(self.raw["models"], name, "models")

    def published(self, model: str, benchmark: str) -> str | None:
        """The row of the benchmark's published tables that the model stands for."""
        return catalogue.stands_for(self.model(model), benchmark)

    def data(self, benchmark: str) -> dict[str, Any]:
        """Where this edition's data of the benchmark come from, and their revision."""
        return _entry(self.raw["benchmarks"], benchmark, "benchmarks")["data"][self.edition]

    def protocol(self, benchmark: str, variant: str) -> dict[str, Any]:
        """The variant's protocol: its function under "name", and its settings. The benchmark's, unless the variant has
        its own; an entry is named after its function, unless its "function" says otherwise."""
        own = self.variant(variant).get("protocol")
        name = own or _entry(self.raw["benchmarks"], benchmark, "benchmarks")["protocol"]
        entry = dict(self.raw["protocols"][name])
        return {"name": entry.pop("function", name)} | entry


def _entry(section: Mapping[str, Any], name: str, path: str) -> dict[str, Any]:
    if name not in section:
        raise ConfigError(unknown_name(name, section), path=path)
    return dict(section[name])


def load(path: str | Path = "params.yaml", *, edition: str | None = None, schema: str | Path | None = None) -> Params:
    """Read and check a params file.

    ``edition`` overrides the file's own. ``schema`` is by default `SCHEMA`, beside the file or beside the package.
    Raises ConfigError with the path of the bad key.
    """
    path = Path(path)
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"no such file: {path}; run from the project's folder, or name it with --params") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from error
    if edition is not None and isinstance(raw, dict):
        raw = raw | {"edition": edition}
    return check(raw, schema=schema or _schema_beside(path))


def _schema_beside(path: Path) -> Path:
    beside = path.resolve().parent / SCHEMA
    return beside if beside.is_file() else Path(__file__).resolve().parents[3] / SCHEMA


def check(raw: Any, *, schema: str | Path) -> Params:
    """Check a configuration; raise ConfigError for the first mistake, in the order of the file.

    Models that it names without describing them come from the catalogue (`known_unknowns.config.catalogue`).
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    validator = Draft202012Validator(yaml.safe_load(Path(schema).read_text(encoding="utf-8")))
    raw = catalogue.with_named(raw)
    error = best_match(validator.iter_errors(raw))
    if error is not None:
        raise ConfigError(_explain(error), path=_dotted(error.absolute_path) or "params.yaml")
    params = Params(raw)
    _check_references(params)
    return params


def _dotted(path: Iterable[str | int]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _explain(error: Any) -> str:
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        extra = [key for key in error.instance if key not in known]
        return "unknown key: " + "; ".join(unknown_name(key, known) for key in extra)
    return error.message


def _check_references(params: Params) -> None:
    """What a schema cannot say: every name that is used is known, and every combination can run."""
    from known_unknowns import benchmarks, engines, protocols, scoring, variants

    raw = params.raw

    def known(names: Iterable[str], among: Iterable[str], path: str) -> None:
        among = list(among)
        for index, name in enumerate(names):
            if name not in among:
                raise ConfigError(unknown_name(name, among), path=f"{path}[{index}]")

    for edition, chosen in raw["editions"].items():
        known(chosen["benchmarks"], raw["benchmarks"], f"editions.{edition}.benchmarks")
        known(chosen["models"], raw["models"], f"editions.{edition}.models")
    for name, benchmark in raw["benchmarks"].items():
        if name not in benchmarks.names():
            raise ConfigError(unknown_name(name, benchmarks.names()), path=f"benchmarks.{name}")
        known([benchmark["protocol"]], raw["protocols"], f"benchmarks.{name}.protocol")
        known(benchmark["variants"], raw["variants"], f"benchmarks.{name}.variants")
        for variant in benchmark.get("seeds", {}):
            if variant not in benchmark["variants"]:
                path = f"benchmarks.{name}.seeds.{variant}"
                raise ConfigError(unknown_name(variant, benchmark["variants"]), path=path)
    for name, entry in raw["protocols"].items():
        protocols.check_arguments({"function": name} | entry, path=f"protocols.{name}")
    for name in raw["variants"]:
        entry = params.variant(name)
        variants.check_arguments(entry, path=f"variants.{name}")
    for name in raw["benchmarks"]:
        _check_protocols(params, name)
    for name, entry in raw["models"].items():
        if entry["engine"] not in engines.ENGINES:
            raise ConfigError(unknown_name(entry["engine"], engines.ENGINES), path=f"models.{name}.engine")
        if params.is_imported(name):
            _check_imported(params, name)
    known(raw["scorers"], scoring.SCORERS, "scorers")


def _check_imported(params: Params, model: str) -> None:
    """Every cell that an imported model's entry has is one that is asked of models."""
    for benchmark, variants in params.model(model)["cells"].items():
        path = f"models.{model}.cells.{benchmark}"
        if benchmark not in params.raw["benchmarks"]:
            raise ConfigError(unknown_name(benchmark, params.raw["benchmarks"]), path=path)
        for variant, seeds in variants.items():
            if variant not in params.variants(benchmark):
                raise ConfigError(unknown_name(variant, params.variants(benchmark)), path=f"{path}.{variant}")
            for seed in seeds:
                if seed not in params.seeds_of(benchmark, variant):
                    raise ConfigError(f"the edition {params.edition} has no seed {seed}", path=f"{path}.{variant}")


def _check_protocols(params: Params, benchmark: str) -> None:
    """Every variant of the benchmark is asked by a protocol that is known and that the benchmark can be asked by."""
    from known_unknowns import benchmarks, protocols

    for index, variant in enumerate(params.variants(benchmark)):
        own = params.variant(variant).get("protocol")
        if own is not None and own not in params.raw["protocols"]:
            raise ConfigError(unknown_name(own, params.raw["protocols"]), path=f"variants.{variant}.protocol")
        name = params.protocol(benchmark, variant)["name"]
        if name == "refusal_prompt" and benchmarks.get(benchmark).refusal_prompt is None:
            path = f"benchmarks.{benchmark}.variants[{index}]" if own else f"benchmarks.{benchmark}.protocol"
            raise ConfigError(f"{benchmark} has no refusal prompt, so it cannot be asked by {name!r}", path=path)
        if name in protocols.NEED_VIEWS and benchmark != "actiview":
            path = f"benchmarks.{benchmark}.variants[{index}]" if own else f"benchmarks.{benchmark}.protocol"
            raise ConfigError(f"{benchmark} has no views, so it cannot be asked by {name!r}", path=path)
