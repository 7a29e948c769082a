"""Released replies as models of the workflow: which cells the files have, and the replies of a cell.

The data's entry in params.yaml has the source "released" (`known_unknowns.data.git`). A benchmark describes its
files by a `Released`. A model of the edition with the engine "imported" and without ``cells`` has the cells that the
files have.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

from known_unknowns import json_files, tables
from known_unknowns.benchmark.released import ReleasedCell, ReleasedFile, ReleasedTurn
from known_unknowns.config import Params
from known_unknowns.data.git import read_manifest
from known_unknowns.data.released_cells import (
    answered_as,
    interface,
    names_in_files,
    names_of_imported,
    released_entry,
)
from known_unknowns.edition_files import asked
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.records import AnsweredTurn, Question, Reply

ENGINE = "imported"
NO_FILES = "no replies"
_CHANGED_TEXT = "the correction changes the text that was asked"


def import_released(params: Params, model: str, benchmark: str, *, raw: Path, variants: Path, out: Path) -> None:
    """Write the replies of a model as inference does: replies.parquet and engine.json in the folder ``out``.

    A question without a usable reply has a failed one, with the reason. ``raw`` is the folder of fetched files, and
    ``variants`` the benchmark's folder of variants. Raises ConfigError if the model has no released replies to the
    benchmark, and DataError if the files were not fetched.
    """
    entry = released_entry(params, benchmark)
    files = fetched_files(params, benchmark, raw)
    names = names_of_imported(params, benchmark)
    if model not in names:
        raise ConfigError(unknown_name(model, names), path="models")
    name = names[model]
    facts, written = {}, {}
    for cell in params.cells(benchmark, model):
        variant, seed, _ = cell
        table = tables.read_questions(asked(variants, variant, seed))
        answered = answered_as(params, benchmark, variant)
        published = table if answered == variant else tables.read_questions(asked(variants, answered, seed))
        found = interface(benchmark).replies(raw, files, entry, name, answered, published)
        if answered != variant:
            found = _to_corrected(found, published, table)
        written[cell] = [
            turn for question in table for turn in _turns(model, question, found.turns.get(question.id, ()))
        ]
        facts[f"{variant}/seed{seed}"] = {"files": [asdict(file) for file in found.files], "notes": list(found.notes)}
    tables.write_replies(out / "replies.parquet", written)
    record = {
        "model": model,
        "benchmark": benchmark,
        "entry": params.model(model).plain(),
        "facts": facts,
        "about": {"repository": entry.repository},
        "turns": sum(map(len, written.values())),
        "newly_asked": 0,
        "reply_seconds": 0.0,
    }
    json_files.write(out / "engine.json", record)


def fetched_files(params: Params, benchmark: str, raw: Path) -> list[ReleasedFile]:
    """Return the files of a folder. DataError if they were not fetched."""
    files = read_manifest(raw)
    if files is None:
        command = f"known-unknowns data fetch {benchmark} --edition {params.edition}"
        raise DataError(f"no fetched files; run {command}", file=raw)
    return files


def _to_corrected(cell: ReleasedCell, published: Sequence[Question], table: Sequence[Question]) -> ReleasedCell:
    """Return the replies of a cell for corrected questions. Replies to another text are failed ones."""
    before = {question.id: question.rendered for question in published}
    turns = {
        question.id: cell.turns[question.id]
        if before.get(question.id) == question.rendered
        else (ReleasedTurn("", _CHANGED_TEXT),)
        for question in table
        if question.id in cell.turns
    }
    return replace(cell, turns=turns)


def _turns(model: str, question: Question, turns: Sequence[ReleasedTurn]) -> Iterable[AnsweredTurn]:
    images = tuple(image.sha256 for image in question.images)
    for number, turn in enumerate(turns or [ReleasedTurn("", "the released files have no reply to this question")]):
        key = json.dumps([ENGINE, model, question.id, turn.step, turn.text, turn.error])
        yield AnsweredTurn(
            question.id,
            number,
            turn.step,
            turn.prompt,
            images if turn.images is None else turn.images,
            question.labels if turn.has_labels else None,
            sha256(key.encode()).hexdigest(),
            Reply(turn.text, error=turn.error),
        )


def write_published(params: Params, benchmark: str, *, raw: Path, variants: Path, out: Path) -> None:
    """Write the numbers that were released with the replies: {"cells": [], "rows": []}, as JSON.

    ``raw`` is the folder of fetched files, and ``variants`` the benchmark's folder of variants. Raises DataError if the
    files were not fetched.
    """
    entry, files = released_entry(params, benchmark), fetched_files(params, benchmark, raw)
    models = names_in_files(params, benchmark)
    rows = {name: params.published(model, benchmark) or model for name, model in models.items()}
    seeds = {cell.variant: cell.seed for cell in params.cells(benchmark)}

    def questions_of(variant: str) -> Sequence[Question]:
        return tables.read_questions(asked(variants, variant, seeds[variant])) if variant in seeds else ()

    cells, compared = interface(benchmark).published(raw, files, entry, rows, questions_of)
    absent = [name for name in models if not interface(benchmark).variants(files, entry).get(name)]
    compared = [*compared, *({"model": name, "outcome": NO_FILES, "reason": "not run"} for name in absent)]
    content = {"cells": [asdict(cell) for cell in cells], "rows": [dict(row) for row in compared]}
    json_files.write(out, content)
