"""What was run, read from params.yaml, the data's pins and the engines' own records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns.data import licences, lock_file, provenance
from known_unknowns.errors import DataError
from known_unknowns.report.numerics import SECTIONS, Computed, computed

if TYPE_CHECKING:
    from known_unknowns.config import Params

PACKAGES = (*provenance.PACKAGES, "altair", "vl-convert-python")
"""Those whose version can change a number or a drawing."""


@dataclass(frozen=True, slots=True)
class Data:
    """Where a benchmark's data came from, and under which ``terms``; ``pin`` is the hash in its .dvc file, ``locked``
    what params.lock.yaml holds its source to, where there is one."""

    benchmark: str
    source: Mapping[str, Any]
    pin: str | None
    locked: str | None = None
    terms: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a model's distinct replies took over all benchmarks, now or in an earlier run: how many there are, their
    tokens (None where the engine does not count them), seconds, and US dollars (None without a price), of which
    ``priced`` replies have one."""

    replies: int
    seconds: float
    input_tokens: int | None
    output_tokens: int | None
    usd: float | None
    priced: int


@dataclass(frozen=True, slots=True)
class Model:
    """``entry`` is the model's in params.yaml; ``facts`` is all that can change a reply and ``about`` is worth
    knowing besides, as the engine recorded them; ``turns`` counts what it was asked, over all benchmarks;
    ``computed`` has a row for each benchmark whose replies came from weights in process; ``locked`` is what
    params.lock.yaml holds its source to, where its replies are of that commit."""

    name: str
    entry: Mapping[str, Any]
    facts: Mapping[str, Any]
    about: Mapping[str, Any]
    turns: int | None
    spent: Spent | None = None
    computed: tuple[Computed, ...] = ()
    locked: str | None = None

    @property
    def scripted(self) -> bool:
        return self.entry.get("engine") == "respondent"


@dataclass(frozen=True, slots=True)
class WasRun:
    edition: str
    seeds: tuple[int, ...]
    statistics: Mapping[str, Any]
    data: tuple[Data, ...]
    models: tuple[Model, ...]
    versions: Mapping[str, str]
    commit: str | None
    dirty: bool | None


def gather(params: Params, *, results: Path, data: Path, root: Path) -> WasRun:
    """Read what was run. What is not there (no commit, no pin, no engine.json) is left out, never made up.

    Raises DataError for a pin or an engine.json that is broken, ConfigError for a lock that is.
    """
    commit, dirty = provenance.git_state(root)
    held = lock_file.read(root / lock_file.PATH)
    return WasRun(
        edition=params.edition,
        seeds=tuple(params.seeds),
        statistics=params.statistics.as_dict(),
        data=tuple(_data(benchmark, params.data(benchmark).as_dict(), data, held) for benchmark in params.benchmarks),
        models=tuple(_model(params, model, results, held) for model in params.models),
        versions=provenance.package_versions(PACKAGES),
        commit=commit,
        dirty=dirty,
    )


def _data(benchmark: str, entry: Mapping[str, Any], data: Path, held: Mapping[str, lock_file.LockEntry]) -> Data:
    source = lock_file.data_source(benchmark, entry)
    locked = held.get(source.key) if source else None
    pin = provenance.dvc_hash(data / "raw" / benchmark)
    terms = licences.terms_of(benchmark, entry).as_dict()
    return Data(benchmark, entry, pin, locked.describe() if locked else None, terms)


def _model(params: Params, model: str, results: Path, held: Mapping[str, lock_file.LockEntry]) -> Model:
    """Facts are those of the first benchmark that the model answered: they do not differ between benchmarks."""
    engines = []
    for benchmark in params.benchmarks:
        path = results / "replies" / model / benchmark / "engine.json"
        if path.is_file():
            try:
                engines.append(json.loads(path.read_text(encoding="utf-8")))
            except ValueError as error:
                raise DataError(f"not valid JSON ({error}); delete it and run again", file=path) from error
    first = engines[0] if engines else {}
    turns = sum(engine.get("turns", 0) for engine in engines) if engines else None
    about = {name: value for name, value in first.get("about", {}).items() if name not in SECTIONS}
    told = [
        computed(model, engine.get("benchmark", ""), engine.get("about", {}), params.statistics["confidence"])
        for engine in engines
    ]
    facts = first.get("facts", {})
    source = lock_file.model_source(params.model(model))
    locked = held.get(source.key) if source else None
    return Model(
        name=model,
        entry=params.model(model).as_dict(),
        facts=facts,
        about=about,
        turns=turns,
        spent=_spent(engines),
        computed=tuple(part for part in told if part is not None),
        locked=locked.describe() if locked and facts.get("revision") == locked.commit else None,
    )


def _spent(engines: Sequence[Mapping[str, Any]]) -> Spent | None:
    """The sums over benchmarks; None where an engine's record does not say."""
    records = [engine["spent"] for engine in engines if engine.get("spent")]
    if not records or len(records) < len(engines):
        return None
    costs = [record["usd"] for record in records if record["usd"] is not None]
    return Spent(
        replies=sum(record["replies"] for record in records),
        seconds=sum(engine.get("reply_seconds", 0.0) for engine in engines),
        input_tokens=sum(record["input_tokens"] for record in records) or None,
        output_tokens=sum(record["output_tokens"] for record in records) or None,
        usd=sum(costs) if costs else None,
        priced=sum(record["priced"] for record in records),
    )
