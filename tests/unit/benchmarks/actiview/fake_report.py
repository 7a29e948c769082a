"""A fake run of all pipelines of ActiView, with real protocols, parsers and metrics.

The scripted respondents are the real ones; "pocket" answers with seeded dice, better where it sees the annotated
views, and writes its choices in the ways that real models do, sometimes with markup.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from known_unknowns import tables
from known_unknowns import variants as making
from known_unknowns.benchmark import registry
from known_unknowns.comparison import compare
from known_unknowns.config import Params, RespondentModel
from known_unknowns.edition_files import EditionFiles
from known_unknowns.engines.respondents import Respondent
from known_unknowns.inference.bound_protocols import bound
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.metrics.run import Run
from known_unknowns.records import Option, Question, Reply, Turn
from known_unknowns.report.section import section
from known_unknowns.scoring.table import parse
from known_unknowns_benchmarks.actiview import views
from known_unknowns_benchmarks.actiview.format import TYPES
from known_unknowns_benchmarks.actiview.prompts import shown_views
from known_unknowns_benchmarks.actiview.protocols import CAPTION, MORE, OPERATE, SELECT, ZOOM
from tests import cells
from tests.asked_and_measured import measure
from tests.factories import params_from, scripted_reply
from tests.factories import right as perfect_reply
from tests.unit.benchmarks.actiview.perceiving import recorded, talk
from tests.unit.report.fake_run import HOSTILE, FakeRun, make_image
from tests.unit.report.fake_run import params as of_the_repository

PIPELINES = ("full_image", "single_view", "zooming", "zooming_robust", "shifting_r", "shifting_r_robust")
LEVELS = ("shifting_e", "shifting_m", "shifting_h")
VARIANTS = (*PIPELINES, *LEVELS, "mixed", "mixed_robust", "groundtruth_views", "text_only_guess")
MODELS = ("oracle", "uniform", "pocket")
CLASSES = [(kind, name) for kind, names in TYPES.items() for name in names]

Say = Callable[[Question, Turn], Reply]


def params(kept: Iterable[str] = VARIANTS, *, images: str = "many", **changes: Any) -> Params:
    """The repository's params.yaml with ActiView and three models alone, in the pocket edition."""
    raw = of_the_repository("actiview").file.plain()
    raw["editions"]["pocket"]["models"] = list(MODELS)
    listed = [_listed(name) for name in kept if name not in raw["variants"]]
    variants = [name for name in kept if name in raw["variants"]]
    raw["benchmarks"]["actiview"] |= {"protocols": listed, "variants": variants}
    raw["models"]["pocket"]["images"] = images
    return params_from(raw | changes)


def _listed(variant: str) -> str | dict[str, str]:
    """The entry of ``protocols`` that gives the variant its name."""
    if variant.endswith("_robust"):
        return {"name": variant.removesuffix("_robust"), "parser": "robust"}
    return {"name": variant, "parser": "official"} if variant.startswith(("zooming", "shifting", "mixed")) else variant


def make(folder: Path, chosen: Params | None = None, *, per_class: int = 2) -> FakeRun:
    """Write the whole of a run under ``folder``."""
    run = FakeRun(folder, params() if chosen is None else chosen)
    files = EditionFiles(run.data, run.results)
    asked = list(_questions(files.questions("actiview"), per_class))
    variants = files.variants("actiview")
    for variant, seed, _ in run.params.cells("actiview"):
        varied = [making.apply(run.params.variant(variant), question, seed=seed) for question in asked]
        cells.write_questions(variants, variant, seed, varied)
    for model in run.params.models:
        entry = run.params.model(model)
        say: Say = _pocket
        if isinstance(entry, RespondentModel):
            engine = Respondent(entry.behaviour, RespondentModel(engine="respondent", behaviour=entry.behaviour))
            say = partial(scripted_reply, engine, folder=folder)
        replies, answers = files.replies(model, "actiview"), files.answers(model, "actiview")
        turns = {}
        for cell in run.params.cells("actiview"):
            variant, seed, _ = cell
            protocol = bound(
                registry.get("actiview"), run.params.protocol("actiview", variant), parsers=[], model=entry
            )
            varied = cells.read_questions(variants, variant, seed)
            turns[cell] = [turn for q in varied for turn in recorded(talk(protocol(q), partial(say, q)))]
        tables.write_replies(replies, turns)
        out = files.metrics(model, "actiview")
        parse(variants, replies, answers, cells=list(turns), parsers=run.params.parsers)
        measure(run.params, model, "actiview", answers=answers, out=out)
        run.metrics.append(out)
    compare(run.params, run.metrics, run.comparison)
    return run


def _questions(folder: Path, per_class: int) -> Iterable[Question]:
    dice = random.Random(1)
    for number, (kind, name) in enumerate(CLASSES * per_class):
        original = make_image(folder, number - number % 7 // 6)  # one in seven has the image of its neighbour
        count = dice.randrange(2, 8)
        clues = dice.sample(["no", "partial", 1, 2], 4)
        yield Question(
            id=f"pocket{number:04d}",
            benchmark="actiview",
            text=f"What is shown beside box {number}?",
            options=tuple(Option(letter, f"emblem {letter}{number}", f"{letter}. ") for letter in "ABCDEFG"[:count]),
            answer=dice.randrange(count),
            refusal=None,
            images=(
                original,
                views.reduce(original),
                views.add_grid(original),
                *(views.view(original, view) for view in range(1, 5)),
            ),
            category=name,
            group=original.sha256,
            extra={
                "question_id": f"pocket{number:04d}",
                "type": kind,
                "distraction": 0,
                "clues": clues,
                "groundtruth_views": [view for view, clue in enumerate(clues, start=1) if clue != "no"],
                "start": {"E": clues.index(2), "M": clues.index("partial"), "H": clues.index("no")},
                "random_start": dice.randrange(4),
                "image_path": original.source,
            },
        )


def _pocket(question: Question, turn: Turn) -> Reply:
    dice = random.Random(f"{question.id}:{turn.step}:{turn.text}")
    return Reply(
        _says(question, turn, dice), input_tokens=40 + 60 * len(turn.images), visual_tokens=60 * len(turn.images)
    )


def _says(question: Question, turn: Turn, dice: random.Random) -> str:
    markup, perfect = " ".join(HOSTILE), perfect_reply(question, turn)
    if turn.step == CAPTION:
        return f"Some discs, {dice.randrange(9)} of them. {markup}"
    if turn.step == SELECT:
        return dice.choice([perfect, perfect.replace(",", ", "), "1 and 3", markup, "2"])
    if turn.step == MORE:
        return dice.choice([perfect, perfect, f"{perfect.title()}.", markup])
    if turn.step == ZOOM:
        return dice.choice([perfect, perfect, f"```json\n{perfect}\n```", markup])
    if turn.step == OPERATE:
        return dice.choice([perfect, json.dumps({"keep": "1,2", "shift": "3"}), markup])
    seen = set(shown_views(turn.text, question)) >= set(question.extra["groundtruth_views"])
    if dice.random() < (0.8 if seen else 0.4):
        return dice.choice([perfect, f"{perfect}.", f"({perfect})"])
    return dice.choice([*turn.labels, markup])


def of(run: FakeRun) -> Run:
    """What the tables of a fake run are made of."""
    variants = tuple(run.params.variants("actiview"))
    return Run(
        benchmark="actiview",
        section=section("actiview"),
        numbers=MetricIndex(m for path in run.metrics for m in tables.read_metrics(path)),
        models=tuple(run.params.models),
        variants=variants,
        parsers=tuple(run.params.parsers),
        seeds={variant: tuple(run.params.seeds_of("actiview", variant)) for variant in variants},
        params=run.params,
    )


def right(run: FakeRun, model: str, variant: str, parser: str) -> set[str]:
    """The questions whose answer a parser reads as right, straight from the scores of turns."""
    scores = cells.read_scores(EditionFiles(run.data, run.results).answers(model, "actiview"), variant)
    return {s.question_id for s in scores if s.step == "answer" and s.parser == parser and s.correct}
