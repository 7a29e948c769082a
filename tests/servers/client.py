"""Questions for the test endpoint, and a run with the real runner, journal and engine."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from known_unknowns import engines
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.runner import Outcome, run
from known_unknowns.records import Cell, Image, Reply, Turn
from tests.factories import model_entry, question
from tests.servers.endpoint import LETTERS, MODEL


def turn(identifier: str, *images: Image, **changes: Any) -> Turn:
    values = {"question_id": identifier, "step": "answer", "labels": tuple(LETTERS), "max_new_tokens": 16}
    return Turn(**values | {"content": (*images, f"[{identifier}] Which?")} | changes)


def turns(count: int) -> list[Turn]:
    return [turn(f"q{number}") for number in range(count)]


def engine(url: str, **entry: Any) -> engines.Engine:
    return engines.create("parrot", model_entry("openai", **{"source": MODEL, "base_url": url, "timeout": 5} | entry))


def ask(url: str, asked: Sequence[Turn], folder: Path = Path(), **entry: Any) -> list[Reply]:
    """Every turn's reply, in the order of the turns; each was answered exactly once."""
    replies: dict[int, Reply] = {}
    for batch in engine(url, **entry).answer(asked, folder=folder):
        for index, reply in batch:
            assert index not in replies
            replies[index] = reply
    assert len(replies) == len(asked)
    return [replies[index] for index in range(len(asked))]


def asked_once(question):
    yield turn(question.id)


def run_all(identifiers: Iterable[str], journal: Path, url: str, **entry: Any) -> Outcome:
    """One run over these questions, as `known_unknowns.inference` does it."""
    with Journal(journal) as kept:
        answering = engine(url, **entry)
        answering.notes = journal.with_suffix(".notes.jsonl")
        cells = {Cell("original", 0): (asked_once, [question(identifier) for identifier in identifiers])}
        return run(cells, answering, kept, folder=Path())


def main() -> None:
    """Start a run in a new process, from a journal, a number of questions, an address and an entry as JSON."""
    journal, count, url, entry = sys.argv[1:]
    outcome = run_all([f"q{number}" for number in range(int(count))], Path(journal), url, **json.loads(entry))
    print(outcome.newly_asked)


if __name__ == "__main__":
    main()
