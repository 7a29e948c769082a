"""Cells: one model x benchmark x variant x seed each, and what the run of a cell is to hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from known_unknowns import tables
from known_unknowns.config import NOT_IN_THE_REPLY, Params
from known_unknowns.data.provenance import dvc_hash
from known_unknowns.errors import DataError
from known_unknowns.records import Metric
from known_unknowns.tracking import contents

DIGEST_LENGTH = 36
"""As much as MLflow accepts; a folder's DVC hash ("<md5>.dir") has exactly that."""


@dataclass(frozen=True, slots=True)
class Cell:
    edition: str
    model: str
    benchmark: str
    variant: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.edition}/{self.model}/{self.benchmark}/{self.variant}/seed{self.seed}"


@dataclass(frozen=True)
class Table:
    """A table of metrics: one model on one benchmark, every variant and seed."""

    file: Path
    model: str
    benchmark: str
    metrics: tuple[Metric, ...]

    def of(self, cell: Cell) -> list[Metric]:
        return [m for m in self.metrics if (m.variant, m.seed) == (cell.variant, cell.seed)]


@dataclass(frozen=True, slots=True)
class Pin:
    """The data of a benchmark. ``digest`` is the DVC hash of the published files, or, where they are not
    ``pinned``, the start of the sha256 of the question table; ``source`` is a path or a hub's repository."""

    benchmark: str
    digest: str
    pinned: bool
    source: str
    hub_revision: str | None
    questions: Path


@dataclass(frozen=True)
class Entry:
    """What the run of a cell is to hold. ``artifacts`` maps file names to bytes."""

    cell: Cell
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    description: str
    artifacts: Mapping[str, bytes]
    pin: Pin

    @property
    def job_key(self) -> str:
        """A sha256 over the parameters: the run's identity."""
        return _digest(dict(self.parameters))

    @property
    def content(self) -> str:
        """A sha256 over all that the tables say: a run that has it needs no update."""
        files = {name: sha256(data).hexdigest() for name, data in self.artifacts.items()}
        return _digest([self.job_key, dict(self.metrics), dict(self.tags), self.description, files])


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def read_tables(files: Iterable[Path]) -> list[Table]:
    """Read tables of metrics, each of one model and one benchmark; DataError otherwise."""
    found: dict[tuple[str, str], Table] = {}
    for file in map(Path, files):
        metrics = tables.read_metrics(file)
        pairs = sorted({(m.model, m.benchmark) for m in metrics})
        if len(pairs) != 1:
            raise DataError(f"holds {len(pairs)} pairs of a model and a benchmark, not one", file=file)
        if pairs[0] in found:
            raise DataError(f"has the same model and benchmark as {found[pairs[0]].file}", file=file)
        found[pairs[0]] = Table(file, *pairs[0], tuple(metrics))
    return list(found.values())


def cells_of(params: Params, found: Iterable[Table]) -> list[tuple[Cell, Table]]:
    """Every cell of the tables, in the order of params.yaml. DataError for a cell without metrics."""

    def place(table: Table) -> tuple[bool, int, bool, int]:
        return *_place(table.benchmark, params.benchmarks), *_place(table.model, params.models)

    pairs = []
    for table in sorted(found, key=place):
        for variant, seed in params.cells(table.benchmark, table.model):
            cell = Cell(params.edition, table.model, table.benchmark, variant, seed)
            if not table.of(cell):
                raise DataError(f"has no metric of variant {variant!r}, seed {seed}", file=table.file)
            pairs.append((cell, table))
    return pairs


def _place(name: str, names: list[str]) -> tuple[bool, int]:
    return (False, names.index(name)) if name in names else (True, 0)


def read_pin(params: Params, benchmark: str, *, data: Path) -> Pin:
    """Where the benchmark's data come from. ``data`` is the edition's data folder."""
    raw, questions = data / "raw" / benchmark, data / "questions" / benchmark / "questions.parquet"
    entry, pinned = params.data(benchmark), dvc_hash(raw)
    if pinned is None and not questions.is_file():
        raise DataError("no such file", file=questions)
    digest = pinned or sha256(questions.read_bytes()).hexdigest()
    return Pin(
        benchmark=benchmark,
        digest=digest[:DIGEST_LENGTH],
        pinned=pinned is not None,
        source=entry.get("repository", str(raw)),
        hub_revision=entry["revision"] if "repository" in entry else None,
        questions=questions,
    )


def read_entry(params: Params, cell: Cell, table: Table, pin: Pin, *, results: Path, data: Path) -> Entry:
    """Read all that the run of a cell is to hold. ``results`` and ``data`` are the edition's folders."""
    part = f"{cell.variant}/seed{cell.seed}.parquet"
    replies = results / "replies" / cell.model / cell.benchmark
    scores = results / "scores" / cell.model / cell.benchmark / part
    engine_file = replies / "engine.json"
    engine = _read_engine(engine_file)
    metrics = table.of(cell)
    parameters = _parameters(params, cell, pin, engine.get("facts", {}))
    questions = contents.question_table(
        tables.read_questions(data / "questions" / cell.benchmark / part),
        tables.read_replies(replies / part),
        tables.read_scores(scores),
        params.scorers,
        file=scores,
    )
    return Entry(
        cell=cell,
        parameters=parameters,
        metrics=contents.metric_values(metrics, file=table.file),
        tags=_tags(params, cell, engine.get("about", {})),
        description=_describe(cell, parameters, metrics),
        artifacts={
            "questions.json": questions,
            "metrics.csv": contents.metric_table(metrics),
            "engine.json": engine_file.read_bytes(),
        },
        pin=pin,
    )


def _read_engine(file: Path) -> dict[str, Any]:
    try:
        engine = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"not the record of an engine ({error}); delete it and run again", file=file) from error
    if not isinstance(engine, dict):
        raise DataError("not the record of an engine; delete it and run again", file=file)
    return engine


def _parameters(params: Params, cell: Cell, pin: Pin, facts: Mapping[str, Any]) -> dict[str, str]:
    """All that makes this run another one than its neighbours, flattened to dotted names."""
    model = {k: v for k, v in params.model(cell.model).items() if k not in NOT_IN_THE_REPLY}
    protocol = params.protocol(cell.benchmark, cell.variant)
    parameters: dict[str, Any] = {
        "edition": cell.edition,
        "model": cell.model,
        "benchmark": cell.benchmark,
        "variant": cell.variant,
        "seed": cell.seed,
        "protocol": protocol.pop("name"),
        "scorers": ", ".join(params.scorers),
    }
    sections = {
        "model": model,
        "engine": facts,
        "variant": params.variant(cell.variant),
        "protocol": protocol,
        "data": {**params.data(cell.benchmark), "digest": pin.digest, "pinned": pin.pinned},
        "statistics": params.statistics,
    }
    for name, section in sections.items():
        parameters |= _flat(section, name)
    return {contents.allowed_name(name): _text(value) for name, value in parameters.items()}


def _tags(params: Params, cell: Cell, about: Mapping[str, Any]) -> dict[str, str]:
    model = {k: v for k, v in params.model(cell.model).items() if k in NOT_IN_THE_REPLY}
    tags = dict(_flat(model, "model")) | dict(_flat(about, "engine.about"))
    return {contents.allowed_name(name): _text(value) for name, value in tags.items()}


def _describe(cell: Cell, parameters: Mapping[str, str], metrics: Iterable[Metric]) -> str:
    title = f"{cell.model} answers {cell.benchmark}, variant {cell.variant}, seed {cell.seed} ({cell.edition} edition)"
    facts = {}
    for section in ("model", "variant", "protocol", "data", "statistics"):
        dotted = [(n.removeprefix(f"{section}."), v) for n, v in parameters.items() if n.startswith(f"{section}.")]
        named = [parameters[section]] if section in parameters else []
        facts[section] = ", ".join(named + [f"{name} {value}" for name, value in dotted])
    return contents.description(title, facts, metrics)


def _flat(section: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in section.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}.{name}")
        else:
            yield f"{prefix}.{name}", value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
