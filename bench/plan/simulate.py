"""Simulate the power of `known-unknowns plan sample`: how often a sample shows a difference from a published number.

The answers to all published questions are drawn once for each population: a model answers the questions of an image
with a probability of its own, which depends on the stratum as well. Its number on all of them is known. The published
number is this one less the difference, or equal to it. Then samples are drawn as the product draws them
(`known_unknowns.data.sample`), with another seed each, and judged as the verdicts judge: the interval of the sample,
times the finite-population correction, contains the published number or not.

    python bench/plan/simulate.py --seed 2
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from known_unknowns.data.sample import sample, smallest
from known_unknowns.metrics import clustered_interval
from known_unknowns.metrics.power import correction, sample_power
from known_unknowns.records import Option, Question

POWER = 0.8
OPTIONS = tuple(Option(letter, letter, f"{letter}. ") for letter in "ABCDE")


@dataclass(frozen=True)
class Benchmark:
    """The shape of a benchmark: its numbers of images and questions, its categories, and the share of refusals."""

    name: str
    images: int
    questions: int
    categories: int
    refusals: float


BENCHMARKS = (
    Benchmark("HumbleBench", 4_480, 22_831, 3, 0.146),
    Benchmark("MM-SAP", 1_058, 1_150, 3, 0.348),
    Benchmark("ActiView", 315, 325, 8, 0.0),
)
"""Questions, and images as far as the papers and released files state them; HumbleBench's are about 4,480."""


def questions_of(shape: Benchmark, rng: np.random.Generator) -> list[Question]:
    """Return questions of this shape, with at least one on each image."""
    images = np.concatenate([np.arange(shape.images), rng.integers(shape.images, size=shape.questions - shape.images)])
    categories = rng.integers(shape.categories, size=shape.questions)
    refused = rng.random(shape.questions) < shape.refusals
    return [
        Question(str(n), "x", "", OPTIONS, 4 if refused[n] else 0, 4, (), f"type {categories[n]}", f"image {images[n]}")
        for n in range(shape.questions)
    ]


def answers_of(questions: Sequence[Question], accuracy: float, icc: float, spread: float, rng: np.random.Generator):
    """Return whether the model answers each question rightly, with this correlation within images.

    The accuracies of the strata lie up to ``spread`` above and below the mean.
    """
    strata = sorted({(q.category, q.answer) for q in questions})
    means = dict(zip(strata, np.linspace(-spread, spread, len(strata)), strict=True))
    shift = np.mean([means[q.category, q.answer] for q in questions])
    share = rng.random(len(questions)) < np.sqrt(icc)  # a question that follows its image
    images = {group: rng.random() for group in {q.group for q in questions}}
    own = rng.random(len(questions))
    return np.array(
        [
            (images[q.group] if share[n] else own[n]) < accuracy + means[q.category, q.answer] - shift
            for n, q in enumerate(questions)
        ]
    )


def simulated(
    questions: Sequence[Question], answers: np.ndarray, limit: int, differences: Sequence[float], samples: int
) -> list[float]:
    """Return how often a sample shows each difference of the published number from that of all questions."""
    place = {question.id: n for n, question in enumerate(questions)}
    truth, shown = answers.mean(), np.zeros(len(differences))
    for seed in range(1, samples + 1):
        drawn = sample(questions, limit, seed=seed)
        right, asked = Counter[str](), Counter[str]()
        for question in drawn:
            asked[question.group] += 1
            right[question.group] += int(answers[place[question.id]])
        groups = list(asked)
        low, high = clustered_interval([right[g] for g in groups], [asked[g] for g in groups])
        value, factor = sum(right.values()) / len(drawn), correction(len(drawn), len(questions))
        low, high = value + factor * (low - value), value + factor * (high - value)
        shown += [not low <= truth - difference <= high for difference in differences]
    return list(shown / samples)


def table(arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the rows of the table in Markdown."""
    yield "| benchmark | accuracy | ICC | strata | difference | sample | planned | simulated | without a difference |"
    yield "|---|---|---|---|---|---|---|---|---|"
    rng = np.random.default_rng(arguments.seed)
    for shape in BENCHMARKS:
        questions = questions_of(shape, rng)
        for difference in (0.02, 0.05):
            for accuracy, icc, spread in ((0.5, 0.2, 0.0), (0.7, 0.2, 0.0), (0.7, 0.0, 0.0), (0.7, 0.2, 0.2)):

                def power_of(drawn: Sequence[Question]) -> float:
                    sizes = list(Counter(question.group for question in drawn).values())
                    return sample_power(sizes, len(questions), difference, accuracy=accuracy)  # noqa: B023

                drawn = smallest(questions, lambda some: power_of(some) >= POWER)
                answers = answers_of(questions, accuracy, icc, spread, rng)
                found, wrong = simulated(questions, answers, len(drawn), (difference, 0.0), arguments.samples)
                yield (
                    f"| {shape.name} | {accuracy:.0%} | {icc:g} | {'±' + format(spread, '.0%') if spread else 'equal'} "
                    f"| {100 * difference:g} points | {len(drawn):,} of {len(questions):,} | {power_of(drawn):.1%} "
                    f"| {found:.1%} | {wrong:.1%} |"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=2, help="seed of the populations (2)")
    parser.add_argument("--samples", type=int, default=300, help="samples of each population (300)")
    for line in table(parser.parse_args()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
