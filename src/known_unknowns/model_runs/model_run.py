"""One model answers one benchmark in all variants and seeds. Its weights are loaded at most once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from known_unknowns import json_files, tables
from known_unknowns.benchmark import registry
from known_unknowns.config import ModelEntry, Params
from known_unknowns.edition_files import EditionFiles, asked
from known_unknowns.engine import Engine, ScriptedEngine
from known_unknowns.engines import prices, reference_prompt
from known_unknowns.engines._batch_invariance import recorded_certificate
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.inference import bound_protocols, shards
from known_unknowns.inference.asking import Asking
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.runner import Outcome, Protocol, run
from known_unknowns.inference.shards import Shard
from known_unknowns.inference.unchanged_turns import check_turns
from known_unknowns.model_runs import lazy_engine
from known_unknowns.records import Cell, Question, Reply
from known_unknowns.unusable import RETRIED, count, is_failure

Cells = Mapping[Cell, tuple[Protocol, Sequence[Question]]]
"""The protocol and the questions of each variant and seed."""


def infer(
    asking: Asking,
    model: str,
    benchmark: str,
    *,
    questions: Path,
    variants: Path,
    out: Path,
    journal: Path,
    records: Path | None = None,
    ask_again: Collection[str] = (),
) -> Mapping[str, Reply]:
    """Write ``out``/replies.parquet, the replies to every variant and seed, and ``out``/engine.json.

    Replies in ``journal`` and in the journals of shards beside it are taken from there, so that a killed run continues,
    and a new seed or variant asks only the missing turns. If none is missing, the model is not loaded
    (`known_unknowns.model_runs.lazy_engine`).

    Parameters
    ----------
    questions, variants, records : Path
        The benchmark's folders: of its questions and images, of its variants, and of the records of shards.
    ask_again : collection of str
        The keys of turns that are asked although they have replies, which the new ones replace.

    Returns
    -------
    mapping of str to Reply
        The replies by their journal keys.
    """
    entry = asking.model
    number = shards.shards_of(entry)
    cells = cells_of(asking, benchmark, variants)
    check_turns(asking.variants, benchmark, cells, questions / "questions.parquet")
    with shards.whole_journal(journal) as kept:  # before the weights are loaded, to report a locked journal at once
        kept.forget(ask_again)
        engine, outcome = _run(
            model, entry, cells, kept, journal, questions, Shard(1, 1) if shards.in_blocks(entry) else None
        )
        about = _about(engine, journal, _records(records, number), outcome)
        lazy_engine.write_facts(journal, entry, engine.facts, about)
    path = out / "replies.parquet"
    for cell, rows in outcome.replies.items():
        unasked = {question.id for question in cells[cell][1]} - {row.question_id for row in rows}
        if unasked:
            raise DataError(
                f"{len(unasked)} questions were never asked: {sorted(unasked)[:5]}",
                file=tables.Part(path, cell),
            )
    tables.write_replies(path, outcome.replies)
    record = _record(model, benchmark, entry, engine, outcome)
    json_files.write(out / "engine.json", record | {"about": about, "settings": asking.settings})
    return outcome.distinct


def infer_shard(
    asking: Asking,
    model: str,
    benchmark: str,
    shard: Shard,
    *,
    questions: Path,
    variants: Path,
    records: Path,
    journal: Path,
) -> None:
    """Ask the questions of one shard, and write its record ``records``/<k>-of-<N>.json.

    When all shards have ended, `infer` writes the table and asks nothing.
    """
    entry = asking.model
    cells = cells_of(asking, benchmark, variants)
    check_turns(asking.variants, benchmark, cells, questions / "questions.parquet")
    with shards.ShardJournal(journal, shard) as kept:
        engine, outcome = _run(model, entry, cells, kept, journal, questions, shard)
        lazy_engine.write_facts(journal, entry, engine.facts, engine.about)
    record = _record(model, benchmark, entry, engine, outcome) | {"shard": shard.number, "shards": shard.count}
    json_files.write(shards.record_path(records, shard), record)


def cells_of(asking: Asking, benchmark: str, variants: Path) -> Cells:
    """Return the protocol and questions of every variant, seed and sample, from a benchmark's folder of variants."""
    protocols = {
        variant: bound_protocols.bound(
            registry.get(benchmark),
            protocol,
            parsers=asking.refusal_parsers,
            model=asking.model,
            confidence=asking.confidence,
        )
        for variant, protocol in asking.protocols.items()
    }
    return {
        cell: (protocols[cell.variant], tables.read_questions(asked(variants, cell.variant, cell.seed)))
        for cell in asking.cells
    }


def _run(
    model: str,
    entry: ModelEntry,
    cells: Cells,
    kept: Journal,
    journal: Path,
    questions: Path,
    shard: Shard | None,
) -> tuple[Engine | ScriptedEngine, Outcome]:
    """Return the engine and the outcome. The facts of the engine are beside ``journal``, its notes beside ``kept``."""
    engine = lazy_engine.engine(model, entry, journal)
    engine.notes = shards.notes_path(kept.path)
    sampled = any(cell.sample for cell in cells)
    if sampled and engine.facts.get("decoding", {}).get("do_sample") is False:  # `sampling: checkpoint`, which does not
        message = "the checkpoint decodes greedily, so that its samples would be the same reply; set samples: 1"
        raise ConfigError(message, path=f"models.{model}.samples")

    def before_asking(asked: Engine | ScriptedEngine, has_replies: bool) -> None:
        reference_prompt.check(asked, journal, has_replies=has_replies)

    try:
        return engine, run(cells, engine, kept, folder=questions, shard=shard, before_asking=before_asking)
    except lazy_engine.FactsChanged as changed:
        engine = changed.engine
        return engine, run(cells, engine, kept, folder=questions, shard=shard, before_asking=before_asking)


def _records(folder: Path | None, count: int | None) -> list[Mapping[str, Any]]:
    if folder is None or not count:
        return []
    paths = [shards.record_path(folder, Shard(number, count)) for number in range(1, count + 1)]
    return [json_files.read(path) for path in paths if path.is_file()]


def _about(
    engine: Engine | ScriptedEngine, journal: Path, records: Sequence[Mapping[str, Any]], outcome: Outcome
) -> dict[str, Any]:
    """What the engine reports of itself. Its check of batches covers all attempts and shards, which leave notes."""
    asked_here = outcome.newly_asked or not records
    about = dict(engine.about) if asked_here else shards.combined_about(engine.about, records)
    recorded = recorded_certificate(engine.facts, shards.notes_path(journal))
    if recorded["compared"]:
        about["certificate"] = recorded
    if changes := reference_prompt.changes(journal, engine.facts):
        about["rendering"] = changes
    faults = Counter(fault for reply in outcome.distinct.values() for fault in (reply.details or {}).get("faults", ()))
    if faults:
        about["repeated_requests"] = dict(faults.most_common())
    return about


def _record(
    model: str, benchmark: str, entry: ModelEntry, engine: Engine | ScriptedEngine, outcome: Outcome
) -> dict[str, Any]:
    return {
        "model": model,
        "benchmark": benchmark,
        "entry": entry.plain(),
        "facts": dict(engine.facts),
        "about": dict(engine.about),
        "turns": sum(map(len, outcome.replies.values())),
        "replies": len(outcome.distinct),
        "newly_asked": outcome.newly_asked,
        "reply_seconds": round(sum(reply.seconds for reply in outcome.distinct.values()), 3),
        "failures": count(outcome.distinct.values()),
        "spent": prices.spent(outcome.distinct.values()),
    }


@dataclass(frozen=True, slots=True)
class RetryCount:
    """The result for one benchmark: failures that were asked again, and those that failed again."""

    benchmark: str
    asked: int
    failed: int

    def __str__(self) -> str:
        return f"{self.benchmark}: {self.asked} asked again, {self.failed} of them failed again"


def retry(
    params: Params,
    model: str,
    benchmark: str | None,
    *,
    finishes: Collection[str] = RETRIED,
    root: Path = Path(),
) -> list[RetryCount]:
    """Ask the questions of recorded failures again, of one benchmark or of all, and write the tables of replies.

    ``finishes`` are the classes of the failures. Raises ConfigError if names are unknown, or if the model has no
    replies yet.
    """
    if unknown := set(finishes) - set(RETRIED):
        raise ConfigError(f"{', '.join(sorted(unknown))} is none of {', '.join(RETRIED)}", path="--finish")
    for path, name, known in (("MODEL", model, params.models), ("BENCHMARK", benchmark, params.benchmarks)):
        if name is not None and name not in known:
            raise ConfigError(f"edition {params.edition}: {unknown_name(name, known)}", path=path)
    found, files = [], EditionFiles.of(params, root)
    for name in [benchmark] if benchmark is not None else params.benchmarks:
        journal = root / "journal" / model / f"{name}.jsonl"
        if not journal.is_file():
            raise ConfigError(f"{model} has no replies to {name} yet: {journal} is missing")
        with shards.whole_journal(journal) as kept:
            failed = {key for key, reply in kept.items() if is_failure(reply, finishes)}
        if not failed:
            found.append(RetryCount(name, 0, 0))
            continue
        replies = infer(
            Asking.of(params, model, name),
            model,
            name,
            questions=files.questions(name),
            variants=files.variants(name),
            out=files.replies(model, name).parent,
            records=files.shards(model, name),
            journal=journal,
            ask_again=failed,
        )
        asked = [replies[key] for key in failed if key in replies]
        found.append(RetryCount(name, len(asked), sum(map(is_failure, asked))))
    return found
