"""Read and check params.yaml: types, keys, and names that one part of the file gives to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from known_unknowns.config import catalogue
from known_unknowns.config.base import merged
from known_unknowns.config.errors import Location, Mistakes, as_config_error, explained, not_texts, raise_all
from known_unknowns.config.models import ImportedModel
from known_unknowns.config.params import Params
from known_unknowns.config.sections import Configuration
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.yaml_reader import parse_yaml

FILE = "params.yaml"
_BAD_CHARACTER = "a character is not allowed; save the file as UTF-8"
_NAMING = frozenset({"edition", "editions", "benchmarks", "variants", "protocols", "models", "parsers"})
"""The required sections with names."""


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

    Raises ConfigError for all mistakes in keys, types and names at once, each with the dotted path of its key.
    """
    params, mistakes = sound_part(raw)
    if params is not None:
        mistakes.add(unknown_names(params))
    raise_all(mistakes.errors)
    assert params is not None  # else there was a mistake
    return params


def parse(raw: Any) -> Params:
    """Return the configuration with the entries of the catalogue that it names; see `check`. Names are not checked."""
    if not isinstance(raw, Mapping):
        raise ConfigError("the file must be a mapping of keys to values", path=FILE)
    whole = catalogue.with_named(raw)
    with as_config_error(whole, ""):
        return Params(Configuration.model_validate(whole))


def sound_part(raw: Any) -> tuple[Params | None, Mistakes]:
    """Return the configuration without its wrong keys, and the mistakes in keys and types; see `parse`.

    It is None if no section is left in which names can be checked.
    """
    mistakes = Mistakes()
    if not isinstance(raw, Mapping):
        mistakes.add([ConfigError("the file must be a mapping of keys to values", path=FILE)])
        return None, mistakes
    whole: Any = catalogue.with_named(raw)
    while True:
        try:
            return Params(Configuration.model_validate(whole)), mistakes
        except ValidationError as error:
            wrong = explained(error, whole)
        whole = deepcopy(whole)
        if not mistakes.remove(whole, wrong):
            break
    if not whole.keys() >= _NAMING:
        return None, mistakes
    return Params.of_sections({"judge": None, "construction": {}} | whole), mistakes


def unknown_names(params: Params) -> list[ConfigError]:
    """Return every name in the configuration that no section defines."""
    file = params.file
    errors = []

    def known(name: str, among: Iterable[str], path: str) -> None:
        among = list(among)
        if name not in among:
            errors.append(ConfigError(unknown_name(name, among), path=path))

    known(file.edition, [*file.editions, *catalogue.entries("editions")], "edition")
    for edition, selected in file.editions.items():
        for index, name in enumerate(selected.benchmarks):
            known(name, file.benchmarks, f"editions.{edition}.benchmarks[{index}]")
        for index, name in enumerate(selected.models):
            known(name, file.models, f"editions.{edition}.models[{index}]")
        errors += _without_data(params, edition)
        for benchmark, own in selected.variants.items() if edition == file.edition else ():
            path = f"editions.{edition}.variants.{benchmark}"
            known(benchmark, file.benchmarks, path)
            of_entry = params.listed_variants(benchmark) if benchmark in file.benchmarks else ()
            for index, variant in enumerate(own):
                known(variant, [*file.variants, *of_entry], f"{path}[{index}]")
    for name, entry in file.benchmarks.items():
        path = f"benchmarks.{name}"
        known(entry.protocol, file.protocols, f"{path}.protocol")
        errors += _listed_twice(params, name)
        for index, listed in enumerate(entry.protocols):
            protocol = listed if isinstance(listed, str) else listed.name
            known(protocol, file.protocols, f"{path}.protocols[{index}]")
        for index, variant in enumerate(entry.variants):
            known(variant, file.variants, f"{path}.variants[{index}]")
        listed_variants = params.listed_variants(name)
        for variant in entry.seeds if listed_variants else ():  # without any, that is the mistake
            known(variant, listed_variants, f"{path}.seeds.{variant}")
    if file.judge is not None:
        known(file.judge.model, file.models, "judge.model")
    for name, changed in file.variants.items():
        if changed.protocol is not None:
            known(changed.protocol, file.protocols, f"variants.{name}.protocol")
    if file.edition in file.editions:
        for name, model in file.models.items():
            if isinstance(model, ImportedModel):
                errors += _imported_cells(params, name, model)
    return errors


def _without_data(params: Params, edition: str) -> list[ConfigError]:
    """The edition's benchmarks that have no data of the name that the edition selects."""
    other = params.of_edition(edition)
    errors = []
    for benchmark in other.benchmarks:
        entry = params.file.benchmarks.get(benchmark)
        if entry is not None and other.data_name not in entry.data:
            chosen = f"set it to one of {', '.join(entry.data)}, or " if entry.data else ""
            added = f"add benchmarks.{benchmark}.data.{other.data_name}"
            message = f"{benchmark} has no data called {other.data_name!r}; {chosen}{added}"
            errors.append(ConfigError(message, path=f"editions.{edition}.data"))
    return errors


def _listed_twice(params: Params, benchmark: str) -> list[ConfigError]:
    """Variants of the benchmark with the same name, and protocols listed under a variant's name."""
    entry = params.benchmark(benchmark)
    path = f"benchmarks.{benchmark}"
    if not entry.protocols and not entry.variants:
        return [ConfigError("list at least one protocol or variant", path=path)]
    doubled = sorted({name for name in entry.variants if entry.variants.count(name) > 1})
    errors = [ConfigError(f"{name!r} is listed more than once", path=f"{path}.variants") for name in doubled]
    for name in entry.variants_of_protocols:
        if name in params.file.variants:
            message = f"{name!r} is also the name of an entry of variants; rename one of them"
            errors.append(ConfigError(message, path=f"{path}.protocols"))
    return errors


def _imported_cells(params: Params, model: str, entry: ImportedModel) -> list[ConfigError]:
    """Every cell of a model with imported replies must be one that other models are asked."""
    errors = []
    if not entry.cells and not entry.released:
        reason = "this key is required, unless `released` has the model's name in released files"
        errors.append(ConfigError(reason, path=f"models.{model}.cells"))
    for benchmark, variants in entry.cells.items():
        path = f"models.{model}.cells.{benchmark}"
        if benchmark not in params.file.benchmarks:
            errors.append(ConfigError(unknown_name(benchmark, params.file.benchmarks), path=path))
            continue
        for variant, seeds in variants.items():
            if variant not in params.variants(benchmark):
                errors.append(ConfigError(unknown_name(variant, params.variants(benchmark)), path=f"{path}.{variant}"))
                continue
            for seed in seeds:
                if seed not in params.seeds_of(benchmark, variant):
                    message = f"the edition {params.edition} has no seed {seed}"
                    errors.append(ConfigError(message, path=f"{path}.{variant}"))
    return errors
