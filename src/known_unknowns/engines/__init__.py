"""Engines answer turns. The key "engine" of a model's entry in params.yaml names one.

An engine yields its replies in batches, each a list of (index into ``turns``, reply). The runner writes a batch to the
journal before it requests the next one, so a killed run loses one batch at most. Batches must not depend on what was
answered before: the remaining turns are batched as they would have been in one run, so that a resumed run gives the
same bits.

Engines are imported when a model needs them. Heavy imports belong inside their modules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from pydantic import TypeAdapter

from known_unknowns.config import Entry, ModelEntry
from known_unknowns.config.models import Model
from known_unknowns.records import Reply, Turn

ENGINES: dict[str, str] = {
    "imported": "known_unknowns.engines.imported:Imported",
    "respondent": "known_unknowns.engines.respondents:Respondent",
    "openai": "known_unknowns.engines.openai:OpenAIEngine",
    "transformers": "known_unknowns.engines.transformers:TransformersEngine",
}


class Engine(Protocol):
    """What the runner needs of an engine.

    Attributes
    ----------
    facts : mapping
        Everything that can change a reply and is not part of the turn: the checkpoint, the precision, decoding
        settings. Never the batch size or the device. It is part of every reply's key in the journal.
    about : mapping
        Further information to record: package versions, the device.
    scripted : bool
        Whether the engine reads the answer key instead of asking a model.
    notes : Path or None
        A file for what the engine must remember between runs. The runner sets it before the first turn.
    """

    facts: Mapping[str, Any]
    about: Mapping[str, Any]
    scripted: bool
    notes: Path | None

    def answer(self, turns: Sequence[Turn], *, folder: Path) -> Iterator[list[tuple[int, Reply]]]:
        """Answer every turn exactly once. ``folder`` is the benchmark's question folder, which holds its images."""
        ...


def create(name: str, entry: ModelEntry) -> Engine:
    """Create the engine of a model. This loads its weights.

    Parameters
    ----------
    name : str
        The model's name in params.yaml.
    entry : ModelEntry
        Its entry. A plain mapping is also accepted and validated first.
    """
    if not isinstance(entry, Entry):
        entry = TypeAdapter(Model).validate_python(entry)
    module, _, attribute = ENGINES[entry.engine].partition(":")
    return getattr(import_module(module), attribute)(name, entry)
