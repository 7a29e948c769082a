"""The runner: advances many protocols in lockstep and hands the engine whole waves of turns."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from known_unknowns.engines import Engine
from known_unknowns.errors import KnownUnknownsError
from known_unknowns.inference.journal import Journal
from known_unknowns.progress import progress
from known_unknowns.records import AnsweredTurn, Question, Reply, Turn

Cell = tuple[str, int]
"""A variant and a seed."""

Protocol = Callable[[Question], Generator[Turn, Reply, None]]
"""How one question is asked: yields turns, and is sent the reply to each."""


@dataclass(slots=True)
class _Dialogue:
    """One question being asked: its protocol at work, the turn that waits for a reply, and what was said so far."""

    cell: Cell
    turns: Generator[Turn, Reply, None]
    turn: Turn | None = None
    key: str = ""
    asked: list[AnsweredTurn] = field(default_factory=list)

    def advance(self, reply: Reply | None, key_of: Callable[[Turn], str]) -> None:
        try:
            turn = next(self.turns) if reply is None else self.turns.send(reply)
        except StopIteration:
            self.turn = None
        else:
            self.turn = replace(turn, seed=self.cell[1])
            self.key = key_of(self.turn)

    def record(self, reply: Reply) -> None:
        turn = self.turn
        self.asked.append(
            AnsweredTurn(
                question_id=turn.question_id,
                turn=len(self.asked),
                step=turn.step,
                text=turn.text,
                images=tuple(image.sha256 for image in turn.images),
                labels=turn.labels,
                key=self.key,
                reply=reply,
            )
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """``replies``: the rows of each cell, in the order of its questions. ``newly_asked``: how many turns were not
    in the journal. ``distinct``: the replies by key, each of which was given once, now or in an earlier run."""

    replies: Mapping[Cell, list[AnsweredTurn]]
    newly_asked: int
    distinct: Mapping[str, Reply]


def run(
    cells: Mapping[Cell, tuple[Protocol, Sequence[Question]]],
    engine: Engine,
    journal: Journal,
    *,
    folder: Path,
) -> Outcome:
    """Ask every question of every cell by the cell's protocol; whatever the journal has is not asked again.

    Turns with the same key are asked once, in the first cell that needs them.
    """

    def key_of(turn: Turn) -> str:
        return turn.key(engine.facts, scripted=engine.scripted)

    dialogues = [
        _Dialogue(cell, protocol(question)) for cell, (protocol, questions) in cells.items() for question in questions
    ]
    for dialogue in dialogues:
        dialogue.advance(None, key_of)
    distinct: dict[str, Reply] = {}
    newly_asked = 0
    while waiting := [dialogue for dialogue in dialogues if dialogue.turn is not None]:
        newly_asked += _ask_missing(waiting, engine, journal, folder)
        for dialogue in waiting:
            reply = journal[dialogue.key]
            distinct[dialogue.key] = reply
            dialogue.record(reply)
            dialogue.advance(reply, key_of)
    replies: dict[Cell, list[AnsweredTurn]] = {cell: [] for cell in cells}
    for dialogue in dialogues:
        replies[dialogue.cell].extend(dialogue.asked)
    return Outcome(replies, newly_asked, distinct)


def _ask_missing(waiting: Iterable[_Dialogue], engine: Engine, journal: Journal, folder: Path) -> int:
    missing = {d.key: d.turn for d in waiting if d.key not in journal}
    keys, turns = list(missing), list(missing.values())
    answered: set[int] = set()
    with progress("asking", len(turns)) as advance:
        for batch in engine.answer(turns, folder=folder) if turns else ():
            indices = [index for index, _ in batch]
            if len(set(indices)) < len(indices) or answered.intersection(indices):
                raise KnownUnknownsError("the engine answered a turn twice, which is a fault in the engine")
            journal.append([(keys[index], reply) for index, reply in batch])
            answered.update(indices)
            advance(len(batch))
    if len(answered) < len(turns):
        raise KnownUnknownsError(
            f"the engine answered {len(answered)} of {len(turns)} turns, which is a fault in the engine"
        )
    return len(turns)
