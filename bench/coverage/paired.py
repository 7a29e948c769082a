"""Simulate paired comparisons: coverage of the interval, and rejections of the sign-flip test.

The latent score of an answer is a sum of normal effects: of the question, for both models (40% of the variance), of the
image, for each model (20%), and of the answer (40%). An answer is correct if its score exceeds the accuracy's quantile.

Usage: python bench/coverage/paired.py [--samples 4000] [--seed 1]
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.special import ndtri

from known_unknowns.metrics.paired import paired_difference

QUESTION, IMAGE, ANSWER = 0.4, 0.2, 0.4
GRID = [
    (images, each, a, b)
    for images, each in ((12, 5), (20, 5), (60, 5), (330, 1))
    for a, b in ((0.8, 0.8), (0.8, 0.7), (0.97, 0.97), (0.97, 0.95))
]
"""Images, questions on each, and the two accuracies."""


def simulate(design: tuple[int, int, float, float], samples: int, rng: np.random.Generator) -> tuple[float, ...]:
    """Return the shares of samples whose interval contains the difference, with p < 0.05, and without an interval."""
    images, each, *accuracies = design
    groups = np.repeat(np.arange(images), each)
    covered = rejected = undefined = 0
    for _ in range(samples):
        question = rng.normal(size=len(groups), scale=QUESTION**0.5)
        right = [
            ndtri(accuracy)
            + question
            + rng.normal(size=images, scale=IMAGE**0.5)[groups]
            + rng.normal(size=len(groups), scale=ANSWER**0.5)
            > 0
            for accuracy in accuracies
        ]
        found = paired_difference(*right, groups)
        rejected += found.p is not None and found.p < 0.05
        if found.low is None or found.high is None:
            undefined += 1
        else:
            covered += found.low <= accuracies[0] - accuracies[1] <= found.high
    return covered / max(samples - undefined, 1), rejected / samples, undefined / samples


def main() -> None:
    """Print the table "Pairs of models" of README.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print("| images | questions on each | accuracies | coverage % | p < 0.05 % | no interval % |")
    print("|---|---|---|---|---|---|")
    for design in GRID:
        images, each, a, b = design
        shares = " | ".join(f"{100 * share:.1f}" for share in simulate(design, options.samples, rng))
        print(f"| {images} | {each} | {a:g}, {b:g} | {shares} |")


if __name__ == "__main__":
    main()
