"""Import predictions as a model of the workflow. The replies are written as inference writes them.

- results/<edition>/replies/<model>/<benchmark>/replies.parquet
- results/<edition>/replies/<model>/<benchmark>/engine.json, which names the imported files

The workflow scores, measures and reports the replies if params.yaml has an entry with the engine "imported" that lists
the variants and seeds. The questions are those of the edition's tables (results/<edition>/variants), all of them,
because numbers on other questions are not comparable.
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

from known_unknowns import json_files, tables
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.exchange import QuestionTurns
from known_unknowns.config import Params
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.exchange.matching import left_out_note, match, with_prompts
from known_unknowns.exchange.reader import parse_file
from known_unknowns.exchange.results import RescoreResult, compute_metrics, refusals_without_forced_choice
from known_unknowns.records import AnsweredTurn, Question
from known_unknowns.scoring.judge import JUDGE
from known_unknowns.variants import corrections
from known_unknowns.variants.of_benchmark import content_free, variant_of

ENGINE = "imported"
"""The engine of an imported model in params.yaml and in engine.json."""
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
) -> RescoreResult:
    """Import the predictions for one variant and seed. An earlier import of the same cell is replaced.

    ``files`` are parts of the model's replies, which together answer every question of the edition. ``root`` is the
    project's folder. The notes of the result give the entry that params.yaml needs.

    Raises
    ------
    ConfigError
        If the model's name is invalid or that of a model with another engine, or the edition does not have the cell.
    DataError
        If the predictions do not fit the edition's questions, or the questions do not exist yet.
    """
    _check(params, model, benchmark, variant, seed)
    edition = EditionFiles.of(params, root)
    _check_not_inferred(edition.engine(model, benchmark))
    asked = edition.asked(benchmark, variant, seed)
    if not asked.path.is_file():
        target = EditionFiles.of(params).asked(benchmark, variant, seed).path.as_posix()
        raise DataError(f"no questions of this variant yet; make them with snakemake {target}", file=asked.path)
    questions = tables.read_questions(asked)
    parsed = [parse_file(file) for file in files]
    entry = params.variant(variant)
    leaves_out = corrections.files(entry) or variant_of(benchmark, entry).keeps_meaning
    table = edition.question_table(benchmark)
    published = tables.read_questions(table) if leaves_out and table.is_file() else questions
    pairs = match(parsed, questions, source=str(asked), by_index=True, published=published)
    pairs = with_prompts(pairs, benchmark, entry.protocol or variant)
    parsers = [name for name in params.parsers if name != JUDGE]  # the judge is asked when the workflow runs
    unforced = list(refusals_without_forced_choice(pairs, parsers))
    if unforced:
        raise DataError(
            f"{len(unforced)} questions were refused and not asked again, the first of them {unforced[0]!r}; "
            "import the replies to their forced choice too (a column step: answer, forced)",
            file=files[0],
        )
    metrics = compute_metrics(
        pairs,
        benchmark=benchmark,
        variant=variant,
        parsers=parsers,
        statistics=params.statistics,
        model=model,
        seed=seed,
        content_free=variant in content_free(params, benchmark),
    )
    replies = edition.replies(model, benchmark)
    cells = _cells(replies) | {(variant, seed): [turn for pair in pairs for turn in _turns(pair, model)]}
    tables.write_replies(replies, dict(sorted(cells.items())))
    _write_engine(params, model, benchmark, (variant, seed), files, edition, sum(map(len, cells.values())))
    notes = (*left_out_note(questions, published), *_missing_settings(params, model, edition))
    return RescoreResult(benchmark, variant, len(pairs), tuple(metrics), notes)


def _check(params: Params, model: str, benchmark: str, variant: str, seed: int) -> None:
    if benchmark not in registry.names():
        raise ConfigError(unknown_name(benchmark, registry.names()), path="--benchmark")
    if not _NAME.fullmatch(model):
        raise ConfigError(f"{model!r} is not a valid name; use letters, digits, '.', '_' and '-'", path="--import")
    entry = params.raw["models"].get(model)
    if entry is not None and entry["engine"] != ENGINE:
        raise ConfigError(f"{model!r} has another engine in params.yaml; choose another name", path="--import")
    known = [f"{v}, seed {s}" for v, s in params.cells(benchmark)] if benchmark in params.raw["benchmarks"] else []
    if f"{variant}, seed {seed}" not in known:
        raise ConfigError(
            f"the edition {params.edition} does not ask {benchmark} in the variant {variant!r} with seed {seed}; "
            f"it asks {'; '.join(known) or 'nothing of it'}",
            path="--variant",
        )


def _check_not_inferred(file: Path) -> None:
    """Raise DataError if the replies come from inference: these must not be overwritten."""
    if file.is_file() and json_files.read(file)["entry"].get("engine") != ENGINE:
        raise DataError("these replies come from inference; choose another name", file=file)


def _turns(pair: QuestionTurns, model: str) -> list[AnsweredTurn]:
    """Return the turns with the images of the edition's questions."""
    question, turns = pair
    images = tuple(image.sha256 for image in question.images)
    return [replace(turn, images=images, key=_key(model, question, turn)) for turn in turns]


def _key(model: str, question: Question, turn: AnsweredTurn) -> str:
    content = [ENGINE, model, question.id, turn.step, turn.reply.text, turn.reply.error]
    return sha256(json.dumps(content).encode()).hexdigest()


def _cells(replies: Path) -> dict[tables.Cell, list[AnsweredTurn]]:
    """The replies of the cells that were imported before."""
    cells = tables.cells_in(replies) if replies.is_file() else []
    return {(variant, seed): tables.read_replies(tables.Part(replies, seed, variant)) for variant, seed in cells}


def _write_engine(
    params: Params,
    model: str,
    benchmark: str,
    cell: tables.Cell,
    files: Sequence[Path],
    edition: EditionFiles,
    turns: int,
) -> None:
    """Write engine.json as inference does. Its facts name the files of each cell with their sha256."""
    path = edition.engine(model, benchmark)
    facts: dict[str, Any] = json_files.read(path)["facts"] if path.is_file() else {}
    variant, seed = cell
    facts[f"{variant}/seed{seed}"] = [
        {"file": file.name, "sha256": sha256(file.read_bytes()).hexdigest()} for file in files
    ]
    record = {
        "model": model,
        "benchmark": benchmark,
        "entry": {"engine": ENGINE} | params.raw["models"].get(model, {}),
        "facts": facts,
        "about": {},
        "turns": turns,
        "newly_asked": 0,
        "reply_seconds": 0.0,
    }
    json_files.write(path, record)


def _missing_settings(params: Params, model: str, edition: EditionFiles) -> Iterator[str]:
    """Yield the entry that params.yaml needs for the imported cells, if it is missing or outdated."""
    cells: dict[str, dict[str, list[int]]] = {}
    for benchmark in params.raw["benchmarks"]:
        table = edition.replies(model, benchmark)
        for variant, seed in tables.cells_in(table) if table.is_file() else ():
            cells.setdefault(benchmark, {}).setdefault(variant, []).append(seed)
    entry = params.raw["models"].get(model, {"engine": ENGINE})
    if entry.get("cells") != cells or model not in params.models:
        entry = yaml.safe_dump({model: entry | {"cells": cells}}, default_flow_style=True, sort_keys=False, width=1000)
        yield (
            f"for `make run` to score and report {model}, params.yaml must have, under models, "
            f"`{entry.strip()[1:-1]}`, and its name in editions.{params.edition}.models"
        )
