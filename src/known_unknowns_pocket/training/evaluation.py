"""Accuracy of a model on newly rendered pocket benchmarks, half of whose objects are held-out pairs.

Replies are parsed by the parsers of the report. The seeds of the pocket edition are in params.yaml; use other ones
here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from known_unknowns.engines import Engine
from known_unknowns.protocols import ask
from known_unknowns.records import REFUSED, AnsweredTurn, Question, Turn
from known_unknowns.scoring import PARSERS, ParsedAnswer
from known_unknowns_benchmarks.mmsap.loader import BASIC, KNOW
from known_unknowns_pocket.benchmarks import actiview, humblebench, mmsap

Tally = dict[str, tuple[int, int]]
"""Type of question to the number of right answers and of questions."""

OFFICIAL, ROBUST = "official", "robust"


def tally(
    engine: Engine,
    *,
    seed: int,
    images: int,
    vary: Callable[[Question], Question] = lambda question: question,
    parser: str = ROBUST,
    kinds: bool = False,
) -> Tally:
    """Count right answers on a pocket HumbleBench, five questions an image.

    Parameters
    ----------
    engine : Engine
        The model.
    seed, images : int
        Seed and number of images.
    vary : callable
        The variant of each question.
    parser : str
        Name of the parser.
    kinds : bool
        Count by template, such as "count" or "existence", and only questions whose right option is not the
        refusal.

    Returns
    -------
    Tally
        By type of question.
    """
    from known_unknowns_benchmarks.humblebench import loader as benchmark

    with TemporaryDirectory() as raw, TemporaryDirectory() as folder:
        humblebench.build(raw, seed=seed, images=images)
        questions = [vary(question) for question in benchmark.load(Path(raw), Path(folder))]
        types = {question.id: question.category for question in questions}
        if kinds:
            made = [one for _, asked in humblebench.questions(seed, images) for one in asked]
            types = {question.id: one.kind for question, one in zip(questions, made, strict=True)}
            questions = [question for question in questions if question.answer != question.refusal]
        turns = [ask(question, benchmark.prompt(question)) for question in questions]
        return _counted(
            (types[question.id], parsed.choice == question.answer)
            for question, parsed in _parsed_replies(engine, questions, turns, Path(folder), parser)
        )


def mmsap_tally(
    engine: Engine,
    *,
    seed: int,
    images: int,
    refusal_prompt: bool = False,
    vary: Callable[[Question], Question] = lambda question: question,
    parser: str = ROBUST,
) -> Tally:
    """Count right answers on a pocket MM-SAP, first turns only.

    Parameters
    ----------
    engine : Engine
        The model.
    seed, images : int
        Seed and number of images.
    refusal_prompt : bool
        Use the refusal prompt.
    vary : callable
        The variant of each question.
    parser : str
        Name of the parser.

    Returns
    -------
    Tally
        By subset and, after a slash, the sub-task of BasicVisQA; whether the emblem of KnowVisQA is taught (the
        others are to be refused); whether the wording of BeyondVisQA is held out.
    """
    from known_unknowns_benchmarks.mmsap import loader as benchmark

    with TemporaryDirectory() as raw, TemporaryDirectory() as folder:
        mmsap.build(raw, seed=seed, images=images)
        questions = [vary(question) for question in benchmark.load(Path(raw), Path(folder))]
        prompt = benchmark.refusal_prompt if refusal_prompt else benchmark.prompt
        turns = [ask(question, prompt(question)) for question in questions]
        found = list(_parsed_replies(engine, questions, turns, Path(folder), parser))
    return _counted((_type_of(question), _is_right(question, parsed)) for question, parsed in found)


def actiview_tally(
    engine: Engine, *, seed: int, images: int, protocol: str = "full_image", parser: str = ROBUST
) -> Tally:
    """Count right answers, by sub-class, on a pocket ActiView with a ``protocol`` of one turn."""
    from known_unknowns_benchmarks.actiview import loader as benchmark
    from known_unknowns_benchmarks.actiview.protocols import PROTOCOLS

    with TemporaryDirectory() as raw, TemporaryDirectory() as folder:
        actiview.build(raw, seed=seed, images=images)
        questions = list(benchmark.load(Path(raw), Path(folder)))
        turns = [next(PROTOCOLS[protocol].function(question)) for question in questions]
        found = list(_parsed_replies(engine, questions, turns, Path(folder), parser))
    return _counted((question.category, parsed.choice == question.answer) for question, parsed in found)


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


def _parsed_replies(
    engine: Engine, questions: Sequence[Question], turns: Sequence[Turn], folder: Path, parser: str
) -> Iterator[tuple[Question, ParsedAnswer]]:
    """Each question with the parsed reply to its turn. The engine answers in its own order."""
    parse = PARSERS[parser]
    for batch in engine.answer(turns, folder=folder):
        for index, reply in batch:
            turn, question = turns[index], questions[index]
            answered = AnsweredTurn(question.id, 0, turn.step, turn.text, (), turn.labels, "", reply)
            yield question, parse(answered, question)


def _counted(outcomes: Iterator[tuple[str, bool]]) -> Tally:
    right, total = Counter(), Counter()
    for kind, is_right in outcomes:
        total[kind] += 1
        right[kind] += is_right
    return {kind: (right[kind], total[kind]) for kind in sorted(total)}
