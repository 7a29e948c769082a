"""Metrics of all benchmarks. Each is a ratio of two sums over the questions of one category.

| metric                  | numerator                                   | denominator                          |
|-------------------------|---------------------------------------------|--------------------------------------|
| accuracy                | correct                                     | all questions                        |
| share_<label>           | this label was parsed, offered or not       | all questions                        |
| share_no_letter         | no label of the benchmark was parsed        | all questions                        |
| share_unparsed          | not parsed as exactly one offered option    | all questions                        |
| share_failed            | no reply                                    | all questions                        |
| refusal_recall          | refused, and the answer is the refusal      | the answer is the refusal            |
| refusal_precision       | refused, and correct                        | refused                              |
| accuracy_answered       | correct                                     | not refused, unparsed or failed      |
| accuracy_low_bound      | correct (unparsed and failed are wrong)     | all questions                        |
| accuracy_high_bound     | correct, failed, or without a parsed label  | all questions                        |
| chance                  | 1 / number of options                       | all questions                        |
| above_chance            | correct, less 1 / number of options         | all questions                        |

The labels are those that any question of the benchmark offers, so that all variants have the same metrics. The shares
of labels, ``share_no_letter`` and ``share_failed`` add up to 1. A parsed label that is not offered counts in its share
and in ``share_unparsed``. It is certainly wrong, so that the upper bound of the accuracy does not count it: a reply "B"
where `nota_only` removed option B chooses the removed option, as does its text alone, whose label is `NOT_OFFERED`.
Other unparsed replies without a label count in the bound.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from known_unknowns.benchmark.metrics import Ratio, ScoreArrays
from known_unknowns.records import ANSWERED, FAILED, REFUSED, UNPARSED

CHANCE, ABOVE_CHANCE, ACCURACY = "chance", "above_chance", "accuracy"
SHARE = "share_"
"""The beginning of the names of the shares of answers, and of no metric of a benchmark."""


def ratios(scores: ScoreArrays, labels: Sequence[str]) -> dict[str, Ratio]:
    """Compute the metrics of the module's table, except ``above_chance``.

    The interval of ``above_chance`` is that of the accuracy, shifted (`metrics.measure`).

    Parameters
    ----------
    scores : ScoreArrays
        One parser's scores.
    labels : sequence of str
        All labels that any question of the benchmark offers.

    Returns
    -------
    dict from str to Ratio
        Numerators and denominators, arrays of shape (questions,).
    """
    all_questions = np.ones(len(scores.correct))
    answered, refused, unparsed, failed = (
        scores.outcome == outcome for outcome in (ANSWERED, REFUSED, UNPARSED, FAILED)
    )
    correct, refusal_is_correct = scores.correct, scores.refusal_is_correct
    shares = {
        ACCURACY: correct,
        **{f"{SHARE}{label}": scores.label == label for label in labels},
        "share_no_letter": ~failed & ~np.isin(scores.label, list(labels)),
        "share_unparsed": unparsed,
        "share_failed": failed,
        "accuracy_low_bound": correct,
        "accuracy_high_bound": correct | failed | (unparsed & (scores.label == "")),
        CHANCE: scores.chance,
    }
    return {name: Ratio(numerator, all_questions) for name, numerator in shares.items()} | {
        "refusal_recall": Ratio(refused & refusal_is_correct, refusal_is_correct),
        "refusal_precision": Ratio(refused & correct, refused),
        "accuracy_answered": Ratio(answered & correct, answered),
    }
