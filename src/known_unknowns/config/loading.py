"""Read and check params.yaml: types, keys, and names that one part of the file gives to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from known_unknowns.config import catalogue
from known_unknowns.config.errors import Location, dotted, explained, not_texts, raise_all
from known_unknowns.config.params import Params
from known_unknowns.config.sections import Configuration
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.yaml_reader import parse_yaml

FILE = "params.yaml"
_BAD_CHARACTER = "a character is not allowed; save the file as UTF-8"
_SECTIONS = ("editions", "benchmarks", "variants", "protocols", "models")


def load(path: str | Path = FILE, *, edition: str | None = None) -> Params:
    """Read and check a file; see `read` and `check`."""
    return check(read(path, edition=edition))


def read(
    *paths: str | Path, command_line: Mapping[str, Any] | None = None, edition: str | None = None
) -> dict[str, Any]:
    """Read files (by default params.yaml) without checking their content, each over those before it.

    Where a key takes a text, a value that looks like a number, a date or a boolean is the text as it is written: Yes is
    "Yes", and 1.10 is "1.10".

    Parameters
    ----------
    *paths : str or Path
    command_line : mapping, optional
        Values over those of the files, as Snakemake reads ``--config``: all values within braces are texts.
    edition : str, optional
        The edition instead of the files' own.

    Raises
    ------
    ConfigError
        If there is no such file, it is not YAML or no mapping, or a key is given twice.
    """
    texts = [(path, _content(Path(path))) for path in paths or (FILE,)]
    raw: dict[str, Any] = {}
    for path, text in texts:
        raw = merged(raw, _parsed(path, text))
    raw = merged(raw, _typed(command_line or {}))
    if edition is not None:
        raw["edition"] = edition
    places = _places_of_texts(raw)
    if places:
        written: Any = {}
        for _, text in texts:
            written = merged(written, parse_yaml(text, as_written=True))
        written = merged(written, command_line or {})
        for place in places:
            _take_text(raw, written, place)
    return raw


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError):
        raise ConfigError(f"no such file: {path}; run from the project's folder, or name it with --params") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not valid YAML: {_BAD_CHARACTER}") from None


def _parsed(path: str | Path, text: str) -> Mapping[str, Any]:
    """Parse a file. The message of a mistake does not show the line itself, which may contain a secret."""
    try:
        parsed = parse_yaml(text)
    except yaml.YAMLError as error:
        mistake = _BAD_CHARACTER
        if isinstance(error, yaml.MarkedYAMLError) and (mark := error.problem_mark) is not None:
            mistake = f"{error.problem} (line {mark.line + 1}, column {mark.column + 1})"
        raise ConfigError(f"{path} is not valid YAML: {mistake}") from None
    if not isinstance(parsed, Mapping):
        raise ConfigError(f"{path} must be a mapping of keys to values")
    return parsed


def merged(below: Any, above: Any) -> Any:
    """Return ``above`` over ``below``: mappings are merged by their keys, all else is replaced."""
    if not isinstance(above, Mapping):
        return above
    values = dict(below) if isinstance(below, Mapping) else {}
    for key, value in above.items():
        values[key] = merged(values.get(key), value)
    return values


def _typed(value: Any) -> Any:
    """Return a value of the command line, in which a text that YAML takes for a number, a boolean or null is that."""
    if isinstance(value, Mapping):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    if not isinstance(value, str):
        return value
    try:
        found = parse_yaml(value)
    except yaml.YAMLError:
        return value
    return found if found is None or isinstance(found, bool | int | float) else value


def _places_of_texts(raw: Mapping[str, Any]) -> list[Location]:
    """Return where a value stands that is no text, although the key takes a text."""
    whole = catalogue.with_named(raw)
    try:
        Configuration.model_validate(whole)
    except ValidationError as error:
        return not_texts(error, whole)
    return []


def _take_text(raw: Any, written: Any, place: Location) -> None:
    """Replace a number, a date or a boolean by the text as it is written. Other values stay."""
    *above, last = place
    try:
        for key in above:
            raw, written = raw[key], written[key]
        if isinstance(raw[last], bool | int | float | date):
            raw[last] = str(written[last])
    except LookupError:  # of the catalogue
        return


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
