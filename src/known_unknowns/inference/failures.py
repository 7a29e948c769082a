"""Questions without a usable reply: how many a run recorded, and asking them again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from known_unknowns import json_files
from known_unknowns.config import Params
from known_unknowns.errors import ConfigError
from known_unknowns.records import Reply

FINISHES = ("error", "rejected", "no_choice", "content_filter")
"""``Reply.finish`` of questions that the engine or the endpoint failed to answer. A model's refusal is an answer."""


def is_failure(reply: Reply, finishes: Collection[str] = FINISHES) -> bool:
    """Whether the engine failed to answer, in one of these ways."""
    return reply.error is not None and reply.finish in finishes


def count(replies: Iterable[Reply]) -> dict[str, int]:
    """Return the number of failures by ``Reply.finish``."""
    found = Counter(reply.finish for reply in replies if is_failure(reply))
    return {finish: found[finish] for finish in FINISHES if found[finish]}


def recorded(params: Params, results: Path) -> list[str]:
    """Return one line for each model and benchmark of the edition with recorded failures."""
    lines = []
    for model in params.models:
        for benchmark in params.benchmarks:
            path = results / "replies" / model / benchmark / "engine.json"
            found = json_files.read(path).get("failures") if path.is_file() else None
            if found:
                reasons = ", ".join(f"{number} {finish}" for finish, number in found.items())
                lines.append(f"{model} {benchmark}: {sum(found.values())} without a usable reply ({reasons})")
    return lines


@dataclass(frozen=True, slots=True)
class Retried:
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
    finishes: Collection[str] = FINISHES,
    root: Path = Path(),
) -> list[Retried]:
    """Ask the questions of recorded failures again, and write the tables of replies.

    Parameters
    ----------
    params : Params
        The configuration of the finished run.
    model : str
        One of its models.
    benchmark : str, optional
        One of its benchmarks; by default all of them.
    finishes : collection of str
        The ``Reply.finish`` of the failures.
    root : Path
        The project's folder.

    Raises
    ------
    ConfigError
        The names are unknown, or the model has no replies yet.
    """
    from known_unknowns import inference
    from known_unknowns.inference.shards import whole_journal

    if unknown := set(finishes) - set(FINISHES):
        raise ConfigError(f"{', '.join(sorted(unknown))} is none of {', '.join(FINISHES)}", path="--finish")
    for name, known in ((model, params.models), (benchmark, params.benchmarks)):
        if name is not None and name not in known:
            raise ConfigError(f"{name} is not in the edition {params.edition}, which has {', '.join(known)}")
    found = []
    for name in [benchmark] if benchmark is not None else params.benchmarks:
        journal = root / "journal" / params.edition / model / f"{name}.jsonl"
        if not journal.is_file():
            raise ConfigError(f"{model} has no replies to {name} yet: {journal} is missing")
        with whole_journal(journal) as kept:
            failed = {key for key, reply in kept.items() if is_failure(reply, finishes)}
        if not failed:
            found.append(Retried(name, 0, 0))
            continue
        replies = inference.infer(
            params,
            model,
            name,
            questions=root / "data" / params.data_name / "questions" / name,
            out=root / "results" / params.edition / "replies" / model / name,
            journal=journal,
            ask_again=failed,
        )
        asked = [replies[key] for key in failed if key in replies]
        found.append(Retried(name, len(asked), sum(map(is_failure, asked))))
    return found
