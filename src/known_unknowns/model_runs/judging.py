"""Ask a language model which options replies give that the parser robust leaves unparsed, for the parser "judge".

Every such reply of the edition's models is judged once: the key of a judgement in the journal depends on the
question, the offered options and the reply, and on the judge and its prompt, but not on the model that replied. A
stopped run continues, and later runs ask only about new replies.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from known_unknowns import json_files
from known_unknowns.config import ModelEntry, Params
from known_unknowns.config.sections import Judge
from known_unknowns.edition_files import asked, replies_table
from known_unknowns.engine import Engine, ScriptedEngine
from known_unknowns.engines import prices, reference_prompt
from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.runner import run
from known_unknowns.model_runs import lazy_engine, probe
from known_unknowns.records import UNPARSED, AnsweredTurn, Cell, Question, Reply, Turn
from known_unknowns.scoring.dialogues import read_turns
from known_unknowns.scoring.judge import judge_turn, parse_judgement, prompt_for, without_judge
from known_unknowns.tables import Part
from known_unknowns.unusable import count

CellsOfModels = Mapping[str, Mapping[str, Sequence[Cell]]]
"""The cells that were asked, by model and benchmark."""
_CHARACTERS_PER_TOKEN = 4
_OUTPUT_TOKENS = 12


@dataclass(frozen=True, slots=True)
class _Judged:
    """A reply to be judged. ``own`` says whether the judge gave it."""

    question: Question
    turn: AnsweredTurn
    own: bool = False


def judge(
    settings: Judge,
    entry: ModelEntry,
    cells: CellsOfModels,
    *,
    variants: Path,
    replies: Path,
    out: Path,
    journal: Path,
    own_models: Collection[str] = (),
) -> None:
    """Write the judgements on the replies that robust leaves unparsed to ``out``, and what was asked beside them.

    Parameters
    ----------
    settings : Judge
        The judge's model and the version of the prompt.
    entry : ModelEntry
        The entry of the judge's model.
    cells : mapping
        The cells that each model was asked, by model and benchmark.
    variants, replies : Path
        Folders of the edition.
    out : Path
        A JSON file: {"judge", "prompt", ..., "judgements": {key: the judge's reply}}.
    journal : Path
        The journal with all replies of the judge.
    own_models : collection of str
        The models whose replies are the judge's own.

    Raises
    ------
    ConfigError
        If the judge is a scripted respondent.
    MachineError
        If every request failed. There is then no table of answers in which all replies are unparsed.
    """
    judged = _replies(cells, variants, replies, settings.prompt, own_models)
    with Journal(journal) as kept:
        for each in list(judged.values())[:1]:
            turn = judge_turn(each.turn, each.question, version=settings.prompt)
            probe.before_first_turn(settings.model, entry, journal, turn, variants)
        engine = _engine(settings.model, entry, journal, judged, kept, settings.prompt)
        try:
            distinct = _ask(engine, judged, kept, settings.prompt, folder=variants, journal=journal)
        except lazy_engine.FactsChanged as changed:
            engine = changed.engine
            distinct = _ask(engine, judged, kept, settings.prompt, folder=variants, journal=journal)
        if distinct and all(reply.error is not None for reply in distinct.values()):
            kept.forget(distinct)
            first = next(iter(distinct.values()))
            raise MachineError(f"{settings.model} gave no judgement on any of {len(distinct)} replies: {first.error}")
        lazy_engine.write_facts(journal, entry, engine.facts, engine.about)
    json_files.write(out, _record(settings.model, settings.prompt, engine, judged, distinct))


def cells_of(params: Params) -> dict[str, dict[str, list[Cell]]]:
    """Return the cells of all models of the edition."""
    cells: dict[str, dict[str, list[Cell]]] = {}
    for model in params.models:
        cells[model] = {benchmark: params.cells(benchmark, model) for benchmark in params.benchmarks}
    return cells


def own_models(params: Params) -> list[str]:
    """Return the edition's models whose replies are the judge's own: those of its name or its source."""
    if params.judge is None:
        raise ConfigError("the parser judge needs this section (docs/parsers.md)", path="judge")
    judge_model = params.judge.model
    source = getattr(params.model(judge_model), "source", judge_model)
    return [name for name in params.models if name == judge_model or _source(params, name) == source]


def _source(params: Params, model: str) -> str | None:
    return getattr(params.model(model), "source", None)


def _replies(
    cells: CellsOfModels, variants: Path, replies: Path, prompt: int, own_models: Collection[str]
) -> dict[str, _Judged]:
    """The distinct replies that robust leaves unparsed, by the key of their judgement."""
    found: dict[str, _Judged] = {}
    for model, of_model in cells.items():
        own = model in own_models
        for benchmark, of_benchmark in of_model.items():
            table = replies_table(replies, model, benchmark)
            for cell in of_benchmark:
                questions = asked(variants / benchmark, cell.variant, cell.seed)
                for question, turn in _scored(questions, Part(table, cell)):
                    key = prompt_for(turn, question, version=prompt).key
                    if key not in found or (own and not found[key].own):
                        found[key] = _Judged(question, turn, own)
    return found


def _scored(questions: Part, replies: Part) -> Iterator[tuple[Question, AnsweredTurn]]:
    for question, turns in read_turns(questions, replies):
        scored = (turn for turn in turns if turn.labels is not None)
        yield from ((question, turn) for turn in scored if without_judge(turn, question).outcome == UNPARSED)


def _engine(
    model: str, entry: ModelEntry, journal: Path, judged: Mapping[str, _Judged], kept: Journal, version: int
) -> Engine:
    engine = lazy_engine.engine(model, entry, journal)
    if engine.scripted:
        raise ConfigError(f"{model} is a scripted respondent and cannot judge", path="judge.model")
    _announce(model, entry, engine, judged, kept, version)
    return engine  # type: ignore[return-value]  # it is no ScriptedEngine


def _announce(
    model: str,
    entry: ModelEntry,
    engine: Engine | ScriptedEngine,
    judged: Mapping[str, _Judged],
    kept: Journal,
    version: int,
) -> None:
    """State what will be asked, what it will cost, and whether the model judges its own replies."""
    turns = [judge_turn(each.turn, each.question, version=version) for each in judged.values()]
    missing = [turn for turn in turns if turn.key(engine.facts) not in kept]
    tokens = sum(len(turn.text) for turn in missing) // _CHARACTERS_PER_TOKEN
    source = getattr(entry, "source", "")
    price, _ = (prices.find(source) if entry.engine == "openai" else None) or (None, None)
    usage = prices.Usage(tokens, _OUTPUT_TOKENS * len(missing))
    cost = f", about ${price.of(usage):.2f}" if price else "" if entry.engine != "openai" else ", price unknown"
    print(
        f"judge: {model} judges {len(judged)} distinct replies, {len(judged) - len(missing)} of them from the journal; "
        f"{len(missing)} requests with about {tokens} input tokens{cost}",
        file=sys.stderr,
    )
    if own := sum(each.own for each in judged.values()):
        print(f"judge: {own} of these replies are {model}'s own; a model may favour its own replies", file=sys.stderr)


def _ask(
    engine: Engine, judged: Mapping[str, _Judged], kept: Journal, version: int, *, folder: Path, journal: Path
) -> dict[str, Reply]:
    """The judge's replies by the key of the judgement. Each judgement is asked for as a question of its own."""

    def protocol(question: Question) -> Generator[Turn, Reply, None]:
        each = judged[question.id]
        yield replace(judge_turn(each.turn, each.question, version=version), question_id=question.id)

    def before_asking(asked: Engine | ScriptedEngine, has_replies: bool) -> None:
        reference_prompt.check(asked, journal, has_replies=has_replies)

    questions = [replace(each.question, id=key) for key, each in judged.items()]
    cell = Cell("judged", 0)
    outcome = run({cell: (protocol, questions)}, engine, kept, folder=folder, before_asking=before_asking)
    return {row.question_id: row.reply for row in outcome.replies[cell]}


def _record(
    model: str,
    version: int,
    engine: Engine,
    judged: Mapping[str, _Judged],
    replies: Mapping[str, Reply],
) -> dict[str, Any]:
    usable = {key: reply.text for key, reply in replies.items() if reply.error is None}
    parsed = [parse_judgement(text, judged[key].turn, judged[key].question) for key, text in usable.items()]
    return {
        "judge": model,
        "prompt": version,
        "facts": dict(engine.facts),
        "replies": len(judged),
        "own_replies": sum(each.own for each in judged.values()),
        "failures": count(replies.values()),
        "unparsed": len(replies) - sum(answer.choice is not None for answer in parsed),
        "spent": prices.spent(replies.values()),
        "judgements": usable,
    }
