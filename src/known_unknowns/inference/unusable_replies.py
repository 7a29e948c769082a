"""Unusable replies of a finished run: their number, the most frequent one, and what may help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from known_unknowns import json_files
from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.config import Params, RespondentModel, TransformersModel
from known_unknowns.edition_files import EditionFiles, replies_table
from known_unknowns.engines.unusable import CUT_OFF, EMPTY, REMEDIES, RETRIED
from known_unknowns.records import CUT, FAILED
from known_unknowns.scoring.reply_rows import reply_rows
from known_unknowns.tables.parquet import Cell, Part
from known_unknowns.variants.of_benchmark import unusable_outcomes

_SHOWN = 120
"""Length of a quoted reply."""
_NO_OPTION = (
    "the replies name no option: check the model's chat template (prompt_template) and its system prompt, or add the "
    "parser judge"
)


def unusable(outcomes: Iterable[tuple[str | None, str]], *, remedy: bool = True) -> str:
    """Return sentences with the number of unusable replies, the most frequent one and its remedy; empty without any.

    ``outcomes`` are those of the function `outcomes`.
    """
    pairs = list(outcomes)
    counts = Counter((outcome, text) for outcome, text in pairs if outcome is not None)
    if not counts:
        return ""
    ((outcome, text), number), *_ = counts.most_common(1)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    most = f"the most frequent ({number:,}, {outcome}) is {shown!r}"
    kinds = {CUT: CUT_OFF, FAILED: "error"}
    found = f"Unusable: {counts.total():,} of {len(pairs):,} replies; {most}."
    if not remedy:
        return found
    likely = _NO_OPTION if text.strip() and outcome not in kinds else REMEDIES[kinds.get(outcome, EMPTY)]
    return f"{found} Likely remedy: {likely}."


def outcomes(
    params: Params, files: EditionFiles, model: str, benchmark: str, cells: Iterable[Cell], parser: str
) -> list[tuple[str | None, str]]:
    """Return the outcome of each answer by a parser, None if the reply can be used, and its text or its failure."""
    found: list[tuple[str | None, str]] = []
    for variant, seed in cells:
        kinds = unusable_outcomes(params, variant)
        replies, scores = (Part(path(model, benchmark), seed, variant) for path in (files.replies, files.scores))
        names, rows = reply_rows(files.asked(benchmark, variant, seed), replies, scores, [parser])
        outcome, step, reply, error = map(names.index, (f"{parser}.outcome", "step", "reply", "error"))
        found += [
            (row[outcome] if row[outcome] in kinds else None, row[error] or row[reply])
            for row in rows
            if row[outcome] and row[step] == ANSWER
        ]
    return found


def recorded(params: Params, results: Path, *, program: str, options: str, limit: float) -> list[str]:
    """Return one line for each model and benchmark of the edition with unusable replies, and at most two of advice.

    ``program`` is the command line's program, ``options`` select the configuration of the run. ``limit`` is the share
    of unusable replies above which their likely reason is named; a few are a number only. An empty reply of a scripted
    respondent is meant, and no failure. A model in this process gives an empty reply again, because its sampling
    depends on the question alone.
    """
    lines, again = [], []
    many = Counter[str]()
    for model in params.models:
        entry = params.model(model)
        same_again = {EMPTY} if isinstance(entry, TransformersModel) else set()
        for benchmark in params.benchmarks:
            path = replies_table(results / "replies", model, benchmark).with_name("engine.json")
            record = json_files.read(path) if path.is_file() else {}
            found = dict(record.get("failures") or {})
            if isinstance(entry, RespondentModel):
                found.pop(EMPTY, None)
            if not found:
                continue
            number = sum(found.values())
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in found.items())
            lines.append(f"{model} {benchmark}: {number:,} of {record['replies']:,} replies ({kinds})")
            if number > limit * record["replies"]:
                many.update(found)
            if found.keys() & set(RETRIED) - same_again:
                again.append(model)
    if again:
        names = dict.fromkeys(again)
        name = next(iter(names)) if len(names) == 1 else "MODEL"
        models = f", for {', '.join(names)}" if len(names) > 1 else ""
        lines.append(f"Ask them again: {program} retry {name} {options}{models}")
    if many:
        ((kind, _),) = many.most_common(1)
        lines.append(f"{kind}: {REMEDIES[kind]}")
    return lines
