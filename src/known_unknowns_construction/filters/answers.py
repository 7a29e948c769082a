"""Filters that ask models, and the balance of labels."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence

from known_unknowns.errors import ConfigError
from known_unknowns_construction.candidates import Candidate
from known_unknowns_construction.filters._interface import Context, Finding

ALPHA = 0.01
"""A question is solvable without its image if as many right answers have at most this probability under guessing."""
TOLERANCE = 1.5
"""A label or a kind may be this many times as frequent as it would be if all were equally frequent."""


def solvable_without_image(candidates: Sequence[Candidate], context: Context) -> Iterator[Finding]:
    """Find questions that models answer right without the image, more often than guessing explains.

    Of k models in n attempts each, x answers are right. The finding is P(X >= x) <= 0.01 for k n independent guesses.
    Attempts of one model are not independent; the options are rotated between them. Answers that cannot be parsed count
    as wrong.

    Raises
    ------
    ConfigError
        If even k n right answers would not be enough.
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
