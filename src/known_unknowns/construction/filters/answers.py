"""Filters that ask models, and the balance of labels."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence

from known_unknowns.construction.candidates import Candidate
from known_unknowns.construction.filters._interface import Context, Finding
from known_unknowns.errors import ConfigError

ALPHA = 0.01
"""A question is solvable without its image if as many right answers have at most this probability under guessing."""
TOLERANCE = 1.5
"""A label may be the answer this many times as often as it would be if all were equally frequent."""


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
    from scipy.stats import binom

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
        if answers and binom.sf(right - 1, len(answers), chance) <= ALPHA:
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
    """Find the candidates of each kind, drawn at random, whose answer label is too frequent.

    Of n candidates of a kind with m options, at most 1.5 n / m may have the same label.
    """
    groups: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        groups[candidate.kind].append(candidate)
    rng = random.Random(f"balance/{context.seed}")
    for kind, members in sorted(groups.items()):
        options = max(len(candidate.options) for candidate in members)
        most = max(1, int(TOLERANCE * len(members) / options))
        for label in sorted({candidate.answer for candidate in members}):
            having = [candidate for candidate in members if candidate.answer == label]
            for candidate in rng.sample(having, max(0, len(having) - most)):
                yield (
                    candidate.id,
                    f"{label} is the answer to {len(having)} of {len(members)} questions of the kind {kind}; "
                    f"at most {most} are balanced",
                )
