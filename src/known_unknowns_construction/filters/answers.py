"""Filters that ask models, the function that asks them as the benchmark would, and the balance of labels."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from known_unknowns.benchmark.interface import Benchmark
from known_unknowns.benchmark.protocol import Dialogue
from known_unknowns.benchmark.protocol import ask as ask_for_label
from known_unknowns.config import Params
from known_unknowns.errors import ConfigError
from known_unknowns.records import AnsweredTurn, Cell, Image, Option, Question
from known_unknowns.scoring import robust
from known_unknowns_construction.candidates import Candidate
from known_unknowns_construction.filters._interface import Ask, Context, Finding, ModelAnswer
from known_unknowns_construction.model_replies import run_cells

ALPHA = 0.01
"""A question is solvable without its image if as many right answers have at most this probability under guessing."""
TOLERANCE = 1.5
"""A label or a kind may be this many times as frequent as it would be if all were equally frequent."""


def solvable_without_image(candidates: Sequence[Candidate], context: Context) -> Iterator[Finding]:
    """Find questions that models answer right without the image, more often than guessing explains.

    Of k models in n attempts each, x answers are right. The finding is P(X >= x) <= 0.01 for k n independent guesses.
    Attempts of one model are not independent; the options are rotated between them. Answers that cannot be parsed count
    as wrong.

    Raises ConfigError if even k n right answers would not be enough.
    """
    if context.ask is None:
        return
    given = context.ask(candidates, False)
    for candidate in candidates:
        answers = given[candidate.id]
        right = sum(answer.option == candidate.answer_index for answer in answers)
        chance = 1 / len(candidate.options)
        if answers and chance ** len(answers) > ALPHA:
            raise ConfigError(
                f"{len(answers)} answers to a question cannot tell knowledge from guessing: give more attempts",
                path="--attempts",
            )
        guessed = (
            math.comb(len(answers), k) * chance**k * (1 - chance) ** (len(answers) - k)
            for k in range(right, len(answers) + 1)
        )
        if answers and sum(guessed) <= ALPHA:
            models = len({answer.model for answer in answers})
            yield candidate.id, f"{right} of {len(answers)} answers of {models} models are right without the image"


def models_disagree(candidates: Sequence[Candidate], context: Context) -> Iterator[Finding]:
    """Find questions to which all models, at least two, give the same other answer when they see the image."""
    if context.ask is None:
        return
    given = context.ask(candidates, True)
    for candidate in candidates:
        answers = [answer for answer in given[candidate.id] if answer.attempt == 0]
        options = {answer.option for answer in answers}
        if len(answers) > 1 and len(options) == 1:
            (option,) = options
            if option is not None and option != candidate.answer_index:
                models = ", ".join(sorted(answer.model for answer in answers))
                yield candidate.id, f"all models answer {candidate.labels[option]}: {models}"


def balance(candidates: Sequence[Candidate], context: Context) -> Iterator[Finding]:
    """Find candidates, drawn at random, of a too frequent kind, and those of each kind with a too frequent answer.

    Of n candidates of K kinds, at most 1.5 n / K may be of the same kind. Of n candidates of a kind with m options, at
    most 1.5 n / m may have the same label.
    """
    kinds: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        kinds[candidate.kind].append(candidate)
    reasons: dict[str, list[str]] = defaultdict(list)
    rng = random.Random(f"balance/{context.seed}")
    for kind, members in sorted(kinds.items()):
        options = max(len(candidate.options) for candidate in members)
        for label in sorted({candidate.answer for candidate in members}):
            having = [candidate for candidate in members if candidate.answer == label]
            text = f"{label} is the answer to {len(having)} of {len(members)} questions of the kind {kind}"
            for candidate, most in _surplus(having, len(members) / options, rng):
                reasons[candidate.id].append(f"{text}; at most {most} are balanced")
    for kind, members in sorted(kinds.items()):
        text = f"{len(members)} of {len(candidates)} questions are of the kind {kind}"
        for candidate, most in _surplus(members, len(candidates) / len(kinds), rng):
            reasons[candidate.id].append(f"{text}; at most {most} are balanced")
    yield from ((name, ". ".join(found)) for name, found in reasons.items())


def _surplus(having: Sequence[Candidate], equal: float, rng: random.Random) -> Iterator[tuple[Candidate, int]]:
    """Yield as many candidates as there are too many, with the number that may be there."""
    most = max(1, int(TOLERANCE * equal))
    for candidate in rng.sample(having, max(0, len(having) - most)):
        yield candidate, most


def asker(
    params: Params,
    benchmark: Benchmark,
    models: Sequence[str],
    *,
    attempts: int,
    folder: Path,
    journals: Path,
    refusal: bool,
) -> Ask:
    """Return the function that filters ask models with.

    It sends the benchmark's prompt in ``attempts`` attempts of each model; the options are rotated by one place from
    one to the next, except a refusal, which is the last one (``refusal``). ``folder`` is that of the candidate file,
    for the images; ``journals`` has a journal for each model.
    """
    prompt = benchmark.prompt

    def protocol(question: Question) -> Dialogue:
        yield ask_for_label(question, prompt(question))

    def ask(candidates: Sequence[Candidate], with_image: bool) -> Mapping[str, Sequence[ModelAnswer]]:
        given: dict[str, list[ModelAnswer]] = defaultdict(list)
        by_id = {candidate.id: candidate for candidate in candidates}
        variant = "with_image" if with_image else "without_image"
        questions = {
            attempt: [question_of(each, attempt, refusal=refusal, with_image=with_image) for each in candidates]
            for attempt in range(1 if with_image else attempts)
        }
        cells = {Cell(variant, attempt): (protocol, asked) for attempt, asked in questions.items()}
        for model in models if candidates else ():
            outcome, _ = run_cells(
                model,
                params.model(model),
                cells,
                journal=journals / f"{model}.jsonl",
                folder=folder,
                may_be_scripted=True,
            )
            for cell, turns in outcome.replies.items():
                attempt = cell.seed
                for question, turn in zip(questions[attempt], turns, strict=True):
                    option = _option(turn, question, by_id[question.id], attempt, refusal)
                    given[question.id].append(ModelAnswer(model, attempt, option))
        return {candidate.id: given[candidate.id] for candidate in candidates}

    return ask


def question_of(candidate: Candidate, attempt: int, *, refusal: bool, with_image: bool) -> Question:
    """Return a candidate as a question whose options are rotated by ``attempt`` places."""
    order = rotation(len(candidate.options), attempt, refusal=refusal)
    options = tuple(
        Option(label, candidate.options[place], f"{label}. ")
        for label, place in zip(candidate.labels, order, strict=True)
    )
    image = Image(candidate.image.path, candidate.image.sha256, candidate.image.width, candidate.image.height)
    return Question(
        id=candidate.id,
        benchmark="construction",
        text=candidate.question,
        options=options,
        answer=order.index(candidate.answer_index),
        refusal=len(options) - 1 if refusal else None,
        images=(image,) if with_image else (),
        category=candidate.kind,
        group=candidate.group,
    )


def rotation(options: int, attempt: int, *, refusal: bool) -> list[int]:
    """Return the original place of the option at each place. The refusal, which is the last one, does not move."""
    moving = options - 1 if refusal else options
    places = [(place + attempt) % moving for place in range(moving)]
    return [*places, options - 1] if refusal else places


def _option(turn: AnsweredTurn, question: Question, candidate: Candidate, attempt: int, refusal: bool) -> int | None:
    if turn.reply.error is not None:
        return None
    choice = robust(turn, question).choice
    return None if choice is None else rotation(len(candidate.options), attempt, refusal=refusal)[choice]
