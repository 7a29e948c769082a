"""Other people's predictions as a model of the workflow's results: its replies, as inference would have written them.

- results/<edition>/replies/<model>/<benchmark>/<variant>/seed<k>.parquet,
- results/<edition>/replies/<model>/<benchmark>/engine.json, which names the files that they came from.

The workflow scores, measures and reports them as it does those of every model, where params.yaml has an entry with the
engine "imported" that says which variants and seeds there are. The questions are the edition's own tables
(data/<edition>/questions), all of them: numbers on other questions would not be comparable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from known_unknowns import benchmarks, tables
from known_unknowns.config import Params
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.exchange.matching import Pair, matched
from known_unknowns.exchange.measure import Rescored, measured, refused_once
from known_unknowns.exchange.predictions import read
from known_unknowns.metrics.measure import Statistics
from known_unknowns.records import AnsweredTurn, Question

ENGINE = "imported"
"""What params.yaml's ``models.<name>.engine`` and the engine.json of an imported model say."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def import_predictions(
    params: Params,
    model: str,
    benchmark: str,
    files: Sequence[Path],
    *,
    variant: str,
    seed: int = 0,
    root: Path = Path(),
) -> Rescored:
    """Import one variant and seed; what was imported before under this name stays, but for the same cell.

    ``root`` is the project's folder. Returns the metrics of this cell.

    Raises:
        ConfigError: the model's name is another engine's or no name, or the edition does not have the variant.
        DataError: predictions that do not fit the edition's questions, or questions that are not made yet.
    """
    _check(params, model, benchmark, variant, seed)
    data = root / "data" / params.data_name / "questions" / benchmark
    replies = root / "results" / params.edition / "replies" / model / benchmark
    _refuse_others(replies / "engine.json")
    cell = Path(variant, f"seed{seed}.parquet")
    if not (data / cell).is_file():
        raise DataError(
            f"no questions of this variant and seed yet; make them with snakemake "
            f"data/{params.data_name}/questions/{benchmark}/{cell.as_posix()}",
            file=data / cell,
        )
    asked = tables.read_questions(data / cell)
    pairs = matched([read(file) for file in files], asked, source=str(data / cell), placed=True)
    unforced = list(refused_once(pairs, params.scorers))
    if unforced:
        raise DataError(
            f"{len(unforced)} questions were refused and not asked again, the first of them {unforced[0]!r}; "
            "import the replies to their forced choice too (a column step: answer, forced)",
            file=files[0],
        )
    metrics = measured(
        pairs,
        benchmark=benchmark,
        variant=variant,
        scorers=params.scorers,
        statistics=Statistics(**params.statistics),
        model=model,
        seed=seed,
    )
    tables.write_replies(replies / cell, [turn for pair in pairs for turn in _turns(pair, model)])
    _write_engine(params, model, benchmark, cell, files, replies)
    return Rescored(benchmark, variant, len(pairs), tuple(metrics), tuple(_advice(params, model, replies.parent)))


def _check(params: Params, model: str, benchmark: str, variant: str, seed: int) -> None:
    if benchmark not in benchmarks.names():
        raise ConfigError(unknown_name(benchmark, benchmarks.names()), path="--benchmark")
    if not _NAME.fullmatch(model):
        raise ConfigError(f"{model!r} is no model's name: letters, digits, '.', '_' and '-'", path="--import")
    entry = params.raw["models"].get(model)
    if entry is not None and entry["engine"] != ENGINE:
        raise ConfigError(f"{model!r} is a model that params.yaml asks by itself; choose another name", path="--import")
    known = [f"{v}, seed {s}" for v, s in params.cells(benchmark)] if benchmark in params.raw["benchmarks"] else []
    if f"{variant}, seed {seed}" not in known:
        raise ConfigError(
            f"the edition {params.edition} does not ask {benchmark} in the variant {variant!r} with seed {seed}; "
            f"it asks {'; '.join(known) or 'nothing of it'}",
            path="--variant",
        )


def _refuse_others(file: Path) -> None:
    """Replies that were really asked for must not be overwritten."""
    if file.is_file() and json.loads(file.read_text(encoding="utf-8"))["entry"].get("engine") != ENGINE:
        raise DataError("these are replies of a model that was asked here; choose another name", file=file)


def _turns(pair: Pair, model: str) -> list[AnsweredTurn]:
    """The turns with what the edition's table knows of the question. What was really sent, nobody told."""
    question, turns = pair
    images = tuple(image.sha256 for image in question.images)
    return [replace(turn, images=images, key=_key(model, question, turn)) for turn in turns]


def _key(model: str, question: Question, turn: AnsweredTurn) -> str:
    told = [ENGINE, model, question.id, turn.step, turn.reply.text, turn.reply.error]
    return sha256(json.dumps(told).encode()).hexdigest()


def _write_engine(params: Params, model: str, benchmark: str, cell: Path, files: Sequence[Path], replies: Path) -> None:
    """engine.json, as inference writes it; its facts name the files of each cell, by their sha256."""
    path = replies / "engine.json"
    facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["facts"] if path.is_file() else {}
    facts[cell.with_suffix("").as_posix()] = [
        {"file": file.name, "sha256": sha256(file.read_bytes()).hexdigest()} for file in files
    ]
    turns = sum(len(tables.read_replies(file)) for file in replies.glob("*/seed*.parquet"))
    whole = {
        "model": model,
        "benchmark": benchmark,
        "entry": {"engine": ENGINE} | params.raw["models"].get(model, {}),
        "facts": facts,
        "about": {},
        "turns": turns,
        "newly_asked": 0,
        "reply_seconds": 0.0,
    }
    tables.write_text(path, json.dumps(whole, indent=2, sort_keys=True) + "\n")


def _advice(params: Params, model: str, replies: Path) -> Iterator[str]:
    """What params.yaml must say of the cells that were imported so far, where it does not say it yet."""
    cells: dict[str, dict[str, list[int]]] = {}
    for file in sorted(replies.glob("*/*/seed*.parquet")):
        of_benchmark = cells.setdefault(file.parents[1].name, {})
        of_benchmark.setdefault(file.parent.name, []).append(int(file.stem.removeprefix("seed")))
    entry = params.raw["models"].get(model, {"engine": ENGINE})
    if entry.get("cells") != cells or model not in params.models:
        entry = yaml.safe_dump({model: entry | {"cells": cells}}, default_flow_style=True, sort_keys=False, width=1000)
        yield (
            f"for `make run` to score and report {model}, params.yaml must have, under models, "
            f"`{entry.strip()[1:-1]}`, and its name in editions.{params.edition}.models"
        )
