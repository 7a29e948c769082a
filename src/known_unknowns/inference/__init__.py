"""Inference: one model answers one benchmark in all variants and seeds. Its weights are loaded at most once."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from known_unknowns import benchmarks, tables
from known_unknowns.config import Params
from known_unknowns.engines import prices
from known_unknowns.errors import DataError
from known_unknowns.inference import asking, failures, lazy_engine
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.runner import Cell, Protocol, run
from known_unknowns.records import Question, Reply


def infer(
    params: Params,
    model: str,
    benchmark: str,
    *,
    questions: Path,
    out: Path,
    journal: Path,
    ask_again: Collection[str] = (),
) -> Mapping[str, Reply]:
    """Write ``out``/<variant>/seed<k>.parquet for every variant and seed, and ``out``/engine.json.

    Return the replies by their journal keys.

    ``questions`` is the benchmark's question folder. Replies in ``journal`` are taken from it, so that a killed
    run continues, and a new seed or variant asks only the missing turns. If none is missing, the model is not loaded
    (`known_unknowns.inference.lazy_engine`). The turns with the keys ``ask_again`` are asked although they have
    replies, which the new ones replace.
    """
    entry = params.model(model)
    cells: dict[Cell, tuple[Protocol, Sequence[Question]]] = {
        (variant, seed): (
            asking.bound(
                benchmarks.get(benchmark),
                params.protocol(benchmark, variant),
                scorers=params.scorers,
                images=entry.images,
            ),
            tables.read_questions(questions / variant / f"seed{seed}.parquet"),
        )
        for variant, seed in params.cells(benchmark)
    }
    with Journal(journal) as kept:  # before the weights are loaded, to report a locked journal at once
        kept.forget(ask_again)
        engine = lazy_engine.engine(model, entry, journal)
        engine.notes = journal.with_suffix(".notes.jsonl")
        try:
            outcome = run(cells, engine, kept, folder=questions)
        except lazy_engine.FactsChanged as changed:
            engine = changed.engine
            outcome = run(cells, engine, kept, folder=questions)
        lazy_engine.write_facts(journal, entry, engine)
    for (variant, seed), asked in outcome.replies.items():
        path = out / variant / f"seed{seed}.parquet"
        unasked = {question.id for question in cells[variant, seed][1]} - {row.question_id for row in asked}
        if unasked:
            raise DataError(f"{len(unasked)} questions were never asked: {sorted(unasked)[:5]}", file=path)
        tables.write_replies(path, asked)
    facts = {
        "model": model,
        "benchmark": benchmark,
        "entry": entry.as_dict(),
        "facts": dict(engine.facts),
        "about": dict(engine.about),
        "turns": sum(map(len, outcome.replies.values())),
        "newly_asked": outcome.newly_asked,
        "reply_seconds": round(sum(reply.seconds for reply in outcome.distinct.values()), 3),
        "failures": failures.count(outcome.distinct.values()),
        "spent": prices.spent(outcome.distinct.values()),
    }
    tables.write_text(out / "engine.json", json.dumps(facts, indent=2, sort_keys=True) + "\n")
    return outcome.distinct
