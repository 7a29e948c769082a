"""What the runs of a model, a benchmark and a cell hold. No MLflow here.

The MLflow metrics are the headline metrics (`known_unknowns.metrics.summary`). All other numbers are in the tables
``metrics.json`` and ``headline.json``, in the format of MLflow's tables, which its UI shows.
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

from known_unknowns import tables
from known_unknowns.config import NOT_IN_THE_REPLY, Params
from known_unknowns.data.provenance import dvc_hash
from known_unknowns.errors import DataError
from known_unknowns.metrics import headline, summary
from known_unknowns.metrics.dual import DUAL
from known_unknowns.records import OVERALL, Metric
from known_unknowns.scoring import has_input
from known_unknowns.scoring.table import read_turns

DIGEST_LENGTH = 36
"""MLflow's limit for the digest of a data set, which is also the length of a folder's DVC hash ("<md5>.dir")."""

_FORBIDDEN = re.compile(r"[^\w\-. ]")  # MLflow also allows "/" and ":", from which some of its stores make paths


@dataclass(frozen=True, slots=True)
class PinnedData:
    """The data of a benchmark.

    ``digest`` is the DVC hash of the published files, or the start of the sha256 of the question table if they are
    not ``pinned``. ``source`` is a path or a repository of the hub.
    """

    benchmark: str
    digest: str
    pinned: bool
    source: str
    hub_revision: str | None
    questions: Path


@dataclass(frozen=True, kw_only=True)
class RunContents:
    """What a run holds.

    ``path`` is the edition and the names of the model, benchmark, variant and seed, as far as the level has them.
    ``artifacts`` maps file names to bytes; those that end in "table.json" are MLflow tables.
    """

    path: tuple[str, ...]
    name: str
    parent_key: str = ""
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str] = field(default_factory=dict)
    description: str
    artifacts: Mapping[str, bytes]
    data: tuple[PinnedData, ...] = ()

    @property
    def level(self) -> str:
        return {2: "model", 3: "benchmark"}.get(len(self.path), "cell")

    @property
    def job_key(self) -> str:
        """A sha256 of the parameters, also those of the runs above: the identity of the run."""
        return _digest([self.parent_key, dict(self.parameters)])

    @property
    def digest(self) -> str:
        """A sha256 of everything the run holds: a run with this digest needs no update."""
        files = {name: sha256(content).hexdigest() for name, content in self.artifacts.items()}
        return _digest([self.job_key, self.name, dict(self.metrics), dict(self.tags), self.description, files])


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


class ModelContents:
    """The contents of the runs of one model: its own, one per benchmark, one per cell.

    Parameters
    ----------
    params : Params
        The configuration.
    model : str
        Name of the model.
    files : mapping of str to Path
        The model's table of metrics for each benchmark.
    pinned : mapping of str to PinnedData
        The data of each benchmark.
    results, data : Path
        The edition's folders.
    figures : mapping of str to sequence of Path
        The figures of each benchmark.

    Raises
    ------
    DataError
        If the tables do not fit together.
    """

    def __init__(
        self,
        params: Params,
        model: str,
        files: Mapping[str, Path],
        pinned: Mapping[str, PinnedData],
        *,
        results: Path,
        data: Path,
        figures: Mapping[str, Sequence[Path]],
    ) -> None:
        self.params, self.model, self.files, self.pinned = params, model, files, pinned
        self.results, self.data, self.figures = results, data, figures
        self.scorer = summary.main_scorer(params.scorers)
        self.metrics = {benchmark: tables.read_metrics(file) for benchmark, file in files.items()}
        for benchmark, metrics in self.metrics.items():
            if {(m.model, m.benchmark) for m in metrics} != {(model, benchmark)}:
                raise DataError(f"not metrics of {model} on {benchmark}", file=files[benchmark])
        chosen = [metric for metrics in self.metrics.values() for metric in headline(metrics)]
        self.headline = [metric for metric in chosen if metric.category == OVERALL]

    def of_model(self) -> RunContents:
        """Return the contents of the model's run."""
        numbers = summary.model_headline(self.headline, self.scorer)
        settings = self.params.model(self.model)
        used = {k: v for k, v in settings.items() if k not in NOT_IN_THE_REPLY}
        unused = {k: v for k, v in settings.items() if k in NOT_IN_THE_REPLY}
        accuracies = [
            numbers[name] for name in (f"{benchmark}.accuracy" for benchmark in self.files) if name in numbers
        ]
        columns, rows = summary.headline_rows(self.headline)
        return RunContents(
            path=(self.params.edition, self.model),
            name=self.model,
            parameters={"edition": self.params.edition, **_texts({"model": used}), "model": self.model},
            metrics=_with_interval(numbers, [f"{benchmark}.accuracy" for benchmark in self.files]),
            tags=_texts({"model": unused}),
            description=_accuracies("benchmark", ((m.benchmark, m) for m in accuracies)),
            artifacts={"headline.json": _table(columns, ([row.get(c) for c in columns] for row in rows))},
            data=tuple(self.pinned[benchmark] for benchmark in self.files),
        )

    def of_benchmark(self, benchmark: str, parent_key: str) -> RunContents:
        """Return the contents of the run of one benchmark: its main variant as metrics, all variants as tables."""
        variants = list(dict.fromkeys(variant for variant, _ in self.params.cells(benchmark, self.model)))
        of_benchmark = [metric for metric in self.headline if metric.benchmark == benchmark]
        main = [metric for metric in of_benchmark if metric.variant == variants[0]]
        engine, pinned = self._engine(benchmark), self.pinned[benchmark]
        cells = set(self.params.cells(benchmark, self.model))
        others = [m for m in self.metrics[benchmark] if (m.variant, m.seed) not in cells]
        artifacts = {
            "headline.json": metric_table(of_benchmark),
            "engine.json": (self._replies(benchmark) / "engine.json").read_bytes(),
        }
        if others:  # means over seeds, and combinations of variants
            artifacts["combined.json"] = metric_table(others)
        artifacts |= {f"figures/{file.name}": file.read_bytes() for file in self.figures.get(benchmark, ())}
        duals = {
            allowed_name(f"{DUAL}.{m.variant}"): m for m in of_benchmark if (m.scorer, m.name) == (self.scorer, DUAL)
        }
        by_variant = {m.variant: m for m in of_benchmark if (m.scorer, m.name) == (self.scorer, "accuracy")}
        return RunContents(
            path=(self.params.edition, self.model, benchmark),
            name=benchmark,
            parent_key=parent_key,
            parameters=_texts(
                {
                    "edition": self.params.edition,
                    "model": self.model,
                    "benchmark": benchmark,
                    "engine": engine.get("facts", {}),
                    "data": {**self.params.data(benchmark), "digest": pinned.digest, "pinned": pinned.pinned},
                    "statistics": self.params.statistics,
                    "scorers": ", ".join(self.params.scorers),
                }
            ),
            metrics=_with_interval(self._named(benchmark, main) | duals, ["accuracy", *duals]),
            tags=_texts({"engine.about": engine.get("about", {})}),
            description=_accuracies("variant", by_variant.items()),
            artifacts=artifacts,
            data=(self.pinned[benchmark],),
        )

    def of_cell(self, benchmark: str, variant: str, seed: int, parent_key: str) -> RunContents:
        """Return the contents of the run of one variant and seed."""
        metrics = [m for m in self.metrics[benchmark] if (m.variant, m.seed) == (variant, seed)]
        if not metrics:
            raise DataError(f"has no metric of variant {variant!r}, seed {seed}", file=self.files[benchmark])
        part = Path(benchmark, variant, f"seed{seed}.parquet")
        of_all = [metric for metric in metrics if metric.category == OVERALL]
        protocol = dict(self.params.protocol(benchmark, variant))
        names = {"edition": self.params.edition, "model": self.model, "benchmark": benchmark, "variant": variant}
        names["protocol"] = protocol.pop("name")
        settings = {"variant": self.params.variant(variant), "seed": seed, "protocol": protocol}
        return RunContents(
            path=(self.params.edition, self.model, benchmark, variant, f"seed{seed}"),
            name=f"{variant} seed {seed}",
            parent_key=parent_key,
            parameters={**_texts(settings), **names},
            metrics=_with_interval(self._named(benchmark, of_all)),
            description=_accuracies("scorer", ((m.scorer, m) for m in of_all if m.name == "accuracy")),
            artifacts={
                "questions.json": question_table(
                    self.data / "questions" / part,
                    self.results / "replies" / self.model / part,
                    self.results / "scores" / self.model / part,
                    self.params.scorers,
                ),
                "metrics.json": metric_table(metrics),
            },
        )

    def _named(self, benchmark: str, metrics: Iterable[Metric]) -> dict[str, Metric]:
        """Return the headline metrics by name: ``accuracy`` of the main scorer, ``official.accuracy`` of another."""
        names = set(summary.headline_metrics(benchmark))
        own = names - set(summary.HEADLINE_METRICS)
        found: dict[str, Metric] = {}
        for metric in metrics:
            of_main = metric.scorer == self.scorer
            if metric.name not in (names if of_main else own):
                continue
            name = allowed_name(metric.name if of_main else f"{metric.scorer}.{metric.name}")
            if name in found:
                message = f"{metric.model}, {metric.variant}, seed {metric.seed}: two metrics are named {name!r}"
                raise DataError(message, file=self.files[benchmark])
            found[name] = metric
        return found

    def _replies(self, benchmark: str) -> Path:
        return self.results / "replies" / self.model / benchmark

    def _engine(self, benchmark: str) -> dict[str, Any]:
        file = self._replies(benchmark) / "engine.json"
        try:
            engine = json.loads(file.read_text(encoding="utf-8"))
            if not isinstance(engine, dict):
                raise ValueError("not an object")
        except (OSError, ValueError) as error:
            raise DataError(f"not the record of an engine ({error}); delete it and run again", file=file) from error
        return engine


def files_by_model(params: Params, files: Iterable[Path]) -> dict[str, dict[str, Path]]:
    """Return the tables <model>/<benchmark>.parquet by model and benchmark, in the order of params.yaml."""
    found = {(file.parent.name, file.stem): file for file in files}
    return {
        model: {name: found[model, name] for name in params.benchmarks if (model, name) in found}
        for model in params.models
        if any(other == model for other, _ in found)
    }


def read_pinned_data(params: Params, benchmark: str, *, data: Path) -> PinnedData:
    """Return where the benchmark's data come from. ``data`` is the edition's data folder."""
    raw, questions = data / "raw" / benchmark, data / "questions" / benchmark / "questions.parquet"
    entry, pinned = params.data(benchmark), dvc_hash(raw)
    if pinned is None and not questions.is_file():
        raise DataError("no such file", file=questions)
    return PinnedData(
        benchmark=benchmark,
        digest=(pinned or sha256(questions.read_bytes()).hexdigest())[:DIGEST_LENGTH],
        pinned=pinned is not None,
        source=entry.get("repository", str(raw)),
        hub_revision=entry["revision"] if "repository" in entry else None,
        questions=questions,
    )


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Flatten nested mappings to dotted names that MLflow allows, with text values."""
    return {
        allowed_name(name): value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        for name, value in _flat(values)
    }


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def allowed_name(name: str) -> str:
    """Return ``name`` with each character that MLflow forbids in names replaced by "_"."""
    return _FORBIDDEN.sub("_", name)


def _with_interval(metrics: Mapping[str, Metric], names: Iterable[str] = ()) -> dict[str, float]:
    """Return the defined values by name; those of ``names`` also with ``.low``, ``.high`` and ``.n``."""
    values = {name: metric.value for name, metric in metrics.items()}
    for name in names:
        if name in metrics and metrics[name].value is not None:
            metric = metrics[name]
            values |= {f"{name}.low": metric.low, f"{name}.high": metric.high, f"{name}.n": metric.n}
    return {name: float(value) for name, value in values.items() if value is not None}


def metric_table(metrics: Iterable[Metric]) -> bytes:
    """Return metrics as an MLflow table; undefined values are null."""
    columns = [field.name for field in fields(Metric)][2:]  # the model and the benchmark are the run's
    return _table(columns, map(attrgetter(*columns), metrics))


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    return json.dumps({"columns": columns, "data": list(rows)}, allow_nan=False).encode()


def question_table(questions: Path, replies: Path, scores: Path, scorers: list[str]) -> bytes:
    """Return one row per question and turn: the answer, the reply, and the result of each scorer.

    The format is that of MLflow's tables, so that its UI shows it and compares the replies of several runs, and
    ``mlflow.load_table`` reads it. JSON also protects spreadsheet users from replies such as "=1+1". Columns:
    question_id, category, turn, step, answer (the label of the right option), reply, error, and for each scorer
    ``<scorer>`` (the parsed label), ``<scorer>.outcome`` and ``<scorer>.correct``. These three are null for a turn
    that is not scored, and for a scorer without input (`known_unknowns.scoring.has_input`).

    Raises DataError unless every question has replies, and every scorer one score per turn with options.
    """
    pairs = read_turns(questions, replies)
    scored_by = [name for name in scorers if has_input(name, (turn for _, turns in pairs for turn in turns))]
    rows = [score for score in tables.read_scores(scores) if score.scorer in scored_by]
    found = {(score.question_id, score.turn, score.scorer): score for score in rows}
    expected = {
        (question.id, turn.turn, scorer)
        for question, turns in pairs
        for turn in turns
        if turn.labels is not None
        for scorer in scored_by
    }
    if len(rows) != len(found) or found.keys() != expected:
        example = next(iter(sorted(found.keys() ^ expected)), "a turn that is scored twice")
        raise DataError(
            f"{len(rows)} scores where the replies need {len(expected)} (for example {example}); "
            "delete the file and run again",
            file=scores,
        )
    columns = ["question_id", "category", "turn", "step", "answer", "reply", "error"]
    columns += [scorer + suffix for scorer in scorers for suffix in ("", ".outcome", ".correct")]
    data = []
    for question, turns in pairs:
        answer = None if question.answer is None else question.labels[question.answer]
        for turn in turns:
            row = [question.id, question.category, turn.turn, turn.step, answer, turn.reply.text, turn.reply.error]
            for scorer in scorers:
                score = found.get((question.id, turn.turn, scorer))
                row += [score.label, score.outcome, score.correct] if score else [None] * 3
            data.append(row)
    return _table(columns, data)


def _accuracies(heading: str, rows: Iterable[tuple[str, Metric]]) -> str:
    """Return a Markdown table of accuracies with their intervals."""
    lines = [f"| {heading} | accuracy | interval | questions | method |", "|---|---|---|---|---|"]
    for name, m in rows:
        value, low, high = ("undefined" if x is None else f"{x:.1%}" for x in (m.value, m.low, m.high))
        lines.append(f"| {name} | {value} | {low} to {high} | {m.n} | {m.method} |")
    return "\n".join(lines)
