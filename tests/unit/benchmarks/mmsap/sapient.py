"""MM-SAP in small: questions of the three subsets, asked by the real protocols, scored and measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from known_unknowns import tables, variants
from known_unknowns.config import Params, RespondentModel
from known_unknowns.engines.respondents import Respondent
from known_unknowns.records import AnsweredTurn, Cell, Image, Metric, Option, Question, Reply, Turn
from known_unknowns.scoring.table import parse
from known_unknowns_benchmarks.mmsap.loader import BASIC, BEYOND, KNOW, REFUSAL
from tests.asked_and_measured import measure
from tests.cells import write_questions, write_replies
from tests.factories import asked_by, params_from, scripted_reply

PARSERS = ("official", "robust", "likelihood")
Say = Callable[[Turn], Reply]


def ask(
    identifier: str,
    subset: str,
    *,
    answer: int = 0,
    refusal: int = 2,
    category: str = "Other",
    group: str | None = None,
) -> Question:
    """Five options, by default A the right one and C the refusal, which is right in BeyondVisQA."""
    texts = [f"{identifier} {word}" for word in ("one", "two", "three", "four", "five")]
    texts[refusal] = REFUSAL
    image = Image(f"images/{identifier}.png", "a" * 64, 40, 30)
    return Question(
        id=f"{subset}-{identifier}",
        benchmark="mmsap",
        text="What is it?",
        options=tuple(Option(letter, text, f"{letter}. ") for letter, text in zip("ABCDE", texts, strict=True)),
        answer=refusal if subset == BEYOND else answer,
        refusal=refusal,
        images=(image,),
        category=category,
        group=group or identifier,
        extra={"subset": subset, "question_id": identifier, "image_path": image.source},
    )


def benchmark(basic: int, know: int, beyond: int) -> list[Question]:
    """So many questions of each subset, the right option and the refusal at all places in turn."""
    made = []
    for subset, count in ((BASIC, basic), (KNOW, know), (BEYOND, beyond)):
        for n in range(count):
            refusal = n % 5
            made.append(ask(f"{subset[:2]}{n}", subset, refusal=refusal, answer=(refusal + 1 + n // 5 % 4) % 5))
    return made


def says(text: str, **probabilities: float) -> Reply:
    """A reply with the probabilities of some letters; the others have next to none."""
    if not probabilities:
        return Reply(text)
    return Reply(text, {letter: round(math.log(probabilities.get(letter, 1e-9)), 6) for letter in "ABCDE"})


def dialogue(question: Question, say: Say, protocol: str = "forced_choice") -> list[AnsweredTurn]:
    """All turns of one question, with what ``say`` replies to each."""
    asked, running = [], asked_by(protocol, question)
    turn = next(running)
    while True:
        reply = say(turn)
        asked.append(
            AnsweredTurn(question.id, len(asked), turn.step, turn.text, ("a" * 64,), turn.labels, turn.step, reply)
        )
        try:
            turn = running.send(reply)
        except StopIteration:
            return asked


def params(cells: Iterable[Cell], **statistics: float) -> Params:
    seeds: dict[str, list[int]] = {}
    for cell in cells:
        seeds.setdefault(cell.variant, []).append(cell.seed)
    return params_from(
        {
            "edition": "pocket",
            "editions": {"pocket": {"benchmarks": ["mmsap"], "models": ["m"], "seeds": [0]}},
            "benchmarks": {"mmsap": {"variants": list(seeds), "seeds": seeds, "protocol": "forced_choice"}},
            "variants": {name: {} for name in seeds},
            "protocols": {"forced_choice": {}},
            "parsers": list(PARSERS),
            "statistics": {"confidence": 0.95} | statistics,
        }
    )


def measured(
    folder: Path, cells: Mapping[Cell, Sequence[tuple[Question, Sequence[AnsweredTurn]]]], **statistics: float
) -> list[Metric]:
    for (variant, seed, _), pairs in cells.items():
        write_questions(folder / "variants", variant, seed, [question for question, _ in pairs])
        write_replies(folder / "replies.parquet", variant, seed, [asked for _, turns in pairs for asked in turns])
    replies, answers = (folder / f"{name}.parquet" for name in ("replies", "answers"))
    parse(folder / "variants", replies, answers, cells=list(cells), parsers=PARSERS)
    measure(
        params(cells, **statistics),
        "m",
        "mmsap",
        answers=answers,
        out=folder / "metrics.parquet",
    )
    return tables.read_metrics(folder / "metrics.parquet")


PAPER = benchmark(40, 35, 40)
"""A tenth of the published sizes, so that shares are those of the paper."""


def by_respondent(
    tmp_path: Path, behaviour: str, variant: str = "original", seeds: int = 1, questions=PAPER, **options
):
    engine = Respondent(behaviour, RespondentModel(engine="respondent", behaviour=behaviour))

    cells = {}
    for seed in range(seeds):
        asked = [variants.VARIANTS[variant](question, seed=seed) for question in questions]
        cells[Cell(variant, seed)] = [
            (question, dialogue(question, partial(scripted_reply, engine, question, folder=tmp_path)))
            for question in asked
        ]
    return measured(tmp_path, cells, **options)
