"""The catalogue of models (the folder ``models``): one entry for every published model that can still be run.

An entry becomes part of the configuration if an edition names it, or if the selected edition takes all published models
(`with_named`); the others are off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from known_unknowns.config.models import Model, ModelEntry
from known_unknowns.yaml_reader import parse_yaml

FOLDER = Path(__file__).parents[1] / "models"


@cache
def _entries() -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for file in sorted(FOLDER.glob("*.yaml")):
        found |= parse_yaml(file.read_text(encoding="utf-8")).get("models", {})
    return found


def entries() -> dict[str, dict[str, Any]]:
    """Return every entry of the catalogue as it is in its file, by name, for `with_named`."""
    return deepcopy(dict(_entries()))


@cache
def models() -> Mapping[str, ModelEntry]:
    """Return every model of the catalogue, by name."""
    return TypeAdapter(dict[str, Model]).validate_python(entries())


def absent() -> dict[str, dict[str, str]]:
    """Return, for each benchmark, the published rows without an entry, and the reasons."""
    return parse_yaml((FOLDER / "absent.yaml").read_text(encoding="utf-8"))["absent"]


def with_named(raw: Any) -> Any:
    """Add the entries that a configuration's editions, its judge, or its own ``models`` name.

    If the selected edition has ``published_models``, their names are added to its models. Its own keys override the
    catalogue's. Input that is not a configuration is returned unchanged, because the schema reports its mistakes.
    """
    if not isinstance(raw, Mapping) or not isinstance(own := raw.get("models"), Mapping):
        return raw
    known = entries()
    raw = _with_published(raw)
    named = dict.fromkeys([*own, *_named_by_editions(raw.get("editions")), *_judge(raw.get("judge"))])
    models = {}
    for name in named:
        if name in known and isinstance(own.get(name, {}), Mapping):
            models[name] = known[name] | dict(own.get(name, {}))
        elif name in own:
            models[name] = own[name]
    return dict(raw) | {"models": models}


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


def _named_by_editions(editions: Any) -> Iterable[str]:
    for edition in editions.values() if isinstance(editions, Mapping) else ():
        models = edition.get("models") if isinstance(edition, Mapping) else None
        yield from (name for name in models or () if isinstance(name, str))


def _judge(section: Any) -> Iterable[str]:
    model = section.get("model") if isinstance(section, Mapping) else None
    return [model] if isinstance(model, str) else []
