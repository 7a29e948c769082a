"""What the runs of a model, a benchmark and a cell hold. No MLflow here.

The MLflow metrics of a model and a benchmark are the headline numbers (`known_unknowns.metrics.summary`), those of a
cell the headline metrics. Intervals, n and all other numbers are in the tables ``headline.json``, ``combined.json`` and
``metrics.json``, in the format of MLflow's tables, which its UI shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import Any

from known_unknowns import json_files, tables
from known_unknowns.config import GitData, HubData, Params, ReleasedData
from known_unknowns.data.provenance import data_digest
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import DataError
from known_unknowns.metrics import summary
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.records import OVERALL, Cell, Metric
from known_unknowns.variants.of_benchmark import content_free
from known_unknowns.version import __version__

_DIGEST_LENGTH = 36  # MLflow's limit for the digest of a data set, and the length of a folder's DVC hash ("<md5>.dir")
_DIGITS = 4
"""Digits of a number in MLflow's pages, which show them all. The tables have more."""
AREA = "auroc."
"""Begins the names of the AUROC of each source of a confidence."""
_FORBIDDEN = re.compile(r"[^\w\-. ]")  # MLflow also allows "/" and ":", from which some of its stores make paths


@dataclass(frozen=True)
class RunContents:
    """What a run holds, and the runs below it.

    ``path`` is the edition, model, benchmark, variant and seed, as far as the level has them. ``replies`` are the
    questions, replies and scores of a cell. ``dataset`` has the arguments of MLflow's ``Dataset``.
    """

    path: tuple[str, ...]
    name: str
    parameters: dict[str, str]
    metrics: dict[str, float]
    artifacts: dict[str, str]
    tags: dict[str, str] = field(default_factory=dict)
    replies: tuple[tables.Part, tables.Part, tables.Part] | None = None
    dataset: Mapping[str, str] = field(default_factory=dict)
    below: Sequence[RunContents] = ()

    def tree(self) -> Iterator[RunContents]:
        """Yield this run and all runs below it."""
        yield self
        for run in self.below:
            yield from run.tree()

    def digest(self) -> str:
        """Return a sha256 of what these runs hold, and of the version of this package. It is the same in any folder."""
        found: list[Any] = [__version__]
        for run in self.tree():
            found += [run.path, run.parameters, run.metrics, run.artifacts, run.tags]
        files = dict.fromkeys(part.path for run in self.tree() for part in run.replies or () if part.path.is_file())
        found += [sha256(file.read_bytes()).hexdigest() for file in files]
        return sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


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
        self._headline = [m for rows in self._metrics.values() for m in MetricIndex(rows) if m.category == OVERALL]

    def contents(self) -> RunContents:
        """Return the contents of the model's run, with those of the runs of its benchmarks and cells below it."""
        entry = self._params.model(self._model)
        used = entry.reply_keys()
        unused = {key: value for key, value in entry.plain().items() if key not in used}
        names = {"edition": self._params.edition, "model": self._model}
        rows = [row for benchmark in self._files for row in self._rows(benchmark)]
        records = {name: self._record(name) for name in self._files}
        columns = summary.COLUMNS[1:]
        return RunContents(
            path=tuple(names.values()),
            name=self._model,
            parameters=texts({"model": used}) | names,
            metrics=_values({f"{name}.{key}": v for name, record in records.items() for key, v in record.items()}),
            artifacts={"headline.json": table(columns, ([row[c] for c in columns] for row in rows))},
            tags=texts({"model": unused, "baseline": entry.engine == "respondent"}),
            below=[self._benchmark(names | {"benchmark": name}) for name in self._files],
        )

    def _rows(self, benchmark: str) -> list[dict[str, Any]]:
        """Return the headline numbers of a benchmark, as rows of the leaderboard."""
        of_benchmark = (metric for metric in self._headline if metric.benchmark == benchmark)
        return summary.leaderboard_rows(self._params, self._model, benchmark, of_benchmark)

    def _record(self, benchmark: str) -> dict[str, float | None]:
        """Return the headline numbers of a benchmark, and the AUROC by source and variant: that of these numbers."""
        record = summary.by_benchmark(self._rows(benchmark)).get(benchmark, {})
        place = (benchmark, summary.main_variant(self._params, benchmark), self._parser)
        for metric in self._headline:
            if (metric.benchmark, metric.variant, metric.parser) == place and metric.name.startswith(AREA):
                record[f"{metric.name}.{metric.variant}"] = metric.value
        return record

    def _benchmark(self, names: dict[str, str]) -> RunContents:
        """Return the contents of the run of a benchmark: its headline numbers as metrics, all variants as tables."""
        benchmark = names["benchmark"]
        cells = self._params.cells(benchmark, self._model)
        file = self._edition.engine(self._model, benchmark)
        engine, entry = json_files.read(file), self._params.data(benchmark)
        free = content_free(self._params, benchmark)
        chosen = [m for m in self._headline if m.benchmark == benchmark and summary.shows(m, free)]
        # How many turns one job asked says nothing of the replies: files that are made again are not other runs.
        kept = {key: value for key, value in engine.items() if key != "newly_asked"}
        artifacts = {"headline.json": metric_table(chosen), "engine.json": json.dumps(kept, indent=2)}
        if combined := [m for m in self._metrics[benchmark] if (m.variant, m.seed, m.sample) not in cells]:
            artifacts["combined.json"] = metric_table(combined)  # over seeds, or of several variants
        digest, pinned = data_digest(self._data, benchmark)
        digest = digest[:_DIGEST_LENGTH]
        kind, source = "local", {"uri": str(self._data / "raw" / benchmark)}
        if isinstance(entry, HubData | GitData | ReleasedData):
            kind, source = "hugging_face", {"path": entry.repository, "revision": entry.revision}
        settings = {
            "engine": engine.get("facts", {}),
            "data": {**entry.plain(), "digest": digest, "pinned": pinned},
            "statistics": self._params.statistics.plain(),
        }
        count = self._params.samples(self._model)
        samples = {"samples": str(count)} if count > 1 else {}
        return RunContents(
            path=tuple(names.values()),
            name=f"{self._model}, {benchmark}",
            parameters=texts(settings) | {"parsers": ", ".join(self._params.parsers)} | names | samples,
            metrics=_values(self._record(benchmark)),
            artifacts=artifacts,
            tags=texts({"engine.about": engine.get("about", {})}),
            dataset={"name": benchmark, "digest": digest, "source_type": kind, "source": json.dumps(source)},
            below=[self._cell(names | {"variant": cell.variant}, cell) for cell in cells],
        )

    def _cell(self, names: dict[str, str], cell: Cell) -> RunContents:
        benchmark, variant = names["benchmark"], cell.variant
        metrics = [m for m in self._metrics[benchmark] if (m.variant, m.seed, m.sample) == cell]
        if not metrics:
            raise DataError(f"has no metric of {cell}", file=self._files[benchmark])
        protocol = self._params.protocol(benchmark, variant)
        settings: dict[str, Any] = {"variant": self._params.variant(variant).plain(), "seed": cell.seed}
        settings |= {"protocol": protocol.arguments}
        settings |= {"sample": cell.sample} if self._params.samples(self._model) > 1 else {}
        replies, answers = (of(self._model, benchmark) for of in (self._edition.replies, self._edition.answers))
        overall = (m for m in metrics if m.category == OVERALL)
        shown = summary.variant_headline(overall, self._parser, content_free(self._params, benchmark))
        return RunContents(
            path=(*names.values(), cell.repeat.slug),
            name=f"{self._model}, {benchmark}, {cell}",
            parameters={"protocol": protocol.name, **texts(settings), **names},
            metrics=_values({name: m.value for name, m in shown.items()}),
            artifacts={"metrics.json": metric_table(metrics)},
            replies=(
                self._edition.asked(benchmark, variant, cell.seed),
                tables.Part(replies, cell),
                tables.Part(answers, cell),
            ),
        )


def _values(values: Mapping[str, float | None]) -> dict[str, float]:
    """Return the defined values, rounded, by names that MLflow allows."""
    return {allowed_name(name): round(float(value), _DIGITS) for name, value in values.items() if value is not None}


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
    columns = [column.name for column in fields(Metric)][2:]  # the model and the benchmark are the run's
    return table(columns, map(attrgetter(*columns), metrics))


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table in MLflow's format. `MlflowClient.log_table` would round numbers to ten digits."""
    return json.dumps({"columns": columns, "data": list(rows)}, allow_nan=False)
