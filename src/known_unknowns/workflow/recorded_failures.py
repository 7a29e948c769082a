"""The replies without a text that `engine.json` of a finished run records: their number, and what may help."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from known_unknowns import json_files
from known_unknowns.config import Params, RespondentModel, TransformersModel
from known_unknowns.edition_files import replies_table
from known_unknowns.unusable import EMPTY, REMEDIES, RETRIED


def describe(params: Params, results: Path, *, program: str, options: str, limit: float) -> list[str]:
    """Return a line for each model and benchmark of the edition with replies without a text, and at most two of advice.

    ``program`` is the command line's program, ``options`` select the configuration of the run. ``limit`` is the share
    of such replies above which their likely reason is named; a few are a number only. An empty reply of a scripted
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
        lines.append(f"Ask them again: {program} journal retry {name} {options}{models}")
    if many:
        ((kind, _),) = many.most_common(1)
        lines.append(f"{kind}: {REMEDIES[kind]}")
    return lines
