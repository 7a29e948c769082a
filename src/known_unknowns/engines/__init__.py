"""Engines answer turns. The key "engine" of a model's entry in params.yaml names one, by the class of its settings.

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
from typing import Any, Protocol, runtime_checkable

from known_unknowns.config import ModelEntry
from known_unknowns.errors import ConfigError
from known_unknowns.records import AnswerKey, Reply, Turn

Batches = Iterator[list[tuple[int, Reply]]]
"""Batches of (index of the turn, its reply)."""


class _Described(Protocol):
    """What every engine reports of itself.

    Attributes
    ----------
    facts : mapping
        Everything that can change a reply and is not part of the turn: the checkpoint, the precision, decoding
        settings. Never the batch size or the device. It is part of every reply's key in the journal.
    about : mapping
        Further information to record: package versions, the device.
    scripted : bool
        Whether the engine is a `ScriptedEngine`.
    notes : Path or None
        A file for what the engine must remember between runs. The runner sets it before the first turn.
    """

    notes: Path | None

    @property
    def facts(self) -> Mapping[str, Any]: ...

    @property
    def about(self) -> Mapping[str, Any]: ...

    @property
    def scripted(self) -> bool: ...


@runtime_checkable
class UsesProvenTurn(Protocol):
    """An engine that can be told a turn that the model has answered in this run or an earlier one: ``proven``."""

    proven: Turn | None


@runtime_checkable
class RemembersSettings(Protocol):
    """An engine whose settings were found before the first question, and are in a file of ``settings_folder``."""

    settings_folder: Path | None


@runtime_checkable
class RendersReference(Protocol):
    """An engine that knows its prompts: it builds them, or sends them to a server."""

    def reference_prompt(self) -> Mapping[str, Any] | None:
        """Return how a fixed question about a fixed image is rendered; None if it cannot be rendered.

        Keys are "text", the prompt as text, or the messages that are sent to a server; "rendered", the prompt that the
        server makes of them without the image, if it tells; "tokens" of the text and "image_tokens", if they are known;
        "pixels", the shape and the mean and standard deviation of equal parts of each tensor of the image, or of the
        image as sent; and "versions" of what renders it.
        """
        ...


class Engine(_Described, Protocol):
    """A model. It receives turns only, never their answer keys."""

    def answer(self, turns: Sequence[Turn], *, folder: Path) -> Batches:
        """Answer every turn exactly once. ``folder`` is the benchmark's question folder, for its images."""
        ...


class ScriptedEngine(_Described, Protocol):
    """A baseline without a model. It receives the answer key of each turn."""

    def answer_with_keys(self, turns: Sequence[Turn], keys: Sequence[AnswerKey], *, folder: Path) -> Batches:
        """Answer every turn exactly once. ``keys`` are the turns' answer keys, in the same order."""
        ...


def create(name: str, entry: ModelEntry) -> Any:
    """Create the `Engine` or `ScriptedEngine` of a model. This loads its weights.

    Raises ConfigError if the module has no such class, or the class lacks an attribute of `Engine`.
    """
    module, _, attribute = entry.implementation.partition(":")
    kind = getattr(import_module(module), attribute, None)
    if kind is None:
        raise ConfigError(f"the module {module} has no {attribute!r}", path=f"models.{name}.engine")
    engine = kind(name, entry)
    answers = "answer_with_keys" if getattr(engine, "scripted", False) else "answer"
    if missing := [
        each for each in ("facts", "about", "scripted", answers) if not (hasattr(kind, each) or hasattr(engine, each))
    ]:
        lacks = f"{entry.implementation} has no attribute {', '.join(missing)}"
        raise ConfigError(f"{lacks}; known_unknowns.engines.Engine describes them", path=f"models.{name}.engine")
    return engine
