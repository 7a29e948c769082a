"""What the runs of a model, and of a benchmark and seed below it, hold. No MLflow here.

The MLflow metrics of a model are the primary number of each benchmark with its interval, under names that fit into the
head of a column. Those of a benchmark and seed are the headline metrics of every variant. All other numbers are in the
tables ``headline.json``, ``combined.json`` and ``metrics.json``, in the format of MLflow's tables, which its UI shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import Any

from known_unknowns import json_files, tables
from known_unknowns.benchmark import registry
from known_unknowns.config import GitData, HubData, Params, ReleasedData
from known_unknowns.data.provenance import data_digest
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import DataError
from known_unknowns.metrics import summary
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.records import OVERALL, Cell, Metric, Repeat
from known_unknowns.tables import confidence_sources
from known_unknowns.variants.of_benchmark import content_free
from known_unknowns.version import __version__

_DIGEST_LENGTH = 36  # MLflow's limit for the digest of a data set, and the length of a folder's DVC hash ("<md5>.dir")
_DIGITS = 4
"""Digits of a number in MLflow's pages, which show them all. The tables have more."""
_AREA = "auroc."
"""Begins the names of the AUROC of each source of a confidence."""
_AREA_HEADS = {
    confidence_sources.OPTION_TEXT: "AUC text",
    confidence_sources.OPTION_TEXT_SUM: "AUC sum",
    confidence_sources.LETTERS: "AUC let",
    confidence_sources.SAMPLES: "AUC smp",
    confidence_sources.VERBALISED: "AUC verb",
    confidence_sources.REFUSAL: "AUC ref",
}
"""The AUROC of each source in the head of a column."""
_FORBIDDEN = re.compile(r"[^\w\-. ]")  # MLflow also allows ":", and "/", which groups charts by what is before it


@dataclass(frozen=True)
class Column:
    """A number of the runs of models. ``head`` is its name there, ``label`` says what it is.

    With ".high", a head has at most 13 characters if the benchmark has a short name: MLflow's columns show no more.
    """

    head: str
    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    is_primary: bool = False
    lower_is_better: bool = False

    @property
    def names(self) -> tuple[str, str, str]:
        """Names of the metrics: the value, and the bounds of its interval."""
        return self.head, f"{self.head}.low", f"{self.head}.high"

    def metrics(self) -> dict[str, float]:
        """Return the value and its interval, as far as they are defined."""
        return _values(dict(zip(self.names, (self.value, self.low, self.high), strict=True)))


@dataclass(frozen=True)
class RunContents:
    """What a run holds, and the runs below it.

    ``level`` is "model" or "seed", and the name is unique among the runs of a model. ``columns`` describe the metrics
    of a model. ``place`` is the benchmark, seed and sample of a run below it, and ``replies`` are its questions,
    replies and answers by variant. ``dataset`` has the arguments of MLflow's ``Dataset``.
    """

    level: str
    name: str
    parameters: dict[str, str]
    metrics: dict[str, float]
    artifacts: dict[str, str]
    tags: dict[str, str] = field(default_factory=dict)
    columns: Sequence[Column] = ()
    place: Mapping[str, str | int] = field(default_factory=dict)
    replies: Mapping[str, tuple[tables.Part, tables.Part, tables.Part]] = field(default_factory=dict)
    dataset: Mapping[str, str] = field(default_factory=dict)
    below: Sequence[RunContents] = ()

    def digest(self) -> str:
        """Return a sha256 of what these runs hold, and of the version of this package. It is the same in any folder."""
        content: list[Any] = [__version__]
        files: dict[Path, None] = {}
        for run in (self, *self.below):
            content += [run.name, run.parameters, run.metrics, run.artifacts, run.tags]
            for parts in run.replies.values():
                files |= dict.fromkeys(part.path for part in parts)
        content += [sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()]
        return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class ModelResults:
    """The results of a model. ``files`` are its tables of metrics by benchmark; the folders are the edition's."""

    def __init__(self, params: Params, model: str, files: Mapping[str, Path], results: Path, data: Path) -> None:
        self._params, self._model, self._files, self._data = params, model, files, data
        self._edition = EditionFiles(data, results)
        self._parser = summary.main_parser(params.parsers)
        self._metrics = {benchmark: tables.read_metrics(file) for benchmark, file in files.items()}
        for benchmark, rows in self._metrics.items():
            if {(m.model, m.benchmark) for m in rows} != {(model, benchmark)}:
                raise DataError(f"not metrics of {model} on {benchmark}", file=files[benchmark])

    def contents(self) -> RunContents:
        """Return the contents of the model's run, with those of the runs of its benchmarks and seeds below it."""
        entry = self._params.model(self._model)
        used = entry.reply_keys()
        unused = {key: value for key, value in entry.plain().items() if key not in used}
        names = {"edition": self._params.edition, "model": self._model}
        rows: list[dict[str, Any]] = []
        columns: list[Column] = []
        for benchmark, metrics in self._metrics.items():
            overall = [metric for metric in MetricIndex(metrics) if metric.category == OVERALL]
            rows += summary.leaderboard_rows(self._params, self._model, benchmark, overall)
            columns += self._columns(benchmark, overall)
        shown = summary.COLUMNS[1:]
        artifacts = {"headline.json": table(shown, ([row[column] for column in shown] for row in rows))}
        means = [metric for metrics in self._metrics.values() for metric in metrics if metric.repeat is None]
        if means:
            artifacts["combined.json"] = metric_table(means)
        return RunContents(
            level="model",
            name=self._model,
            parameters=texts({"model": used}) | names,
            metrics={name: value for column in columns for name, value in column.metrics().items()},
            artifacts=artifacts,
            tags=texts({"model": unused, "baseline": entry.engine == "respondent"}),
            columns=columns,
            below=[run for benchmark in self._files for run in self._seeds(names | {"benchmark": benchmark})],
        )

    def _columns(self, benchmark: str, metrics: Sequence[Metric]) -> list[Column]:
        """Return the primary number of a benchmark, the share of unusable replies to it, and each AUROC.

        ``metrics`` are those over all questions, one row each. The AUROC is of the variant and the parser of the other
        headline numbers.
        """
        declared = registry.get(benchmark)
        short = allowed_name(declared.short or benchmark)
        columns = []
        measured = summary.headline_of(self._params, benchmark, summary.lookup_in(metrics))
        primary = next((each for each in measured if each.number.ranks and each.metric.value is not None), None)
        if primary is not None:
            number, metric = primary.number, primary.metric
            head = f"{short} {number.short or number.name}"
            label = f"{declared.title}, {number.label}"
            interval = {"low": metric.low, "high": metric.high}
            columns.append(
                Column(head, label, metric.value, **interval, is_primary=True, lower_is_better=number.lower_is_better)
            )
            if primary.unusable is not None:
                label = f"{declared.title}, share of unusable replies"
                columns.append(Column(f"{short} unusable", label, primary.unusable.share))
        place = (summary.main_variant(self._params, benchmark), self._parser)
        for metric in metrics:
            if (metric.variant, metric.parser) == place and metric.name.startswith(_AREA):
                source = metric.name.removeprefix(_AREA)
                label = f"{declared.title}, AUROC of the confidence {source}, {metric.variant}"
                columns.append(Column(f"{short} {_AREA_HEADS.get(source, source)}", label, metric.value))
        return columns

    def _seeds(self, names: dict[str, str]) -> list[RunContents]:
        """Return the contents of the runs of a benchmark, one for each seed, or each seed and sample."""
        benchmark = names["benchmark"]
        engine = json_files.read(self._edition.engine(self._model, benchmark))
        # How many turns one job asked says nothing of the replies: files that are made again are not other runs.
        engine.pop("newly_asked", None)
        entry = self._params.data(benchmark)
        digest, pinned = data_digest(self._data, benchmark)
        digest = digest[:_DIGEST_LENGTH]
        kind, source = "local", {"uri": str(self._data / "raw" / benchmark)}
        if isinstance(entry, HubData | GitData | ReleasedData):
            kind, source = "hugging_face", {"path": entry.repository, "revision": entry.revision}
        settings = {
            "engine": engine.get("facts", {}),
            "data": {**entry.plain(), "digest": digest, "pinned": pinned},
            "statistics": self._params.statistics.plain(),
            "parsers": ", ".join(self._params.parsers),
        }
        cells: dict[Repeat, list[Cell]] = {}
        for cell in self._params.cells(benchmark, self._model):
            cells.setdefault(cell.repeat, []).append(cell)
        metrics: dict[Repeat | None, list[Metric]] = {}
        for metric in self._metrics[benchmark]:
            metrics.setdefault(metric.repeat, []).append(metric)
        runs = []
        for repeat, of_repeat in cells.items():
            measured = metrics.get(repeat, [])
            run = RunContents(
                level="seed",
                name=f"{self._model}, {benchmark}, {repeat}",
                parameters=texts(settings) | names | self._settings(benchmark, repeat, of_repeat),
                metrics=self._variants(benchmark, of_repeat, measured),
                artifacts={"metrics.json": metric_table(measured), "engine.json": json.dumps(engine, indent=2)},
                tags=texts({"engine.about": engine.get("about", {})}),
                place={"benchmark": benchmark, **repeat._asdict()},
                replies={cell.variant: self._replies(benchmark, cell) for cell in of_repeat},
                dataset={"name": benchmark, "digest": digest, "source_type": kind, "source": json.dumps(source)},
            )
            runs.append(run)
        return runs

    def _settings(self, benchmark: str, repeat: Repeat, cells: Iterable[Cell]) -> dict[str, str]:
        """Return the seed, the sample if there are several, and the settings of each variant below its name."""
        settings: dict[str, Any] = {"seed": repeat.seed}
        if self._params.samples(self._model) > 1:
            settings["sample"] = repeat.sample
        for cell in cells:
            protocol = self._params.protocol(benchmark, cell.variant)
            of_protocol = {"protocol": {"name": protocol.name, **protocol.arguments}}
            settings[cell.variant] = self._params.variant(cell.variant).plain() | of_protocol
        return texts(settings)

    def _variants(self, benchmark: str, cells: Iterable[Cell], metrics: Iterable[Metric]) -> dict[str, float]:
        """Return the headline metrics of each variant and pair of variants, whose name is their prefix."""
        free = content_free(self._params, benchmark)
        overall: dict[str, list[Metric]] = {}
        for metric in metrics:
            if metric.category == OVERALL:
                overall.setdefault(metric.variant, []).append(metric)
        for cell in cells:
            if cell.variant not in overall:
                raise DataError(f"has no metric of {cell}", file=self._files[benchmark])
        values: dict[str, float] = {}
        for variant, rows in overall.items():
            shown = summary.variant_headline(rows, self._parser, free)
            areas = [m for m in rows if m.parser == self._parser and m.name.startswith(_AREA)]
            shown |= {m.name: m for m in areas if summary.shows(m, free)}
            prefix = allowed_name(variant)
            values |= _values({f"{prefix}/{allowed_name(name)}": metric.value for name, metric in shown.items()})
        return values

    def _replies(self, benchmark: str, cell: Cell) -> tuple[tables.Part, tables.Part, tables.Part]:
        """Return the questions of a cell, the replies to them and the answers."""
        asked = self._edition.asked(benchmark, cell.variant, cell.seed)
        replies = tables.Part(self._edition.replies(self._model, benchmark), cell)
        return asked, replies, tables.Part(self._edition.answers(self._model, benchmark), cell)


def _values(values: Mapping[str, float | None]) -> dict[str, float]:
    """Return the defined values, rounded."""
    return {name: round(float(value), _DIGITS) for name, value in values.items() if value is not None}


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
    columns = [column.name for column in fields(Metric)][1:]  # the model is the run's
    return table(columns, map(attrgetter(*columns), metrics))


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table in MLflow's format. `MlflowClient.log_table` would round numbers to ten digits."""
    return json.dumps({"columns": columns, "data": list(rows)}, allow_nan=False)
