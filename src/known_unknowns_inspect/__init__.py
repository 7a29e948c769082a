"""Tasks for inspect_ai: the questions of each registered benchmark, asked of any provider that inspect_ai has.

    inspect eval known_unknowns/humblebench -T variant=nota_only --model openai/gpt-4o

The log has each question as it was asked, so that `known-unknowns rescore` computes every metric from the log alone.
Dialogues, in which a reply decides what is asked next, are refused: the workflow asks them.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from weakref import finalize

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, Content, ContentImage, ContentText
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.protocol import Dialogue
from known_unknowns.data.variant_tables import vary
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.evaluation.questions import questions_of
from known_unknowns.exchange.harness_logs import RECORD, finish_of, parse_record
from known_unknowns.images import open_image
from known_unknowns.inference.bound_protocols import bound
from known_unknowns.inference.unchanged_turns import check_turns
from known_unknowns.records import AnsweredTurn, Cell, Image, Question, Reply, Turn
from known_unknowns.run_command import run_command
from known_unknowns.scoring.dialogues import score_turn
from known_unknowns.tables import Part
from known_unknowns.workflow import configuration, project

PARSERS = ("official", "robust")


def single_turns(
    benchmark: str, variant: str, *, data: str | None, limit: int | None, seed: int, scratch: Path
) -> tuple[str, Path, list[tuple[Question, Turn]]]:
    """Return the function of a variant, the folder of the images, and each question with its only turn.

    Raises ConfigError if the questions do not exist, or if a reply decides what is asked next.
    """
    own = Path("params.yaml")
    params = configuration.load(own) if own.is_file() else configuration.load(project.template()[own], edition="pocket")
    if benchmark not in params.file.benchmarks:
        raise ConfigError(unknown_name(benchmark, params.file.benchmarks), path="benchmark")
    entry = params.variant(variant)
    folder, _, _ = questions_of(params, benchmark, data, scratch)
    table = scratch / "variant.parquet"
    vary(entry, folder / "questions.parquet", table, seeds=[seed], limit=limit)
    questions = tables.read_questions(Part(table, seed))
    ask = bound(registry.get(benchmark), params.protocol(benchmark, variant), parsers=PARSERS)
    functions = {variant: entry.function}
    check_turns(functions, benchmark, {Cell(variant, seed): (ask, questions)}, folder / "questions.parquet")
    turns = [(question, next(ask(question))) for question in questions]
    for question, turn in turns:
        if any(_goes_on(ask(question), reply) for reply in (*question.labels, "")):
            protocol = params.protocol_name(benchmark, variant)
            raise ConfigError(
                f"{benchmark} asks {variant} by the protocol {protocol}, a dialogue: after the step {turn.step!r} of "
                f"question {question.id!r}, a reply decides what is asked next. `{run_command()}` asks dialogues",
                path="variant",
            )
    return entry.function, folder, turns


def _goes_on(dialogue: Dialogue, reply: str) -> bool:
    """Whether a dialogue has a turn after this reply to its first one."""
    next(dialogue)
    try:
        dialogue.send(Reply(reply))
    except StopIteration:
        return False
    return True


def make_task(
    benchmark: str, *, variant: str = "original", data: str | None = None, limit: int | None = None, seed: int = 0
) -> Task:
    """Return the questions of a benchmark's variant as a task.

    ``data`` is where the questions are from, as for `known_unknowns.evaluate`: an edition of the project in the current
    folder, or a folder; by default the rendered questions of the pocket edition. ``limit`` is the number of questions,
    of which the sample is that of the key ``limit`` of an edition.
    """
    scratch = TemporaryDirectory(prefix="known-unknowns-")
    function, folder, turns = single_turns(
        benchmark, variant, data=data, limit=limit, seed=seed, scratch=Path(scratch.name)
    )
    samples = []
    for question, turn in turns:
        metadata = {"group": question.group, "variant": function, RECORD: asdict(question)}
        target = "" if question.answer is None else question.labels[question.answer]
        samples.append(Sample(input=turn.text, target=target, id=question.id, metadata=metadata))
    content_of = {question.id: turn.content for question, turn in turns}

    def ask_with_images() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            content: list[Content] = [_sent(part, folder) for part in content_of[str(state.sample_id)]]
            state.messages = [ChatMessageUser(content=content)]
            return await generate(state)

        return solve

    made = Task(dataset=MemoryDataset(samples, name=benchmark), solver=solver(ask_with_images)(), scorer=SCORERS)
    finalize(made, scratch.cleanup)
    return made


def _sent(part: Image | str, folder: Path) -> Content:
    """Return a part of a turn for inspect_ai. An image is PNG with the pixels that every engine gets."""
    if isinstance(part, str):
        return ContentText(text=part)
    file = BytesIO()
    open_image(part, folder).save(file, "PNG")
    return ContentImage(image=f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode('ascii')}")


def _score(parser: str) -> Scorer:
    """Return a scorer: the outcome of a parser. A right answer can be the refusal."""

    async def score(state: TaskState, target: Target) -> Score:
        question = parse_record(state.metadata[RECORD])
        choice = state.output.choices[0] if state.output.choices else None
        reply = Reply(state.output.completion, finish=finish_of(choice.stop_reason if choice else None))
        images = tuple(image.sha256 for image in question.images)
        turn = AnsweredTurn(question.id, 0, "answer", state.input_text, images, question.labels, "", reply)
        scored = score_turn(turn, question, parser)
        value = CORRECT if scored.correct else INCORRECT
        return Score(value=value, answer=scored.label, explanation=scored.outcome)

    return score


def official() -> Scorer:
    """Score by the parser of the benchmark's authors."""
    return _score("official")


def robust() -> Scorer:
    """Score by the robust parser."""
    return _score("robust")


def _register(benchmark: str) -> Callable[..., Task]:
    """Register the task of a benchmark under its name, with the arguments that ``-T`` can give."""

    def questions(variant: str = "original", data: str | None = None, limit: int | None = None, seed: int = 0) -> Task:
        return make_task(benchmark, variant=variant, data=data, limit=limit, seed=seed)

    return task(name=benchmark)(_of_distribution(questions))


def _of_distribution(function: Callable[..., Any]) -> Callable[..., Any]:
    """Name the distribution as the function's module.

    inspect_ai prepends the first part of the module's name to the name of a task or scorer if a distribution is
    installed under it, which is known_unknowns.
    """
    function.__module__ = "known_unknowns"
    return function


_METRICS = [accuracy(), stderr(cluster="group")]
SCORERS = [scorer(metrics=_METRICS)(_of_distribution(function))() for function in (official, robust)]
TASKS = {name: _register(name) for name in registry.names()}
"""The tasks by the names of the benchmarks, for `inspect_ai.eval` in Python."""
