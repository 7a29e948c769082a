"""Dual accuracy: a question counts if it is right as published, and refused when the refusal is the right answer.

| metric                   | numerator                                     | denominator                          |
|--------------------------|-----------------------------------------------|--------------------------------------|
| dual_accuracy            | right as published, and refused when changed  | all pairs                            |
| dual_accuracy_answerable | the same                                      | pairs whose published answer is not  |
|                          |                                               | the refusal                          |
| right_as_published       | right as published                            | all pairs                            |
| refused_when_changed     | refused when changed                          | all pairs                            |
| recognised_when_changed  | refused or abstained when changed             | all pairs                            |
| refused_given_right      | right as published, and refused when changed  | pairs that are right as published    |
| chance                   | probability that two uniform guesses are both | all pairs                            |
|                          | right                                         |                                      |
| unpaired                 | questions of only one of the variants         | questions of either variant          |

A pair is a question under two variants, joined by its id. "Changed" is the second variant, whose right answer is the
refusal: its right option is removed, or its images have no content. Answers that abstain, and unparsed, cut and failed
ones, are neither right nor refused; ``recognised_when_changed`` also counts those that abstain. If the published answer
is the refusal, `nota_only` does not change the question, so that a model that always refuses is right twice;
``dual_accuracy_answerable`` leaves these pairs out. ``unpaired`` is computed by `known_unknowns.metrics.measure`. The
metrics are defined by this project, not by a paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from known_unknowns.benchmark.metrics import AcrossVariants, Ratio
from known_unknowns.metrics.proportions import CHANCE
from known_unknowns.metrics.rows import UNPAIRED
from known_unknowns.records import ABSTAINED, REFUSED, Definition

if TYPE_CHECKING:
    import pandas as pd

    from known_unknowns.config import Params
    from known_unknowns.records import ResolvedProtocol

DUAL, ANSWERABLE = "dual_accuracy", "dual_accuracy_answerable"
SEPARATOR = "+"
"""The entry of a pair in the column of variants is ``<first>+<second>``."""
AS_PUBLISHED = ("original", "shuffled_options")
"""Functions of variants that keep the content of a question. The first that a benchmark has is used."""
REFUSAL_IS_RIGHT = ("nota_only", "noise", "gaussian", "blank")
"""Functions of variants after which the refusal is the right answer."""

_SECTION = "docs/metrics.md#dual-accuracy"
DEFINITIONS: Mapping[str, Definition] = {
    DUAL: Definition(
        "Share of the questions that are right unchanged, and refused when changed so that the refusal is right.",
        _SECTION,
    ),
    ANSWERABLE: Definition(
        "Of the questions whose answer is not the refusal, the share that is right unchanged, and refused when changed "
        "so that the refusal is right.",
        _SECTION,
    ),
    "right_as_published": Definition("Share of the questions that are right unchanged.", _SECTION),
    "refused_when_changed": Definition(
        "Share of the questions that are refused when changed so that the refusal is right.", _SECTION
    ),
    "recognised_when_changed": Definition(
        "Share of the questions whose reply refuses or abstains when changed so that the refusal is right.", _SECTION
    ),
    "refused_given_right": Definition(
        "Of the questions that are right unchanged, the share that is refused when changed.", _SECTION
    ),
    CHANCE: Definition("Probability that two uniform guesses are both right.", _SECTION),
    UNPAIRED: Definition("Share of the questions that only one of the two variants has.", _SECTION),
}
"""The metrics in sentences, for pages."""


def combinations(params: Params, benchmark: str) -> tuple[AcrossVariants, ...]:
    """Return `pairs_of` the variants of a benchmark in a configuration."""
    return pairs_of(params.functions(benchmark), params.protocols(benchmark))


def pairs_of(functions: Mapping[str, str], protocols: Mapping[str, ResolvedProtocol]) -> tuple[AcrossVariants, ...]:
    """Return the pairs of a benchmark's variants that have a dual accuracy.

    Parameters
    ----------
    functions, protocols : mapping
        Those of each variant. The function decides whether the variant is the first or the second of a pair.

    Returns
    -------
    tuple of AcrossVariants
        Each variant of `REFUSAL_IS_RIGHT`, paired with the published questions asked by the same protocol.
    """
    found = []
    for second in (name for name in functions if functions[name] in REFUSAL_IS_RIGHT):
        same = [name for name in functions if protocols[name] == protocols[second]]
        functions_of_same = {functions[name] for name in same}
        used = next((function for function in AS_PUBLISHED if function in functions_of_same), None)
        found += [
            AcrossVariants(f"{first}{SEPARATOR}{second}", (first, second), dual_accuracy, paired=True)
            for first in same
            if functions[first] == used
        ]
    return tuple(found)


def dual_accuracy(cells: Sequence[pd.DataFrame]) -> dict[str, Ratio]:
    """Compute the metrics of the module's table, except ``unpaired``.

    Parameters
    ----------
    cells : sequence of DataFrame
        The answers to the published questions, and to the same questions in the same order as changed.

    Returns
    -------
    dict from str to Ratio
        Numerators and denominators of shape (questions,). Empty if the changed questions have no refusal.
    """
    published, changed = cells
    pairs = changed["refusal_is_correct"]
    if len(pairs) and not pairs.any():
        return {}
    right, refused = published["correct"] & pairs, (changed["outcome"] == REFUSED) & pairs
    recognised = refused | ((changed["outcome"] == ABSTAINED) & pairs)
    answerable = pairs & ~published["refusal_is_correct"]
    return {
        DUAL: Ratio(right & refused, pairs),
        ANSWERABLE: Ratio(right & refused & answerable, answerable),
        "right_as_published": Ratio(right, pairs),
        "refused_when_changed": Ratio(refused, pairs),
        "recognised_when_changed": Ratio(recognised, pairs),
        "refused_given_right": Ratio(right & refused, right),
        CHANCE: Ratio(published["chance"] * changed["chance"] * pairs, pairs),
    }
