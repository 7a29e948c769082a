"""How well a model answers scenes that no training saw: held-out colour and shape pairs, and the benchmark's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from known_unknowns.engines import Engine
from known_unknowns.pocket import humblebench as pocket
from known_unknowns.protocols import ask
from known_unknowns.records import Question

Tally = dict[str, tuple[int, int]]
"""Type of question to how many were right, and of how many."""


def tally(
    engine: Engine, *, seed: int, images: int, vary: Callable[[Question], Question] = lambda question: question
) -> Tally:
    """Right answers on the pocket benchmark that ``seed`` makes, five questions an image, in a variant.

    A reply is right when, stripped, it is the answer's letter. The shipped edition's own seed is in params.yaml:
    give another one, to measure on other pictures.
    """
    from known_unknowns.benchmarks import humblebench

    with TemporaryDirectory() as raw, TemporaryDirectory() as folder:
        pocket.build(raw, seed=seed, images=images)
        questions = [vary(question) for question in humblebench.load(Path(raw), Path(folder))]
        turns = [ask(question) for question in questions]
        right, asked = Counter(), Counter()
        for batch in engine.answer(turns, folder=Path(folder)):
            for index, reply in batch:
                asked[questions[index].category] += 1
                right[questions[index].category] += reply.text.strip() == turns[index].right
    return {category: (right[category], asked[category]) for category in sorted(asked)}
