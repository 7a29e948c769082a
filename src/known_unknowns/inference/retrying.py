"""Ask questions without a usable reply again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from known_unknowns.config import Params
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.inference import model_run
from known_unknowns.inference.failures import RETRIED, is_failure
from known_unknowns.inference.shards import whole_journal


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
    settings_of: Callable[[str], Mapping[str, Any]] = lambda benchmark: {},
) -> list[RetryCount]:
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
        The classes of the failures.
    root : Path
        The project's folder.
    settings_of : callable
        Returns the part of the configuration that decides the replies to a benchmark, to be recorded.

    Raises
    ------
    ConfigError
        The names are unknown, or the model has no replies yet.
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
        with whole_journal(journal) as kept:
            failed = {key for key, reply in kept.items() if is_failure(reply, finishes)}
        if not failed:
            found.append(RetryCount(name, 0, 0))
            continue
        replies = model_run.infer(
            params,
            model,
            name,
            questions=files.questions(name),
            variants=files.variants(name),
            out=files.replies(model, name).parent,
            records=files.shards(model, name),
            journal=journal,
            ask_again=failed,
            settings=settings_of(name),
        )
        asked = [replies[key] for key in failed if key in replies]
        found.append(RetryCount(name, len(asked), sum(map(is_failure, asked))))
    return found
