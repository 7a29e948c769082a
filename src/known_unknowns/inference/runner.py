"""The runner: advances many protocols in lockstep and sends the engine whole waves of turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from known_unknowns import stopping
from known_unknowns.engine import Batches, Engine, ScriptedEngine, UsesProvenTurn
from known_unknowns.errors import ConfigError, KnownUnknownsError
from known_unknowns.inference.bound_protocols import answer_key
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.shards import Shard, blocks
from known_unknowns.progress import progress
from known_unknowns.records import AnsweredTurn, Cell, Question, Reply, Turn, facts_text
from known_unknowns.unusable import EMPTY, MAX_FIRST, REMEDIES, class_of

Protocol = Callable[[Question], Generator[Turn, Reply, None]]
"""A protocol of one question: it yields turns and receives the reply to each."""

KeyOf = Callable[[Question, Turn], str]

BeforeAsking = Callable[[Engine | ScriptedEngine, bool], None]
"""Receives the engine, and whether the journal has replies of it."""


@dataclass(slots=True)
class _Dialogue:
    """One question that is being asked: its running protocol, the open turn, and the answered turns."""

    cell: Cell
    question: Question
    turns: Generator[Turn, Reply, None]
    turn: Turn | None = None
    key: str = ""
    answered: list[AnsweredTurn] = field(default_factory=list)

    def advance(self, reply: Reply | None, key_of: KeyOf) -> None:
        try:
            turn = next(self.turns) if reply is None else self.turns.send(reply)
        except StopIteration:
            self.turn = None
        else:
            self.turn = replace(turn, **self.cell.repeat._asdict())
            self.key = key_of(self.question, self.turn)

    def record(self, reply: Reply) -> None:
        turn = self.turn
        if turn is None:
            raise ValueError(f"question {self.question.id} has no open turn")
        self.answered.append(
            AnsweredTurn(
                question_id=turn.question_id,
                turn=len(self.answered),
                step=turn.step,
                text=turn.text,
                images=tuple(image.sha256 for image in turn.images),
                labels=turn.labels if turn.continuations is None else None,
                key=self.key,
                reply=reply,
            )
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run: the rows of each cell, in the order of its questions, and the ``distinct`` replies by key.

    ``newly_asked`` is the number of turns that were not in the journal.
    """

    replies: Mapping[Cell, list[AnsweredTurn]]
    newly_asked: int
    distinct: Mapping[str, Reply]


def known_turns(
    cells: Mapping[Cell, tuple[Protocol, Sequence[Question]]],
    engine: Engine | ScriptedEngine,
    replies: Mapping[str, Reply],
) -> dict[str, Turn]:
    """Return the distinct turns that are known, by their keys. The engine is asked nothing.

    These are the first turn of each question, and those that follow one of the ``replies``.
    """
    turns: dict[str, Turn] = {}
    key_of = _keys(engine)
    for cell, (protocol, questions) in cells.items():
        for question in questions:
            dialogue = _Dialogue(cell, question, protocol(question))
            dialogue.advance(None, key_of)
            while dialogue.turn is not None:
                turns.setdefault(dialogue.key, dialogue.turn)
                reply = replies.get(dialogue.key)
                if reply is None:
                    break
                dialogue.advance(reply, key_of)
    return turns


def _keys(engine: Engine | ScriptedEngine) -> KeyOf:
    facts = facts_text(engine.facts)

    def key_of(question: Question, turn: Turn) -> str:
        return turn.key(facts, answer_key=answer_key(question, turn) if engine.scripted else None)

    return key_of


def run(
    cells: Mapping[Cell, tuple[Protocol, Sequence[Question]]],
    engine: Engine | ScriptedEngine,
    journal: Journal,
    *,
    folder: Path,
    shard: Shard | None = None,
    before_asking: BeforeAsking | None = None,
) -> Outcome:
    """Ask every question of every cell by the cell's protocol, except the turns that the journal has.

    Turns with the same key are asked once, in the first cell that needs them. Scripted engines receive the answer key
    of each turn as well. With a ``shard``, only its questions are asked, a block at a time. ``before_asking`` is called
    before the first turn that is asked.
    """
    key_of = _keys(engine)
    dialogues = [
        _Dialogue(cell, question, protocol(question))
        for cell, (protocol, questions) in cells.items()
        for question in questions
    ]
    for dialogue in dialogues:
        dialogue.advance(None, key_of)
    has_replies = any(dialogue.key in journal for dialogue in dialogues)
    distinct: dict[str, Reply] = {}
    newly_asked = 0
    first = None
    if not engine.scripted:
        first = _FirstReplies(journal[dialogue.key] for dialogue in dialogues if dialogue.key in journal)
    parts = [dialogues] if shard is None else list(blocks(dialogues, shard))
    for number, block in enumerate(parts, 1):
        description = "questions answered" + (f" (block {number} of {len(parts)})" if len(parts) > 1 else "")
        while waiting := [dialogue for dialogue in block if dialogue.turn is not None]:
            if before_asking is not None and any(dialogue.key not in journal for dialogue in waiting):
                before_asking(engine, has_replies)
                before_asking = None
            newly_asked += _ask_missing(waiting, engine, journal, folder, description, first)
            for dialogue in waiting:
                reply = journal[dialogue.key]
                distinct[dialogue.key] = reply
                dialogue.record(reply)
                dialogue.advance(reply, key_of)
    replies: dict[Cell, list[AnsweredTurn]] = {cell: [] for cell in cells}
    for dialogue in dialogues:
        replies[dialogue.cell].extend(dialogue.answered)
    return Outcome(replies, newly_asked, distinct)


class _FirstReplies:
    """The first replies of a run to the questions of one model and benchmark, until one of them has an answer.

    If one of the ``earlier`` replies in the journal has an answer, or if there are so many that an earlier run has
    stopped for them, the run goes on whatever comes.
    """

    def __init__(self, earlier: Iterable[Reply]) -> None:
        self._without_answer: list[str] = []
        self._answered = False
        for reply in earlier:
            self._add(reply)
        self._goes_on = self._answered or len(self._without_answer) >= MAX_FIRST

    def check(self, replies: Iterable[Reply]) -> None:
        """Add replies, which must be in the journal.

        Raises ConfigError if none of the first replies has an answer: the model or its entry is at fault.
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


def _ask_missing(
    waiting: Iterable[_Dialogue],
    engine: Engine | ScriptedEngine,
    journal: Journal,
    folder: Path,
    description: str,
    first: _FirstReplies | None,
) -> int:
    missing = {d.key: (d.question, d.turn) for d in waiting if d.key not in journal and d.turn is not None}
    keys, turns = list(missing), [turn for _, turn in missing.values()]

    def answers() -> Batches:
        if not engine.scripted:
            return cast(Engine, engine).answer(turns, folder=folder)
        answer_keys = [answer_key(question, turn) for question, turn in missing.values()]
        return cast(ScriptedEngine, engine).answer_with_keys(turns, answer_keys, folder=folder)

    if isinstance(engine, UsesProvenTurn):
        usable = (d.turn for d in waiting if d.key in journal and class_of(journal[d.key]) is None)
        engine.proven = next(usable, engine.proven)
    answered: set[int] = set()
    with progress(description, len(turns)) as advance:
        for batch in answers() if turns else ():
            indices = [index for index, _ in batch]
            if len(set(indices)) < len(indices) or answered.intersection(indices):
                raise KnownUnknownsError("the engine answered a turn twice, which is a fault in the engine")
            journal.append([(keys[index], reply) for index, reply in batch])
            answered.update(indices)
            advance(len(batch))
            if len(answered) < len(turns):
                if first is not None:
                    first.check(reply for _, reply in batch)
                if not getattr(engine, "ends_requests", False):
                    stopping.raise_if_requested()
    if len(answered) < len(turns):
        raise KnownUnknownsError(
            f"the engine answered {len(answered)} of {len(turns)} turns, which is a fault in the engine"
        )
    return len(turns)
