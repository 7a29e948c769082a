"""A run of MM-SAP that never happened, with questions of all 19 sub-tasks, measured by the real machinery.

The scripted respondents are the real ones; "pocket" answers with seeded dice, and sometimes with markup.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from known_unknowns import tables, variants
from known_unknowns.benchmark.protocol import FORCED
from known_unknowns.comparison import compare
from known_unknowns.config import Params, RespondentModel
from known_unknowns.edition_files import EditionFiles
from known_unknowns.engines.respondents import Respondent
from known_unknowns.inference.bound_protocols import answer_key
from known_unknowns.records import Option, Question, Reply, Turn
from known_unknowns.scoring.table import parse
from known_unknowns_benchmarks.mmsap.loader import BEYOND, REFUSAL, SUB_TASKS
from tests import cells
from tests.asked_and_measured import measure
from tests.factories import params_from, scripted_reply
from tests.unit.benchmarks.mmsap.sapient import dialogue
from tests.unit.report.fake_run import HOSTILE, FakeRun, make_image
from tests.unit.report.fake_run import params as of_the_repository

SHUFFLED = ("shuffled_options", "shuffled_refusal_prompt")
VARIANTS = (*SHUFFLED, "nota_only", "noise")
MODELS = ("oracle", "always_refuse", "pocket")


def params(
    kept: Iterable[str] = VARIANTS, *, shuffles: int = 2, models: Iterable[str] = MODELS, **changes: Any
) -> Params:
    """The repository's params.yaml with MM-SAP alone, in the pocket edition."""
    raw = of_the_repository("mmsap", models).file.plain()
    raw["benchmarks"]["mmsap"] |= {
        "variants": list(kept),
        "seeds": {variant: list(range(shuffles)) for variant in SHUFFLED if variant in kept},
    }
    return params_from(raw | changes)


def make(folder: Path, chosen: Params | None = None, *, per_task: int = 2) -> FakeRun:
    """Write the whole of a run under ``folder``."""
    run = FakeRun(folder, params() if chosen is None else chosen)
    files = EditionFiles(run.data, run.results)
    asked = list(_questions(files.questions("mmsap"), per_task))
    for model in run.params.models:
        say = _pocket if model not in ("oracle", "always_refuse", "always_a", "uniform") else _scripted(model, folder)
        replies, answers = files.replies(model, "mmsap"), files.answers(model, "mmsap")
        said = {}
        for cell in run.params.cells("mmsap"):
            variant, seed, _ = cell
            varied = [variants.apply(run.params.variant(variant), question, seed=seed) for question in asked]
            cells.write_questions(files.variants("mmsap"), variant, seed, varied)
            protocol = run.params.protocol("mmsap", variant).name
            said[cell] = [
                turn
                for q in varied
                for turn in dialogue(q, lambda turn, q=q, seed=seed, say=say: say(q, turn, seed), protocol)
            ]
        tables.write_replies(replies, said)
        asked_of, out = files.variants("mmsap"), files.metrics(model, "mmsap")
        parse(asked_of, replies, answers, cells=list(said), parsers=run.params.parsers)
        measure(run.params, model, "mmsap", answers=answers, out=out)
        run.metrics.append(out)
    compare(run.params, run.metrics, run.comparison)
    return run


def _questions(folder: Path, per_task: int) -> Iterable[Question]:
    dice = random.Random(1)
    tasks = [(subset, task) for subset, names in SUB_TASKS.items() for task in names]
    for number, (subset, task) in enumerate(tasks * per_task):
        places = dice.sample(range(5), 2)
        texts = [f"emblem {number}{letter}" for letter in "vwxyz"]
        texts[places[0]] = REFUSAL
        image = make_image(folder, number // 2)
        yield Question(
            id=f"{subset}-{number}",
            benchmark="mmsap",
            text=f"What is shown beside box {number}?",
            options=tuple(Option(letter, text, f"{letter}. ") for letter, text in zip("ABCDE", texts, strict=True)),
            answer=places[0] if subset == BEYOND else places[1],
            refusal=places[0],
            images=(image,),
            category=task,
            group=image.sha256,
            extra={"subset": subset, "question_id": number, "image_path": image.source},
        )


Say = Callable[[Question, Turn, int], Reply]


def _scripted(behaviour: str, folder: Path) -> Say:
    engine = Respondent(behaviour, RespondentModel(engine="respondent", behaviour=behaviour))

    def say(question: Question, turn: Turn, seed: int) -> Reply:
        return scripted_reply(engine, question, turn, folder)

    return say


def _pocket(question: Question, turn: Turn, seed: int) -> Reply:
    dice = random.Random(f"{question.id}:{turn.step}:{turn.text}")
    way, letter = dice.random(), dice.choice(turn.labels)
    key = answer_key(question, turn)
    if way < 0.5 and key.right:
        letter = key.right
    elif way < 0.75 and key.refuse:
        letter = key.refuse
    weights = {option: dice.random() + 2 * (option == letter) for option in turn.labels}
    logprobs = {option: round(math.log(w / sum(weights.values())), 6) for option, w in weights.items()}
    if turn.step == FORCED and way > 0.6:
        return Reply(f"{letter} " + " ".join(HOSTILE), logprobs)
    if way > 0.97:
        return Reply("", error="the engine gave no reply: out of memory")
    return Reply(" ".join(HOSTILE) if way > 0.92 else letter, logprobs)
