"""Accuracy of a model on newly rendered pocket benchmarks, half of whose objects are held-out pairs.

Replies are parsed by the parsers of the report. The seeds of the pocket edition are in params.yaml; use other ones
here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.benchmark.protocol import ask
from known_unknowns.engines import Engine
from known_unknowns.records import REFUSED, AnsweredTurn, Question, Turn
from known_unknowns.scoring import PARSERS
from known_unknowns_benchmarks.mmsap.loader import BASIC, KNOW
from known_unknowns_pocket.benchmarks import actiview, humblebench, mmsap

Tally = dict[str, tuple[int, int]]
"""Type of question to the number of right answers and of questions."""

Vary = Callable[[Question], Question]
"""Returns the variant of a question."""

OFFICIAL, ROBUST = "official", "robust"


def tally(
    engine: Engine, *, seed: int, images: int, vary: Vary | None = None, parser: str = ROBUST, kinds: bool = False
) -> Tally:
    """Count right answers on a pocket HumbleBench, five questions an image, by type of question.

    With ``kinds``, count by template, such as "count" or "existence", and only questions whose right option is not the
    refusal.
    """
    made = [one.kind for _, asked in humblebench.questions(seed, images) for one in asked] if kinds else []
    prompt = registry.get("humblebench").prompt
    found = _replies(
        engine, "humblebench", humblebench.build, lambda one: ask(one, prompt(one)), seed, images, vary, parser
    )
    return _counted(
        (made[index] if kinds else question.category, parsed.choice == question.answer)
        for index, question, parsed in found
        if not kinds or question.answer != question.refusal
    )


def mmsap_tally(
    engine: Engine,
    *,
    seed: int,
    images: int,
    refusal_prompt: bool = False,
    vary: Vary | None = None,
    parser: str = ROBUST,
) -> Tally:
    """Count right answers on a pocket MM-SAP, first turns only.

    They are counted by subset and, after a slash, the sub-task of BasicVisQA; whether the emblem of KnowVisQA is taught
    (the others are to be refused); whether the wording of BeyondVisQA is held out.
    """
    benchmark = registry.get("mmsap")
    prompt = benchmark.refusal_prompt if refusal_prompt else benchmark.prompt
    found = _replies(engine, "mmsap", mmsap.build, lambda one: ask(one, prompt(one)), seed, images, vary, parser)
    return _counted((_type_of(question), _is_right(question, parsed)) for _, question, parsed in found)


def actiview_tally(
    engine: Engine, *, seed: int, images: int, protocol: str = "full_image", parser: str = ROBUST
) -> Tally:
    """Count right answers, by sub-class, on a pocket ActiView with a ``protocol`` of one turn."""
    first = registry.get("actiview").protocols()[protocol].function
    found = _replies(engine, "actiview", actiview.build, lambda one: next(first(one)), seed, images, None, parser)
    return _counted((question.category, parsed.choice == question.answer) for _, question, parsed in found)


def _replies(
    engine: Engine,
    name: str,
    build: Callable[..., object],
    asked: Callable[[Question], Turn],
    seed: int,
    images: int,
    vary: Vary | None,
    parser: str,
) -> list[tuple[int, Question, ParsedAnswer]]:
    """Return the number of each question of a rendered benchmark, the question, and the parsed reply to its turn."""
    with TemporaryDirectory() as raw, TemporaryDirectory() as folder:
        build(raw, seed=seed, images=images)
        questions = list(registry.get(name).load(Path(raw), Path(folder)))
        questions = [vary(question) for question in questions] if vary else questions
        turns = [asked(question) for question in questions]
        found = []
        for batch in engine.answer(turns, folder=Path(folder)):
            for index, reply in batch:
                turn, question = turns[index], questions[index]
                answered = AnsweredTurn(question.id, 0, turn.step, turn.text, (), turn.labels, "", reply)
                found.append((index, question, PARSERS[parser](answered, question)))
        return found


def _type_of(question: Question) -> str:
    subset, extra = question.extra["subset"], question.extra
    if subset == BASIC:
        return f"{subset}/{question.category}"
    if subset == KNOW:
        return f"{subset}/{'taught' if extra['taught'] else 'not taught'}"
    return f"{subset}/{'held-out' if extra['held_out'] else 'known'} wordings"


def _is_right(question: Question, parsed: ParsedAnswer) -> bool:
    if question.extra["subset"] == KNOW and not question.extra["taught"]:
        return parsed.outcome == REFUSED
    return parsed.choice == question.answer


def _counted(outcomes: Iterable[tuple[str, bool]]) -> Tally:
    right, total = Counter(), Counter()
    for kind, is_right in outcomes:
        total[kind] += 1
        right[kind] += is_right
    return {kind: (right[kind], total[kind]) for kind in sorted(total)}
