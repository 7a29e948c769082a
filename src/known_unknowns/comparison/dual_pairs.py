"""The answers to a pair of variants as one series: right as published, and refused when the refusal is right.

`known_unknowns.metrics.dual` defines the dual accuracy. Here two models are compared by it on the same questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from known_unknowns.comparison.models import Answers
from known_unknowns.config import Params
from known_unknowns.metrics import dual


def dual_series(params: Params, benchmark: str, answers: Sequence[Answers]) -> Iterator[Answers]:
    """Yield a series for each pair of variants with a dual accuracy, for every model and parser that answered both."""
    found = {(a.series.model, a.series.parser, a.series.variant): a for a in answers}
    for pair in dual.combinations(params, benchmark):
        for (model, parser, variant), first in found.items():
            second = found.get((model, parser, pair.variants[1])) if variant == pair.variants[0] else None
            combined = None if second is None else _combine(pair.name, first, second)
            if combined is not None:
                yield combined


def _combine(name: str, first: Answers, second: Answers) -> Answers | None:
    """Return the questions that count in the dual accuracy; None if the refusal is right for none of them.

    A variant with one seed is combined with every seed of the other one.
    """
    place = {question: number for number, question in enumerate(first.ids)}
    at_second = [n for n, question in enumerate(second.ids) if question in place and second.refusal_is_right[n]]
    at_first = [place[second.ids[n]] for n in at_second]
    if not at_second:
        return None
    seeds = sorted(first.correct.keys() & second.correct.keys())
    pairs = {seed: (seed, seed) for seed in seeds}
    if len(second.correct) == 1:
        pairs = {seed: (seed, next(iter(second.correct))) for seed in first.correct}
    elif len(first.correct) == 1:
        pairs = {seed: (next(iter(first.correct)), seed) for seed in second.correct}
    return Answers(
        replace(first.series, variant=name),
        tuple(first.ids[n] for n in at_first),
        tuple(first.groups[n] for n in at_first),
        {
            seed: np.logical_and(first.correct[a][at_first], second.correct[b][at_second])
            for seed, (a, b) in pairs.items()
        },
        (True,) * len(at_first),
    )
