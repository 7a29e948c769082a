"""A description of the run, from params.yaml, the pins of the data and the records of the engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns import json_files
from known_unknowns.data import licences, lock_file, provenance
from known_unknowns.edition_files import replies_table
from known_unknowns.report.numerics import SECTIONS, Computation, RepeatedAnswers, computation, repeated
from known_unknowns.verification.summaries import read_summary

if TYPE_CHECKING:
    from known_unknowns.config import DataEntry, Params

PACKAGES = (*provenance.PACKAGES, "altair", "vl-convert-python")
"""Packages whose version can change a number or a figure."""


@dataclass(frozen=True, slots=True)
class Data:
    """The source and the ``terms`` of a benchmark's data.

    ``pin`` is the hash in its .dvc file, ``locked`` the revision in params.lock.yaml.
    """

    benchmark: str
    source: Mapping[str, Any]
    pin: str | None
    locked: str | None = None
    terms: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """Resources of a model's distinct replies over all benchmarks, in this or an earlier run.

    Tokens are None if the engine does not count them. ``usd`` is None without a price; ``priced`` replies have one.
    """

    replies: int
    seconds: float
    input_tokens: int | None
    output_tokens: int | None
    usd: float | None
    priced: int


@dataclass(frozen=True, slots=True)
class Model:
    """One model of the run.

    ``entry`` is its entry in params.yaml. ``facts`` can change a reply and ``about`` cannot; the engine records both.
    ``turns`` is the number of its turns over all benchmarks. ``computations`` has one item per benchmark that was
    answered by local weights. ``repeated`` has the replies that `known-unknowns verify` asked again.
    ``locked`` is the revision in params.lock.yaml, if the replies have that revision.
    """

    name: str
    entry: Mapping[str, Any]
    facts: Mapping[str, Any]
    about: Mapping[str, Any]
    turns: int | None
    usage: Usage | None = None
    computations: tuple[Computation, ...] = ()
    locked: str | None = None
    repeated: tuple[RepeatedAnswers, ...] = ()

    @property
    def scripted(self) -> bool:
        return self.entry.get("engine") == "respondent"


@dataclass(frozen=True, slots=True)
class RunDescription:
    """What a run was made from, for the page of its provenance."""

    edition: str
    seeds: tuple[int, ...]
    samples: Mapping[str, int]
    statistics: Mapping[str, Any]
    data: tuple[Data, ...]
    models: tuple[Model, ...]
    versions: Mapping[str, str]
    commit: str | None
    dirty: bool | None


def describe_run(params: Params, *, results: Path, data: Path, root: Path) -> RunDescription:
    """Describe a run. Absent parts (no commit, no pin, no engine.json) are None.

    Raises DataError for an invalid pin or engine.json, and ConfigError for an invalid lock.
    """
    commit, dirty = provenance.git_state(root)
    locks = lock_file.read(root / lock_file.PATH)
    return RunDescription(
        edition=params.edition,
        seeds=tuple(params.seeds),
        samples={model: count for model in params.models if (count := params.samples(model)) > 1},
        statistics=params.statistics.as_dict(),
        data=tuple(_data(benchmark, params.data(benchmark), data, locks) for benchmark in params.benchmarks),
        models=tuple(_model(params, model, results, locks) for model in params.models),
        versions=provenance.package_versions(PACKAGES),
        commit=commit,
        dirty=dirty,
    )


def _data(benchmark: str, entry: DataEntry, data: Path, locks: Mapping[str, lock_file.LockEntry]) -> Data:
    source = lock_file.data_source(benchmark, entry)
    locked = locks.get(source.key) if source else None
    full_names = [str(locks[of.key].commit) for of in lock_file.released_sources(entry) if of.key in locks]
    pin = provenance.dvc_hash(data / "raw" / benchmark)
    terms = _readable(licences.terms_of(benchmark, entry).as_dict())
    return Data(benchmark, entry.as_dict(), pin, locked.describe() if locked else ", ".join(full_names) or None, terms)


def _readable(terms: Mapping[str, Any]) -> dict[str, Any]:
    """Return terms of use with the names and values that a reader sees."""
    names = {"redistribute": "may be redistributed", "why": "reason"}
    values = {key: ("yes" if value else "no") if isinstance(value, bool) else value for key, value in terms.items()}
    return {names.get(key, key): value for key, value in values.items()}


def _model(params: Params, model: str, results: Path, locks: Mapping[str, lock_file.LockEntry]) -> Model:
    """Describe a model. Its facts are those of its first benchmark; they do not differ between benchmarks."""
    engines, again = [], list[RepeatedAnswers]()
    for benchmark in params.benchmarks:
        path = replies_table(results / "replies", model, benchmark).with_name("engine.json")
        if path.is_file():
            engines.append(json_files.read(path))
            found = read_summary(results / "verify", model, benchmark, engines[-1].get("facts", {}))
            again += repeated(found) if found else ()
    first = engines[0] if engines else {}
    turns = sum(engine.get("turns", 0) for engine in engines) if engines else None
    about = {name: value for name, value in first.get("about", {}).items() if name not in SECTIONS}
    told = [
        computation(model, engine.get("benchmark", ""), engine.get("about", {}), params.statistics.confidence)
        for engine in engines
    ]
    facts = first.get("facts", {})
    source = lock_file.model_source(params.model(model))
    locked = locks.get(source.key) if source else None
    return Model(
        name=model,
        entry=params.model(model).as_dict(),
        facts=facts,
        about=about,
        turns=turns,
        usage=_usage(engines),
        computations=tuple(part for part in told if part is not None),
        locked=locked.describe() if locked and facts.get("revision") == locked.commit else None,
        repeated=tuple(again),
    )


def _usage(engines: Sequence[Mapping[str, Any]]) -> Usage | None:
    """Return the sums over benchmarks, or None if a record of an engine has no usage."""
    records = [engine["spent"] for engine in engines if engine.get("spent")]
    if not records or len(records) < len(engines):
        return None
    costs = [record["usd"] for record in records if record["usd"] is not None]
    return Usage(
        replies=sum(record["replies"] for record in records),
        seconds=sum(engine.get("reply_seconds", 0.0) for engine in engines),
        input_tokens=sum(record["input_tokens"] or 0 for record in records) or None,
        output_tokens=sum(record["output_tokens"] or 0 for record in records) or None,
        usd=sum(costs) if costs else None,
        priced=sum(record["priced"] for record in records),
    )
