"""Ask models during construction, through the runner and the journal of the inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from known_unknowns.benchmark.protocol import Dialogue
from known_unknowns.config import ModelEntry
from known_unknowns.engine import Engine, ScriptedEngine
from known_unknowns.engines import reference_prompt
from known_unknowns.errors import ConfigError
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.runner import Outcome, Protocol, run
from known_unknowns.model_runs import lazy_engine, probe
from known_unknowns.records import AnsweredTurn, Cell, Image, Question
from known_unknowns_construction.scene_graph import SceneGraph

T = TypeVar("T")
_BENCHMARK = "construction"
_CELL = Cell("construction", 0)


@dataclass(frozen=True, slots=True)
class ModelReplies:
    """Replies to the turns of each item, in order, and what the engine reports of itself."""

    turns: Mapping[str, Sequence[AnsweredTurn]]
    facts: Mapping[str, Any]
    newly_asked: int


def image_of(graph: SceneGraph) -> Image:
    """Return the reference to a graph's image. Its folder is that of the graph file."""
    return Image(graph.image.path, graph.image.sha256, graph.image.width, graph.image.height)


def item(identifier: str) -> Question:
    """Return the question that stands for an item in the runner. It has no text, options or answer."""
    return Question(identifier, _BENCHMARK, "", (), None, None, (), "", identifier)


def ask(
    model: str, entry: ModelEntry, dialogues: Mapping[str, Callable[[], Dialogue]], *, journal: Path, folder: Path
) -> ModelReplies:
    """Run a dialogue for each item with one model. Turns whose replies are in the journal are not asked again.

    ``dialogues`` has a function for each item that starts its dialogue; sources of images are relative to ``folder``.
    One process at a time may use a journal. Raises ConfigError for a scripted respondent, which can only choose an
    option.
    """
    questions = [item(identifier) for identifier in dialogues]
    cells = {_CELL: (lambda question: dialogues[question.id](), questions)}
    outcome, facts = run_cells(model, entry, cells, journal=journal, folder=folder)
    turns: dict[str, list[AnsweredTurn]] = {identifier: [] for identifier in dialogues}
    for turn in outcome.replies[_CELL]:
        turns[turn.question_id].append(turn)
    return ModelReplies(turns, facts, outcome.newly_asked)


def run_cells(
    model: str,
    entry: ModelEntry,
    cells: Mapping[Cell, tuple[Protocol, Sequence[Question]]],
    *,
    journal: Path,
    folder: Path,
    may_be_scripted: bool = False,
) -> tuple[Outcome, Mapping[str, Any]]:
    """Run cells with one model and its journal, and return the outcome and the engine's facts.

    The model is not loaded if the journal has every reply.
    """
    with Journal(journal) as kept:
        first = next(((protocol, question) for protocol, questions in cells.values() for question in questions), None)
        if first is not None and (turn := next(first[0](first[1]), None)) is not None:
            probe.before_first_turn(model, entry, journal, turn, folder)
        engine = lazy_engine.engine(model, entry, journal)
        if engine.scripted and not may_be_scripted:
            raise ConfigError("a scripted respondent only chooses options; name another model", path="--model")
        engine.notes = journal.with_suffix(".notes.jsonl")

        def before_asking(asked: Engine | ScriptedEngine, has_replies: bool) -> None:
            reference_prompt.check(asked, journal, has_replies=has_replies)

        try:
            outcome = run(cells, engine, kept, folder=folder, before_asking=before_asking)
        except lazy_engine.FactsChanged as changed:
            engine = changed.engine
            outcome = run(cells, engine, kept, folder=folder, before_asking=before_asking)
        lazy_engine.write_facts(journal, entry, engine.facts, engine.about)
    return outcome, engine.facts
