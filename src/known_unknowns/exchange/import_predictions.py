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
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from known_unknowns import json_files, tables
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.exchange import QuestionTurns
from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.config import Params
from known_unknowns.data.sample import sample
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.exchange.annotations import left_out
from known_unknowns.exchange.matching import by_sample, left_out_note, match, with_prompts
from known_unknowns.exchange.outcomes import compare_outcomes
from known_unknowns.exchange.reader import facts_note, parse_file, unfinished_notes
from known_unknowns.exchange.results import RescoreResult, compute_metrics, refusals_without_forced_choice
from known_unknowns.records import JUDGE, AnsweredTurn, Cell, Question, Reply, ResolvedVariant
from known_unknowns.run_command import run_command
from known_unknowns.variants.of_benchmark import content_free

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
    partial: bool = False,
    by_text: bool = False,
    root: Path = Path(),
) -> RescoreResult:
    """Import the predictions for one variant and seed. An earlier import of the same cell is replaced.

    ``files`` are parts of the model's replies, which together answer every question of the edition. With ``partial``,
    the replies that they lack are failed. With ``by_text``, predictions are matched by the text of the question alone.
    ``root`` is the project's folder. The notes of the result give the entry that params.yaml needs.

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
        command = run_command(params.edition, target)
        raise DataError(f"no questions of this variant yet; make them with  {command}", file=asked.path)
    questions = tables.read_questions(asked)
    parsed = [parse_file(file) for file in files]
    entry = params.variant(variant)
    table = edition.question_table(benchmark)
    published = tables.read_questions(table) if table.is_file() else questions
    if table.is_file():
        target = EditionFiles.of(params).asked(benchmark, variant, seed).path.as_posix()
        _check_limit(params, questions, published, entry, path=asked.path, target=target)
    samples = []
    for of_sample in by_sample(parsed):
        pairs = match(
            of_sample,
            questions,
            source=str(asked),
            by_index=True,
            by_text=by_text,
            partial=partial,
            published=published,
        )
        if partial:
            pairs = _with_failed(pairs, questions)
        samples.append(with_prompts(pairs, benchmark, entry.protocol or variant))
    parsers = [name for name in params.parsers if name != JUDGE]  # the judge is asked when the workflow runs
    unforced = [name for pairs in samples for name in refusals_without_forced_choice(pairs, parsers)]
    if unforced:
        raise DataError(
            f"{len(unforced)} questions were refused and not asked again, the first of them {unforced[0]!r}; "
            "import the replies to their forced choice too (a column step: answer, forced)",
            file=files[0],
        )
    metrics = compute_metrics(
        samples,
        benchmark=benchmark,
        variant=variant,
        parsers=parsers,
        statistics=params.statistics,
        model=model,
        seed=seed,
        content_free=variant in content_free(params, benchmark),
    )
    replies = edition.replies(model, benchmark)
    cells = {cell: turns for cell, turns in _cells(replies).items() if (cell.variant, cell.seed) != (variant, seed)}
    for number, pairs in enumerate(samples):
        cells[Cell(variant, seed, number)] = [turn for pair in pairs for turn in _turns(pair, model)]
    counts = Counter(cell._replace(sample=0) for cell in cells)
    if len(set(counts.values())) > 1:
        others = ", ".join(f"{count} of {cell}" for cell, count in counts.items())
        raise DataError(f"a model has as many samples of each variant and seed; these are {others}", file=files[0])
    tables.write_replies(replies, dict(sorted(cells.items())))
    facts = [file.facts for file in parsed]
    _write_engine(params, model, benchmark, Cell(variant, seed), files, facts, edition, sum(map(len, cells.values())))
    notes = (
        *left_out_note(questions, published),
        *filter(None, map(facts_note, parsed)),
        *compare_outcomes(samples, parsers),
        *_missing_settings(params, model, edition, len(samples)),
    )
    unfinished = unfinished_notes(parsed)
    return RescoreResult(benchmark, variant, len(questions), tuple(metrics), notes, len(samples), unfinished)


def _with_failed(pairs: Sequence[QuestionTurns], questions: Sequence[Question]) -> list[QuestionTurns]:
    """Return the turns of every question: a question without a prediction has a reply that failed.

    A model of the workflow has a reply to each question. The share of failed replies says how many are missing.
    """
    answered = {question.id: turns for question, turns in pairs}
    missing = Reply("", error="the imported files have no reply")
    return [
        (
            question,
            answered.get(question.id, [AnsweredTurn(question.id, 0, ANSWER, "", (), question.labels, "", missing)]),
        )
        for question in questions
    ]


def _check_limit(
    params: Params,
    questions: Sequence[Question],
    published: list[Question],
    entry: ResolvedVariant,
    *,
    path: Path,
    target: str,
) -> None:
    """Raise DataError if a table of questions was not made with the limit of the edition."""
    without = left_out(published, entry, path=path)
    sampled = published if params.limit is None else sample(published, params.limit)
    expected = {question.id for question in sampled} - without
    if {question.id for question in questions} != expected:
        limit = "no limit" if params.limit is None else f"the limit {params.limit}"
        again = run_command(params.edition, target)
        raise DataError(
            f"has {len(questions)} questions, and with {limit} the edition {params.edition} asks {len(expected)}: it "
            f"was made with another limit, or from other questions; make it again with  {again}",
            file=path,
        )


def _check(params: Params, model: str, benchmark: str, variant: str, seed: int) -> None:
    if benchmark not in registry.names():
        raise ConfigError(unknown_name(benchmark, registry.names()), path="--benchmark")
    if not _NAME.fullmatch(model):
        raise ConfigError(f"{model!r} is not a valid name; use letters, digits, '.', '_' and '-'", path="--import")
    if model in params.file.models and not params.is_imported(model):
        raise ConfigError(f"{model!r} has another engine in params.yaml; choose another name", path="--import")
    known = params.cells(benchmark) if benchmark in params.file.benchmarks else []
    if Cell(variant, seed) not in known:
        raise ConfigError(
            f"the edition {params.edition} does not ask {benchmark} in the variant {variant!r} with seed {seed}; "
            f"it asks {'; '.join(map(str, known)) or 'nothing of it'}",
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


def _cells(replies: Path) -> dict[Cell, list[AnsweredTurn]]:
    """The replies of the cells that were imported before."""
    cells = tables.cells_in(replies) if replies.is_file() else []
    return {cell: tables.read_replies(tables.Part(replies, cell)) for cell in cells}


def _write_engine(
    params: Params,
    model: str,
    benchmark: str,
    cell: Cell,
    files: Sequence[Path],
    stated: Sequence[Mapping[str, Any]],
    edition: EditionFiles,
    turns: int,
) -> None:
    """Write engine.json as inference does. Its facts name the files of each cell with their sha256."""
    path = edition.engine(model, benchmark)
    facts: dict[str, Any] = json_files.read(path)["facts"] if path.is_file() else {}
    facts[f"{cell.variant}/seed{cell.seed}"] = [
        {"file": file.name, "sha256": sha256(file.read_bytes()).hexdigest()} | ({"states": dict(of)} if of else {})
        for file, of in zip(files, stated, strict=True)
    ]
    record = {
        "model": model,
        "benchmark": benchmark,
        "entry": _entry(params, model),
        "facts": facts,
        "about": {},
        "turns": turns,
        "newly_asked": 0,
        "reply_seconds": 0.0,
    }
    json_files.write(path, record)


def _entry(params: Params, model: str) -> dict[str, Any]:
    """Return the entry of a model with imported replies, which params.yaml may not have yet."""
    return params.model(model).plain() if model in params.file.models else {"engine": ENGINE}


def _missing_settings(params: Params, model: str, edition: EditionFiles, samples: int) -> Iterator[str]:
    """Yield the entry that params.yaml needs for the imported cells, if it is missing or outdated."""
    cells: dict[str, dict[str, list[int]]] = {}
    for benchmark in params.file.benchmarks:
        table = edition.replies(model, benchmark)
        for cell in tables.cells_in(table) if table.is_file() else ():
            if cell.sample == 0:
                cells.setdefault(benchmark, {}).setdefault(cell.variant, []).append(cell.seed)
    entry = _entry(params, model)
    needed: dict[str, Any] = {"cells": cells} | ({"samples": samples} if samples > 1 else {})
    if entry.get("cells") != cells or entry.get("samples", 1) != samples or model not in params.models:
        others = {key: value for key, value in entry.items() if key != "samples"}
        text = yaml.safe_dump({model: others | needed}, default_flow_style=True, sort_keys=False, width=1000)
        yield (
            f"for `{run_command()}` to score and report {model}, params.yaml must have, under models, "
            f"`{text.strip()[1:-1]}`, and its name in editions.{params.edition}.models"
        )
