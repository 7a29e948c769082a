"""Questions without an answer: how many a run recorded, and whether a run should go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from known_unknowns import json_files
from known_unknowns.config import Params, RespondentModel, TransformersModel
from known_unknowns.edition_files import replies_table
from known_unknowns.engines.unusable import CUT_OFF, EMPTY, MAX_FIRST, REMEDIES, class_of
from known_unknowns.errors import ConfigError
from known_unknowns.records import Reply

RETRIED = tuple(kind for kind in REMEDIES if kind != CUT_OFF)
"""The classes of replies that `known-unknowns retry` asks for again. A reply that was cut off needs another limit."""


def is_failure(reply: Reply, kinds: Collection[str] = RETRIED) -> bool:
    """Whether a reply has no answer, in one of these ways."""
    return class_of(reply) in kinds


def count(replies: Iterable[Reply]) -> dict[str, int]:
    """Return the number of replies without an answer by their class."""
    found = Counter(map(class_of, replies))
    return {kind: found[kind] for kind in REMEDIES if found[kind]}


class FirstReplies:
    """The first replies of a run to the questions of one model and benchmark, until one of them has an answer.

    Parameters
    ----------
    earlier : iterable of Reply
        The replies to these questions in the journal. If one has an answer, or if there are so many that an earlier run
        has stopped for them, the run goes on whatever comes.
    """

    def __init__(self, earlier: Iterable[Reply]) -> None:
        self._without_answer: list[str] = []
        self._answered = False
        for reply in earlier:
            self._add(reply)
        self._goes_on = self._answered or len(self._without_answer) >= MAX_FIRST

    def check(self, replies: Iterable[Reply]) -> None:
        """Add replies, which must be in the journal.

        Raises
        ------
        ConfigError
            None of the first replies has an answer, so that the model or its entry is at fault.
        """
        if self._goes_on:
            return
        for reply in replies:
            self._add(reply)
        if self._answered:
            self._goes_on = True
        elif len(self._without_answer) >= MAX_FIRST:
            kinds = Counter(self._without_answer)
            reasons = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
            raise ConfigError(
                f"none of the first {len(self._without_answer)} replies has an answer ({reasons}). "
                f"Remedy: {REMEDIES[kinds.most_common(1)[0][0]]}. The same command with the same settings keeps these "
                "replies and asks the other questions"
            )

    def _add(self, reply: Reply) -> None:
        kind = class_of(reply)
        if kind is None or (kind == EMPTY and reply.logprobs):  # the parser `likelihood` needs no text
            self._answered = True
        else:
            self._without_answer.append(kind)


def recorded(params: Params, results: Path, *, program: str, options: str) -> list[str]:
    """Return one line for each model and benchmark of the edition with recorded failures, and lines with the remedies.

    ``program`` is the command line's program, ``options`` select the configuration of the run. An empty reply of a
    scripted respondent is meant, and no failure. A model in this process gives an empty reply again, because its
    sampling depends on the question alone.
    """
    lines, kinds, again = [], set[str](), list[str]()
    for model in params.models:
        entry = params.model(model)
        for benchmark in params.benchmarks:
            path = replies_table(results / "replies", model, benchmark).with_name("engine.json")
            record = json_files.read(path) if path.is_file() else {}
            found = dict(record.get("failures") or {})
            if isinstance(entry, RespondentModel):
                found.pop(EMPTY, None)
            if found:
                reasons = ", ".join(f"{number} {kind}" for kind, number in found.items())
                lines.append(f"{model} {benchmark}: {sum(found.values())} without a usable reply ({reasons})")
                lines += _mostly(record, found)
                kinds |= found.keys()
                same_again = {EMPTY} if isinstance(entry, TransformersModel) else set()
                if found.keys() & set(RETRIED) - same_again:
                    again.append(f"Ask them again: {program} retry {model} {options}")
    lines += dict.fromkeys(again)
    lines += [f"{kind}: {REMEDIES[kind]}" for kind in (EMPTY, CUT_OFF) if kind in kinds]
    return lines


def _mostly(record: Mapping[str, int], found: Mapping[str, int]) -> list[str]:
    """Return a line if most replies of a model have no text."""
    replies, empty = record.get("replies", 0), found.get(EMPTY, 0)
    return [f"  most of its replies are empty ({empty} of {replies})"] if 2 * empty > replies > 0 else []
