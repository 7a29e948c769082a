"""What the runs of a model, a benchmark and a cell hold. No MLflow here.

The MLflow metrics are the headline metrics (`known_unknowns.metrics.summary`). All other numbers are in the tables
``metrics.json``, ``combined.json`` and ``headline.json``, in the format of MLflow's tables, which its UI shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from known_unknowns import __version__, json_files, tables
from known_unknowns.config import Params
from known_unknowns.data.provenance import data_digest
from known_unknowns.errors import DataError
from known_unknowns.metrics import headline, summary
from known_unknowns.metrics.dual import DUAL
from known_unknowns.records import OVERALL, Metric
from known_unknowns.scoring.reply_rows import reply_rows

_DIGEST_LENGTH = 36  # MLflow's limit for the digest of a data set, and the length of a folder's DVC hash ("<md5>.dir")
_FORBIDDEN = re.compile(r"[^\w\-. ]")  # MLflow also allows "/" and ":", from which some of its stores make paths


class RunContents(NamedTuple):
    """What a run holds. ``path`` is the edition, model, benchmark, variant and seed, as far as the level has them."""

    path: tuple[str, ...]
    name: str
    parameters: dict[str, str]
    metrics: dict[str, float]
    artifacts: dict[str, str]
    tags: dict[str, str]


@dataclass(frozen=True)
class ModelResults:
    """The results of a model. ``files`` are its tables of metrics by benchmark; the folders are the edition's."""

    params: Params
    model: str
    files: Mapping[str, Path]
    results: Path
    data: Path

    def of_model(self) -> RunContents:
        """Return the contents of the model's run."""
        numbers = summary.model_headline(self._headline, self._scorer)
        settings = self.params.model(self.model)
        unused = {key: value for key, value in settings.items() if key in settings.not_in_the_reply}
        used = {key: value for key, value in settings.items() if key not in unused}
        columns, rows = summary.headline_rows(self._headline)
        return RunContents(
            path=(self.params.edition, self.model),
            name=self.model,
            parameters={"edition": self.params.edition, **texts({"model": used}), "model": self.model},
            metrics=_values(numbers, with_interval=[f"{benchmark}.accuracy" for benchmark in self.files]),
            artifacts={"headline.json": _table(columns, ([row.get(c) for c in columns] for row in rows))},
            tags=texts({"model": unused}),
        )

    def of_benchmark(self, benchmark: str) -> RunContents:
        """Return the contents of the run of a benchmark: its main variant as metrics, all variants as tables."""
        cells = self.params.cells(benchmark, self.model)
        chosen = [m for m in self._headline if m.benchmark == benchmark]
        file = self._engine_file(benchmark)
        engine = json_files.read(file)
        artifacts = {"headline.json": metric_table(chosen), "engine.json": file.read_text(encoding="utf-8")}
        if combined := [m for m in self._metrics[benchmark] if (m.variant, m.seed) not in cells]:
            artifacts["combined.json"] = metric_table(combined)  # over seeds, or of several variants
        settings = {
            "engine": engine.get("facts", {}),
            "data": {**self.params.data(benchmark), **self.pin(benchmark)},
            "statistics": self.params.statistics,
            "scorers": ", ".join(self.params.scorers),
        }
        main = self._by_name([m for m in chosen if m.variant == cells[0][0]])
        duals = {allowed_name(f"{DUAL}.{m.variant}"): m for m in chosen if (m.scorer, m.name) == (self._scorer, DUAL)}
        path = (self.params.edition, self.model, benchmark)
        return RunContents(
            path=path,
            name=benchmark,
            parameters=texts(settings) | dict(zip(("edition", "model", "benchmark"), path, strict=True)),
            metrics=_values(main | duals, with_interval=["accuracy", *duals]),
            artifacts=artifacts,
            tags=texts({"engine.about": engine.get("about", {})}),
        )

    def of_cell(self, benchmark: str, variant: str, seed: int) -> RunContents:
        """Return the contents of the run of one variant and seed."""
        metrics = [m for m in self._metrics[benchmark] if (m.variant, m.seed) == (variant, seed)]
        if not metrics:
            raise DataError(f"has no metric of variant {variant!r}, seed {seed}", file=self.files[benchmark])
        protocol = dict(self.params.protocol(benchmark, variant))
        names = {"edition": self.params.edition, "model": self.model, "benchmark": benchmark, "variant": variant}
        names["protocol"] = protocol.pop("name")
        settings = {"variant": self.params.variant(variant), "seed": seed, "protocol": protocol}
        replies = _table(*reply_rows(*self._cell_files(benchmark, variant, seed), self.params.scorers))
        return RunContents(
            path=(self.params.edition, self.model, benchmark, variant, f"seed{seed}"),
            name=f"{variant} seed {seed}",
            parameters=texts(settings) | names,
            metrics=_values(self._by_name([m for m in metrics if m.category == OVERALL])),
            artifacts={"questions.json": replies, "metrics.json": metric_table(metrics)},
            tags={},
        )

    def digest(self) -> str:
        """Return a sha256 of all that the runs are made of: settings, files, and the version of this package."""
        params, entry = self.params, self.params.model(self.model)
        settings = [__version__, params.edition, self.model, dict(entry), params.scorers, dict(params.statistics)]
        for benchmark, file in self.files.items():
            settings += [benchmark, dict(params.data(benchmark)), self.pin(benchmark)]
            files = [file, self._engine_file(benchmark)]
            for variant, seed in params.cells(benchmark, self.model):
                settings += [seed, dict(params.variant(variant)), dict(params.protocol(benchmark, variant))]
                files += self._cell_files(benchmark, variant, seed)
            settings += [sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()]
        return sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()

    def pin(self, benchmark: str) -> dict[str, Any]:
        """Return the digest of the benchmark's data, and whether DVC pins them."""
        digest, pinned = data_digest(self.data, benchmark)
        return {"digest": digest[:_DIGEST_LENGTH], "pinned": pinned}

    @cached_property
    def _metrics(self) -> dict[str, list[Metric]]:
        metrics = {benchmark: tables.read_metrics(file) for benchmark, file in self.files.items()}
        for benchmark, rows in metrics.items():
            if {(m.model, m.benchmark) for m in rows} != {(self.model, benchmark)}:
                raise DataError(f"not metrics of {self.model} on {benchmark}", file=self.files[benchmark])
        return metrics

    @cached_property
    def _headline(self) -> list[Metric]:
        return [m for rows in self._metrics.values() for m in headline(rows) if m.category == OVERALL]

    @property
    def _scorer(self) -> str:
        return summary.main_scorer(self.params.scorers)

    def _engine_file(self, benchmark: str) -> Path:
        return self.results / "replies" / self.model / benchmark / "engine.json"

    def _cell_files(self, benchmark: str, variant: str, seed: int) -> tuple[Path, Path, Path]:
        """Return the tables of questions, replies and scores."""
        part = Path(benchmark, variant, f"seed{seed}.parquet")
        replies, scores = (self.results / table / self.model / part for table in ("replies", "scores"))
        return self.data / "questions" / part, replies, scores

    def _by_name(self, metrics: Iterable[Metric]) -> dict[str, Metric]:
        """Return the headline metrics by name: ``accuracy`` of the main scorer, ``official.accuracy`` of another."""
        found: dict[str, Metric] = {}
        for m in metrics:
            names = set(summary.headline_metrics(m.benchmark))
            if m.name not in (names if m.scorer == self._scorer else names - set(summary.HEADLINE_METRICS)):
                continue
            name = allowed_name(m.name if m.scorer == self._scorer else f"{m.scorer}.{m.name}")
            if name in found:
                raise DataError(f"variant {m.variant!r}: two metrics are named {name!r}", file=self.files[m.benchmark])
            found[name] = m
        return found


def _values(metrics: Mapping[str, Metric], with_interval: Sequence[str] = ()) -> dict[str, float]:
    """Return the defined values by name; those of ``with_interval`` also with ``.low``, ``.high`` and ``.n``."""
    values = {name: m.value for name, m in metrics.items()}
    for name, m in metrics.items():
        if name in with_interval and m.value is not None:
            values |= {f"{name}.low": m.low, f"{name}.high": m.high, f"{name}.n": m.n}
    return {name: float(value) for name, value in values.items() if value is not None}


def texts(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Flatten nested mappings to dotted names that MLflow allows, with text values."""
    found: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= texts(value, f"{prefix}{name}.")
        else:
            found[allowed_name(prefix + name)] = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return found


def allowed_name(name: str) -> str:
    """Return ``name`` with each character that MLflow forbids in names replaced by "_"."""
    return _FORBIDDEN.sub("_", name)


def metric_table(metrics: Iterable[Metric]) -> str:
    """Return metrics as an MLflow table; undefined values are null."""
    columns = [field.name for field in fields(Metric)][2:]  # the model and the benchmark are the run's
    return _table(columns, map(attrgetter(*columns), metrics))


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    return json.dumps({"columns": columns, "data": list(rows)}, allow_nan=False)
