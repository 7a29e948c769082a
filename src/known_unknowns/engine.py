"""The interface of an engine, which answers turns. `known_unknowns.engines` has the engines.

An engine yields its replies in batches, each a list of (index into ``turns``, reply). The runner writes a batch to the
journal before it requests the next one, so a killed run loses one batch at most. Batches must not depend on what was
answered before: the remaining turns are batched as they would have been in one run, so that a resumed run gives the
same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

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
