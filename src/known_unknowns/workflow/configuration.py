"""The configuration, checked against the registries of benchmarks, variants, protocols and scorers.

`known_unknowns.config` checks what the file alone can tell; it is a base package and knows no registry.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from known_unknowns import benchmarks, config, protocols, scoring, variants
from known_unknowns.config import Params
from known_unknowns.config.errors import raise_all
from known_unknowns.errors import ConfigError, unknown_name


def load(path: str | Path = "params.yaml", *, edition: str | None = None) -> Params:
    """Read and check a params file. ``edition`` overrides the file's own.

    Raises
    ------
    ConfigError
        For all mistakes at once, each with the dotted path of its key.
    """
    return check(config.read(path, edition=edition))


def check(raw: Any) -> Params:
    """Check a configuration against its types and the registries; see `load`."""
    params, errors = config.examine(raw)
    raise_all([*errors, *unknown_to_registries(params)])
    return params


def unknown_to_registries(params: Params) -> list[ConfigError]:
    """Return the mistakes in names, arguments and combinations that only the registries can tell."""
    errors: list[ConfigError] = []

    @contextmanager
    def collected() -> Iterator[None]:
        try:
            yield
        except ConfigError as error:
            errors.append(error)

    for name, entry in params.raw.get("protocols", {}).items():
        with collected():
            protocols.check_arguments({"function": name} | dict(entry), path=f"protocols.{name}")
    for name, entry in params.raw.get("variants", {}).items():
        with collected():
            variants.check_arguments({"function": name} | dict(entry), path=f"variants.{name}")
    for index, name in enumerate(params.raw.get("scorers", ())):
        if name not in scoring.SCORERS:
            errors.append(ConfigError(unknown_name(name, scoring.SCORERS), path=f"scorers[{index}]"))
    for name in params.raw.get("benchmarks", {}):
        if name not in benchmarks.names():
            errors.append(ConfigError(unknown_name(name, benchmarks.names()), path=f"benchmarks.{name}"))
        else:
            errors += _impossible_protocols(params, name)
    return errors


def _impossible_protocols(params: Params, name: str) -> list[ConfigError]:
    """Variants of the benchmark with a protocol that cannot ask its questions."""
    errors = []
    benchmark = benchmarks.get(name)
    own = benchmark.protocols.get() if benchmark.protocols is not None else {}
    for variant in params.variants(name):
        try:
            protocol = params.protocol(name, variant).name
        except ConfigError:
            continue  # an unknown name, which is reported elsewhere
        if protocol == "refusal_prompt" and benchmark.refusal_prompt is None:
            reason = f"{name} has no refusal prompt, so it cannot be asked by {protocol!r}"
            errors.append(ConfigError(reason, path=_path(params, name, variant)))
        if protocol in protocols.NEED_VIEWS and protocol not in own:
            reason = f"{name} has no views, so it cannot be asked by {protocol!r}"
            errors.append(ConfigError(reason, path=_path(params, name, variant)))
    return errors


def _path(params: Params, benchmark: str, variant: str) -> str:
    """The key that gives a benchmark's variant its protocol."""
    entry = params.raw["benchmarks"][benchmark]
    listed = params.variants(benchmark)[: -len(entry.get("variants", ())) or None]
    if variant in listed:
        names = [item if isinstance(item, str) else item["name"] for item in entry["protocols"]]
        return f"benchmarks.{benchmark}.protocols[{names.index(params.protocol_name(benchmark, variant))}]"
    if params.variant(variant).protocol is None:
        return f"benchmarks.{benchmark}.protocol"
    return f"benchmarks.{benchmark}.variants[{entry['variants'].index(variant)}]"
