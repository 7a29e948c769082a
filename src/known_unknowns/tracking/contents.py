"""What the run of a cell holds: parameters, metrics, tags, description, data set and artifacts. No MLflow here.

All metrics go into the artifact ``metrics.csv``. Logged as MLflow metrics are the numbers over all questions of every
scorer, and for each category those in `PER_CATEGORY`. All of them would be some 800 columns, too many to read.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from known_unknowns import tables
from known_unknowns.config import NOT_IN_THE_REPLY, Params
from known_unknowns.data.provenance import dvc_hash
from known_unknowns.errors import DataError
from known_unknowns.records import OVERALL, Metric
from known_unknowns.scoring.table import read_turns

PER_CATEGORY = ("accuracy",)
"""The metrics that are logged for each category; all are logged for all questions together."""

DIGEST_LENGTH = 36
"""MLflow's limit for the digest of a data set, which is also the length of a folder's DVC hash ("<md5>.dir")."""

_FORBIDDEN = re.compile(r"[^\w\-. ]")  # MLflow also allows "/" and ":", from which some of its stores make paths


@dataclass(frozen=True, slots=True)
class Cell:
    """One model, benchmark, variant and seed of an edition."""

    edition: str
    model: str
    benchmark: str
    variant: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.edition}/{self.model}/{self.benchmark}/{self.variant}/seed{self.seed}"


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


@dataclass(frozen=True)
class RunContents:
    """What the run of a cell holds. ``artifacts`` maps file names to bytes."""

    cell: Cell
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    description: str
    artifacts: Mapping[str, bytes]
    data: PinnedData

    @property
    def job_key(self) -> str:
        """A sha256 of the parameters: the identity of the run."""
        return _digest(dict(self.parameters))

    @property
    def digest(self) -> str:
        """A sha256 of everything the run holds: a run with this digest needs no update."""
        files = {name: sha256(data).hexdigest() for name, data in self.artifacts.items()}
        return _digest([self.job_key, dict(self.metrics), dict(self.tags), self.description, files])


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def read_cells(params: Params, files: Iterable[Path]) -> list[tuple[Cell, Path, list[Metric]]]:
    """Read tables of metrics; return each cell with its file and metrics, in the order of params.yaml.

    Raises DataError for a file that is not of one model and one benchmark, and for a cell without metrics.
    """
    found: dict[tuple[str, str], tuple[Path, list[Metric]]] = {}
    for file in files:
        metrics = tables.read_metrics(file)
        pairs = sorted({(m.benchmark, m.model) for m in metrics})
        if len(pairs) != 1:
            raise DataError(f"holds {len(pairs)} pairs of a model and a benchmark, not one", file=file)
        if pairs[0] in found:
            raise DataError(f"has the same model and benchmark as {found[pairs[0]][0]}", file=file)
        found[pairs[0]] = file, metrics

    def position(pair: tuple[str, str]) -> list[int]:
        listed = zip(pair, (params.benchmarks, params.models), strict=True)
        return [names.index(name) if name in names else len(names) for name, names in listed]

    cells = []
    for benchmark, model in sorted(found, key=position):
        file, metrics = found[benchmark, model]
        for variant, seed in params.cells(benchmark, model):
            of_cell = [m for m in metrics if (m.variant, m.seed) == (variant, seed)]
            if not of_cell:
                raise DataError(f"has no metric of variant {variant!r}, seed {seed}", file=file)
            cells.append((Cell(params.edition, model, benchmark, variant, seed), file, of_cell))
    return cells


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


def read_contents(
    params: Params, cell: Cell, file: Path, metrics: list[Metric], pinned: PinnedData, *, results: Path, data: Path
) -> RunContents:
    """Collect what the run of a cell holds.

    ``metrics`` are the cell's, read from ``file``; ``results`` and ``data`` are the edition's folders.
    """
    part = f"{cell.variant}/seed{cell.seed}.parquet"
    replies = results / "replies" / cell.model / cell.benchmark
    engine = _read_engine(replies / "engine.json")
    settings = {k: v for k, v in params.model(cell.model).items() if k in NOT_IN_THE_REPLY}
    table = question_table(
        data / "questions" / cell.benchmark / part,
        replies / part,
        results / "scores" / cell.model / cell.benchmark / part,
        params.scorers,
    )
    return RunContents(
        cell=cell,
        parameters=_parameters(params, cell, pinned, engine.get("facts", {})),
        metrics=metric_values(metrics, file=file),
        tags=_texts({"model": settings, "engine.about": engine.get("about", {})}),
        description=_description(metrics),
        artifacts={
            "questions.json": table,
            "metrics.csv": metric_table(metrics),
            "engine.json": (replies / "engine.json").read_bytes(),
        },
        data=pinned,
    )


def _read_engine(file: Path) -> dict[str, Any]:
    try:
        engine = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(engine, dict):
            raise ValueError("not an object")
    except (OSError, ValueError) as error:
        raise DataError(f"not the record of an engine ({error}); delete it and run again", file=file) from error
    return engine


def _parameters(params: Params, cell: Cell, pinned: PinnedData, facts: Mapping[str, Any]) -> dict[str, str]:
    """Everything that distinguishes this run from others, with dotted names."""
    protocol = dict(params.protocol(cell.benchmark, cell.variant))
    return _texts(
        {
            **asdict(cell),
            "protocol": protocol.pop("name"),
            "scorers": ", ".join(params.scorers),
        }
    ) | _texts(
        {
            "model": {k: v for k, v in params.model(cell.model).items() if k not in NOT_IN_THE_REPLY},
            "engine": facts,
            "variant": params.variant(cell.variant),
            "protocol": protocol,
            "data": {**params.data(cell.benchmark), "digest": pinned.digest, "pinned": pinned.pinned},
            "statistics": params.statistics,
        }
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


def metric_values(metrics: Iterable[Metric], *, file: Path) -> dict[str, float]:
    """Return the logged values by name: ``robust.accuracy.Overall`` and its ``.low``, ``.high`` and ``.n``.

    Undefined values (None) have no entry. Raises DataError, naming ``file``, if two metrics get the same name.
    """
    values: dict[str, float] = {}
    for metric in metrics:
        if metric.value is None or not (metric.category == OVERALL or metric.name in PER_CATEGORY):
            continue
        name = allowed_name(f"{metric.scorer}.{metric.name}.{metric.category}")
        if name in values:
            raise DataError(
                f"{metric.model}, {metric.variant}, seed {metric.seed}: two metrics are named {name!r}", file=file
            )
        bounds = {"": metric.value, ".low": metric.low, ".high": metric.high, ".n": metric.n}
        values |= {name + suffix: float(value) for suffix, value in bounds.items() if value is not None}
    return values


def metric_table(metrics: Iterable[Metric]) -> bytes:
    """Return all metrics of a run as CSV, with empty cells for undefined values."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([field.name for field in fields(Metric)])
    writer.writerows(astuple(metric) for metric in metrics)
    return text.getvalue().encode()


def question_table(questions: Path, replies: Path, scores: Path, scorers: list[str]) -> bytes:
    """Return one row per question and turn: the answer, the reply, and the result of each scorer.

    The format is that of MLflow's tables, so that its UI shows it and compares the replies of several runs, and
    ``mlflow.load_table`` reads it. JSON also protects spreadsheet users from replies such as "=1+1". Columns:
    question_id, category, turn, step, answer (the label of the right option), reply, error, and for each scorer
    ``<scorer>`` (the parsed label), ``<scorer>.outcome`` and ``<scorer>.correct``. These three are null for a turn
    that is not scored.

    Raises DataError unless every question has replies, and every scorer one score per turn with options.
    """
    pairs = read_turns(questions, replies)
    rows = [score for score in tables.read_scores(scores) if score.scorer in scorers]
    found = {(score.question_id, score.turn, score.scorer): score for score in rows}
    expected = {
        (question.id, turn.turn, scorer)
        for question, turns in pairs
        for turn in turns
        if turn.labels is not None
        for scorer in scorers
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
    return json.dumps({"columns": columns, "data": data}, allow_nan=False).encode()


def _description(metrics: Iterable[Metric]) -> str:
    """Return the note of the run in Markdown: the accuracy of each scorer with its interval."""
    lines = ["| scorer | accuracy | interval | questions | method |", "|---|---|---|---|---|"]
    for m in metrics:
        if (m.category, m.name) == (OVERALL, "accuracy"):
            value, low, high = ("undefined" if x is None else f"{x:.1%}" for x in (m.value, m.low, m.high))
            lines.append(f"| {m.scorer} | {value} | {low} to {high} | {m.n} | {m.method} |")
    return "\n".join(lines)
