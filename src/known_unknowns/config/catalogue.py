"""The catalogue: what params.yaml can name without defining it.

It has entries for published models (the folder ``models``; ``absent.yaml`` says why others have none), and what the
packages of benchmarks add in a file ``catalogue.yaml``: editions, the data of the benchmark, variants, protocols, and
models with released replies. An entry becomes part of the configuration if something in it names it (`with_named`); the
others are off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from known_unknowns.config.base import merged
from known_unknowns.config.models import Model, ModelEntry, ModelSettings
from known_unknowns.config.sections import Edition
from known_unknowns.entry_points import BENCHMARKS, POCKETS, of_group
from known_unknowns.yaml_reader import parse_yaml

FOLDER = Path(__file__).parents[1] / "models"
Section = dict[str, Any]


@cache
def _sections() -> Mapping[str, Section]:
    """Return the sections of all files, each with its entries by name."""
    found: dict[str, Section] = {"editions": {}, "benchmarks": {}, "variants": {}, "protocols": {}, "models": {}}
    for file in [*sorted(FOLDER.glob("*.yaml")), *dict.fromkeys(_files_of_packages())]:
        content = parse_yaml(file.read_text(encoding="utf-8"))
        for section, known in found.items():
            known |= content.get(section, {})
    return found


def _files_of_packages() -> Iterator[Path]:
    """Yield the file in the package of each benchmark and of its rendered edition, if there is one."""
    for entry in [*of_group(BENCHMARKS).values(), *of_group(POCKETS).values()]:
        try:
            spec = find_spec(entry.module)
        except ImportError:  # `registry.get` says so, if the benchmark is used
            continue
        if spec is None or spec.origin is None or not (spec.parent or spec.submodule_search_locations):
            continue  # a module outside of packages
        file = Path(spec.origin).with_name("catalogue.yaml")
        if file.is_file():
            yield file


def entries(section: str = "models") -> Section:
    """Return every entry of a section as it is in its file, by name, for `with_named`."""
    return deepcopy(_sections()[section])


@cache
def models() -> Mapping[str, ModelEntry]:
    """Return every model of the catalogue that answers questions, by name."""
    found = TypeAdapter(dict[str, Model]).validate_python(entries())
    return {name: entry for name, entry in found.items() if isinstance(entry, ModelSettings)}


@cache
def editions() -> Mapping[str, Edition]:
    """Return every edition of the catalogue, by name."""
    return TypeAdapter(dict[str, Edition]).validate_python(entries("editions"))


def absent() -> dict[str, dict[str, str]]:
    """Return, for each benchmark, the published rows without an entry, and the reasons."""
    return parse_yaml((FOLDER / "absent.yaml").read_text(encoding="utf-8"))["absent"]


def with_named(raw: Any) -> Any:
    """Add the entries that a configuration names, by ``edition``, in its editions and benchmarks, or as its own.

    If the selected edition has ``published_models``, their names are added to its models. Keys of the configuration's
    own entries override the catalogue's. Input that is not a configuration is returned unchanged, because the schema
    reports its mistakes.
    """
    if not isinstance(raw, Mapping) or not isinstance(raw.get("models"), Mapping):
        return raw
    raw = _with_published(_with_entries(raw, "editions", _texts([raw.get("edition")])))
    raw = _with_data(raw)
    editions, benchmarks = _values(raw, "editions"), _values(raw, "benchmarks")
    judge = raw.get("judge")
    models = [name for edition in editions for name in _texts(edition.get("models"))]
    models += _texts([judge.get("model")]) if isinstance(judge, Mapping) else []
    variants = [name for benchmark in benchmarks for name in _texts(benchmark.get("variants"))]
    for edition in editions:
        own = edition.get("variants")
        for names in own.values() if isinstance(own, Mapping) else ():
            variants += _texts(names)
    raw = _with_entries(raw, "models", models)
    raw = _with_entries(raw, "variants", variants)
    protocols = [benchmark.get("protocol") for benchmark in benchmarks]
    protocols += [variant.get("protocol") for variant in _values(raw, "variants")]
    for benchmark in benchmarks:
        listed = benchmark.get("protocols")
        for item in listed if isinstance(listed, list) else ():
            protocols.append(item.get("name") if isinstance(item, Mapping) else item)
    return _with_entries(raw, "protocols", _texts(protocols))


def _with_entries(raw: Mapping[str, Any], section: str, names: Iterable[str]) -> Mapping[str, Any]:
    """Add the catalogue's entries of these names, and its keys to the entries that the section has itself."""
    own, known = raw.get(section), entries(section)
    if not isinstance(own, Mapping):
        return raw
    found: Section = {}
    for name in dict.fromkeys([*own, *names]):
        if name in known and isinstance(own.get(name, {}), Mapping):
            found[name] = known[name] | dict(own.get(name, {}))
        elif name in own:
            found[name] = own[name]
    return dict(raw) | {section: found}


def _with_published(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add the published models to the selected edition, if it asks for them. Other editions need no entries."""
    editions, name = raw.get("editions"), raw.get("edition")
    edition = editions.get(name) if isinstance(editions, Mapping) and isinstance(name, str) else None
    if not isinstance(edition, Mapping) or edition.get("published_models") is not True:
        return raw
    listed, benchmarks = edition.get("models"), edition.get("benchmarks")
    if not isinstance(editions, Mapping) or not isinstance(listed, list) or not isinstance(benchmarks, list):
        return raw
    added = [
        model
        for model, entry in models().items()
        if model not in listed and any(isinstance(each, str) and entry.published_row(each) for each in benchmarks)
    ]
    return dict(raw) | {"editions": dict(editions) | {name: dict(edition) | {"models": [*listed, *added]}}}


def _with_data(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add the catalogue's data and sources of each benchmark to its own."""
    own, known = raw.get("benchmarks"), entries("benchmarks")
    if not isinstance(own, Mapping):
        return raw
    found = dict(own)
    for name, benchmark in own.items():
        if name in known and isinstance(benchmark, Mapping):
            sections = {key: _with_own(data, benchmark.get(key, {})) for key, data in known[name].items()}
            found[name] = dict(benchmark) | sections
    return dict(raw) | {"benchmarks": found}


def _with_own(known: Section, own: Any) -> Any:
    """Return the catalogue's data of a benchmark and its own, which override keys unless they name their ``source``."""
    if not isinstance(own, Mapping):
        return own
    found = dict(known)
    for name, data in own.items():
        is_whole = not isinstance(data, Mapping) or "source" in data
        found[name] = data if is_whole else merged(known.get(name), data)
    return found


def _values(raw: Mapping[str, Any], section: str) -> list[Mapping[str, Any]]:
    """Return the entries of a section that are mappings."""
    own = raw.get(section)
    return [entry for entry in own.values() if isinstance(entry, Mapping)] if isinstance(own, Mapping) else []


def _texts(names: Any) -> list[str]:
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
