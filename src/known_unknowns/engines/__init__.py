"""Engines: what answers turns. An entry of params.yaml's models names one under "engine".

An engine yields its replies in batches, each a list of (index into ``turns``, reply). The runner commits a batch
to the journal before it asks for the next, so a batch is the most that a kill can cost. An engine must batch
turns in a way that does not depend on what came before: the turns that are left after the first batches must
be batched as they would have been, so that a resumed run gives the same bits as an unbroken one.

Heavy imports belong inside the engine's module, which is imported only when a model needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from known_unknowns.records import Reply, Turn

ENGINES: dict[str, str] = {
    "imported": "known_unknowns.engines.imported:Imported",
    "respondent": "known_unknowns.engines.respondents:Respondent",
    "openai": "known_unknowns.engines.openai:OpenAIEngine",
    "transformers": "known_unknowns.engines.transformers:TransformersEngine",
}


class Engine(Protocol):
    """``facts`` is all that changes a reply and does not stand in the turn (never the batch size or the device);
    ``about`` is worth recording besides (versions, device). ``scripted`` engines read the turn's answer key. ``notes``,
    which is set before the first question, is a file for what an engine must remember between runs."""

    facts: Mapping[str, Any]
    about: Mapping[str, Any]
    scripted: bool
    notes: Path | None

    def answer(self, turns: Sequence[Turn], *, folder: Path) -> Iterator[list[tuple[int, Reply]]]:
        """Answer every turn exactly once. ``folder`` is the benchmark's question folder, for its pictures."""
        ...


def create(name: str, entry: Mapping[str, Any]) -> Engine:
    """The engine of the model ``name``, whose params.yaml entry is ``entry``. Loads weights."""
    module, _, attribute = ENGINES[entry["engine"]].partition(":")
    return getattr(import_module(module), attribute)(name, entry)
