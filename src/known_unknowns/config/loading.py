"""Read and check params.yaml: types, keys, and names that one part of the file gives to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from known_unknowns.config import catalogue
from known_unknowns.config.errors import Location, dotted, explained, raise_all
from known_unknowns.config.params import Params
from known_unknowns.config.sections import Configuration
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.yaml_reader import parse_yaml

FILE = "params.yaml"
_SECTIONS = ("editions", "benchmarks", "variants", "protocols", "models")


def load(path: str | Path = FILE, *, edition: str | None = None) -> Params:
    """Read and check a file; see `read` and `check`."""
    return check(read(path, edition=edition))


def read(path: str | Path = FILE, *, edition: str | None = None) -> Any:
    """Read a file without checking its content. ``edition`` overrides the file's own.

    Raises ConfigError if there is no such file, it is not YAML, or a key is given twice.
    """
    path = Path(path)
    try:
        raw = parse_yaml(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError):
        raise ConfigError(f"no such file: {path}; run from the project's folder, or name it with --params") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {_yaml_mistake(error)}") from None
    return raw | {"edition": edition} if edition is not None and isinstance(raw, dict) else raw


def _yaml_mistake(error: yaml.YAMLError | UnicodeDecodeError) -> str:
    """Describe the mistake without the line itself, which may contain a secret."""
    if isinstance(error, yaml.MarkedYAMLError) and (mark := error.problem_mark) is not None:
        return f"{error.problem} (line {mark.line + 1}, column {mark.column + 1})"
    return "a character is not allowed; save the file as UTF-8"


def with_typed_overrides(raw: Any, overrides: Any) -> Any:
    """Return ``raw`` with the overrides of a command line, whose nested values arrive as strings, with their types."""
    if isinstance(overrides, Mapping):
        given = raw if isinstance(raw, Mapping) else {}
        return {**given, **{key: with_typed_overrides(given.get(key), value) for key, value in overrides.items()}}
    if isinstance(overrides, list):
        return [with_typed_overrides(None, value) for value in overrides]
    if not isinstance(overrides, str):
        return overrides
    try:
        value = parse_yaml(overrides)
    except yaml.YAMLError:
        return overrides
    return value if value is None or isinstance(value, bool | int | float) else overrides


def check(raw: Any) -> Params:
    """Check a configuration, and add the entries of the catalogue that it names.

    Raises ConfigError for all mistakes at once, each with the dotted path of its key.
    """
    params, errors = examine(raw)
    raise_all(errors)
    return params


def examine(raw: Any) -> tuple[Params, list[ConfigError]]:
    """Return the configuration and all its mistakes. Entries with mistakes are left out of the configuration."""
    if not isinstance(raw, Mapping):
        return Params({}), [ConfigError("the file must be a mapping of keys to values", path=FILE)]
    raw = catalogue.with_named(raw)
    found: dict[Location, str] = {}
    try:
        Configuration.model_validate(raw)
    except ValidationError as error:
        found = explained(error, raw)
    sound = _without(raw, found)
    errors = [ConfigError(text, path=dotted(location) or FILE) for location, text in found.items()]
    return Params(sound if errors else raw), [*errors, *_unknown_names(sound, raw)]


def _without(raw: Mapping[str, Any], mistakes: Iterable[Location]) -> dict[str, Any]:
    """The configuration without the entries that have mistakes. All sections are there, some of them empty."""
    kept = {section: {} for section in _SECTIONS} | {"parsers": []} | dict(raw)
    for section, *rest in filter(None, mistakes):
        if section in _SECTIONS and rest:
            kept[section] = {name: entry for name, entry in kept[section].items() if name != rest[0]}
        elif section in _SECTIONS:
            kept[section] = {}
        else:
            kept.pop(section, None)
    return kept


def _unknown_names(sound: Mapping[str, Any], raw: Mapping[str, Any]) -> list[ConfigError]:
    """Every name in the sound part that no section defines."""
    names = {section: list(v) if isinstance(v := raw.get(section), Mapping) else [] for section in _SECTIONS}
    params = Params(sound)
    errors = []

    def known(name: str, among: Iterable[str], path: str) -> None:
        among = list(among)
        if name not in among:
            errors.append(ConfigError(unknown_name(name, among), path=path))

    if "edition" in sound:
        known(sound["edition"], names["editions"], "edition")
    for edition, selected in sound["editions"].items():
        for section in ("benchmarks", "models"):
            for index, name in enumerate(selected[section]):
                known(name, names[section], f"editions.{edition}.{section}[{index}]")
        errors += _without_data(params, edition)
        for benchmark, own in selected.get("variants", {}).items() if edition == sound.get("edition") else ():
            path = f"editions.{edition}.variants.{benchmark}"
            known(benchmark, names["benchmarks"], path)
            listed = params.listed_variants(benchmark) if benchmark in sound["benchmarks"] else ()
            for index, variant in enumerate(own):
                known(variant, [*names["variants"], *listed], f"{path}[{index}]")
    for name, benchmark in sound["benchmarks"].items():
        path = f"benchmarks.{name}"
        known(benchmark["protocol"], names["protocols"], f"{path}.protocol")
        errors += _listed_twice(params, name)
        for index, listed in enumerate(benchmark.get("protocols", ())):
            protocol = listed if isinstance(listed, str) else listed["name"]
            known(protocol, names["protocols"], f"{path}.protocols[{index}]")
        for index, variant in enumerate(benchmark.get("variants", ())):
            known(variant, names["variants"], f"{path}.variants[{index}]")
        for variant in benchmark.get("seeds", {}):
            known(variant, params.listed_variants(name), f"{path}.seeds.{variant}")
    if (judge := sound.get("judge")) is not None:
        known(judge["model"], names["models"], "judge.model")
    for name, variant in sound["variants"].items():
        if (variant or {}).get("protocol") is not None:
            known(variant["protocol"], names["protocols"], f"variants.{name}.protocol")
    if sound.get("edition") in sound["editions"]:
        for model, entry in sound["models"].items():
            if entry["engine"] != "imported":
                continue
            if not entry.get("cells") and not entry.get("released"):
                reason = "this key is required, unless `released` has the model's name in released files"
                errors.append(ConfigError(reason, path=f"models.{model}.cells"))
            errors += _imported_cells(params, model, entry.get("cells", {}))
    return errors


def _without_data(params: Params, edition: str) -> list[ConfigError]:
    """The edition's benchmarks that have no data of the name that the edition selects."""
    selected = params.raw["editions"][edition]
    name = selected.get("data", edition)
    lacking = [
        (benchmark, sources)
        for benchmark in selected["benchmarks"]
        if benchmark in params.raw["benchmarks"]
        and name not in (sources := params.raw["benchmarks"][benchmark]["data"])
    ]
    return [
        ConfigError(
            f"{benchmark} has no data called {name!r}; set it to one of {', '.join(sources)}, or add "
            f"benchmarks.{benchmark}.data.{name}",
            path=f"editions.{edition}.data",
        )
        for benchmark, sources in lacking
    ]


def _listed_twice(params: Params, benchmark: str) -> list[ConfigError]:
    """Variants of the benchmark with the same name, and protocols listed under a variant's name."""
    entry = params.raw["benchmarks"][benchmark]
    path = f"benchmarks.{benchmark}"
    every = params.listed_variants(benchmark)
    if not every:
        return [ConfigError("list at least one protocol or variant", path=path)]
    listed = every[: len(every) - len(entry.get("variants", ()))]
    own = entry.get("variants", [])
    doubled = sorted({name for name in own if own.count(name) > 1})
    errors = [ConfigError(f"{name!r} is listed more than once", path=f"{path}.variants") for name in doubled]
    return errors + [
        ConfigError(f"{name!r} is also the name of an entry of variants; rename one of them", path=f"{path}.protocols")
        for name in listed
        if name in params.raw["variants"]
    ]


def _imported_cells(params: Params, model: str, cells: Mapping[str, Any]) -> list[ConfigError]:
    """Every cell of a model with imported replies must be one that other models are asked."""
    errors = []
    for benchmark, variants in cells.items():
        path = f"models.{model}.cells.{benchmark}"
        if benchmark not in params.raw["benchmarks"]:
            errors.append(ConfigError(unknown_name(benchmark, params.raw["benchmarks"]), path=path))
            continue
        for variant, seeds in variants.items():
            if variant not in params.variants(benchmark):
                errors.append(ConfigError(unknown_name(variant, params.variants(benchmark)), path=f"{path}.{variant}"))
                continue
            missing = [seed for seed in seeds if seed not in params.seeds_of(benchmark, variant)]
            errors += [
                ConfigError(f"the edition {params.edition} has no seed {seed}", path=f"{path}.{variant}")
                for seed in missing
            ]
    return errors
