"""Metrics of all benchmarks. Each is a ratio of two sums over the questions of one category.

| metric                  | numerator                                   | denominator                          |
|-------------------------|---------------------------------------------|--------------------------------------|
| accuracy                | correct                                     | all questions                        |
| share_<label>           | this label was parsed, offered or not       | all questions                        |
| share_no_letter         | a reply without a label of the benchmark    | all questions                        |
| share_abstained         | abstained                                   | all questions                        |
| share_unparsed          | not parsed as exactly one offered option    | all questions                        |
| share_cut               | ended by the length limit before an answer  | all questions                        |
| share_failed            | no reply                                    | all questions                        |
| recognised              | refused or abstained                        | no option but the refusal is right   |
| recognised_refused      | refused                                     | the same                             |
| recognised_abstained    | abstained                                   | the same                             |
| refusal_recall          | refused, and the answer is the refusal      | the answer is the refusal            |
| refusal_precision       | refused, and correct                        | refused                              |
| accuracy_answered       | correct                                     | answered                             |
| accuracy_low_bound      | correct                                     | all questions                        |
| accuracy_high_bound     | correct or failed; unparsed or cut without  | all questions                        |
|                         | a label                                     |                                      |
| chance                  | 1 / number of options                       | all questions                        |
| above_chance            | correct, less 1 / number of options         | all questions                        |

A reply that abstains, is unparsed, cut or failed is not correct. The labels are those that any question of the
benchmark offers, so that all variants have the same metrics. The shares of labels, ``share_no_letter`` and
``share_failed`` add up to 1; ``share_no_letter`` contains ``share_abstained`` and ``share_cut``. A parsed label that
is not offered counts in its share and in ``share_unparsed``. It is certainly wrong, so that the upper bound of the
accuracy does not count it: a reply "B" where `nota_only` removed option B chooses the removed option, as does its text
alone, whose label is `NOT_OFFERED`. Other unparsed or cut replies without a label count in the bound. A reply that
abstains chose no option, so that it does not count.

No option but the refusal is right if the answer is the refusal, if no option is the answer, and for every question of a
variant without content (`Variant.content_free`), whatever the answer of its questions is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from known_unknowns.benchmark.metrics import Ratio, ScoreArrays
from known_unknowns.records import OUTCOMES

CHANCE, ABOVE_CHANCE, ACCURACY = "chance", "above_chance", "accuracy"
RECOGNISED = ("recognised", "recognised_refused", "recognised_abstained")
"""The share that recognised that nothing can be answered, and its two parts."""
SHARE = "share_"
"""The beginning of the names of the shares of answers, and of no metric of a benchmark."""


def ratios(scores: ScoreArrays, labels: Sequence[str], *, content_free: bool = False) -> dict[str, Ratio]:
    """Compute the metrics of the module's table, except ``above_chance``.

    The interval of ``above_chance`` is that of the accuracy, shifted (`metrics.measure`).

    Parameters
    ----------
    scores : ScoreArrays
        One parser's scores.
    labels : sequence of str
        All labels that any question of the benchmark offers.
    content_free : bool
        Whether the variant's questions have no content (`Variant.content_free`).

    Returns
    -------
    dict from str to Ratio
        Numerators and denominators, arrays of shape (questions,).
    """
    all_questions = np.ones(len(scores.correct))
    answered, refused, abstained, unparsed, cut, failed = (scores.outcome == outcome for outcome in OUTCOMES)
    correct, refusal_is_correct = scores.correct, scores.refusal_is_correct
    nothing = all_questions.astype(bool) if content_free else scores.no_option_is_right
    shares = {
        ACCURACY: correct,
        **{f"{SHARE}{label}": scores.label == label for label in labels},
        "share_no_letter": ~failed & ~np.isin(scores.label, list(labels)),
        "share_abstained": abstained,
        "share_unparsed": unparsed,
        "share_cut": cut,
        "share_failed": failed,
        "accuracy_low_bound": correct,
        "accuracy_high_bound": correct | failed | ((unparsed | cut) & (scores.label == "")),
        CHANCE: scores.chance,
    }
    recognised = zip(RECOGNISED, (refused | abstained, refused, abstained), strict=True)
    return {
        **{name: Ratio(numerator, all_questions) for name, numerator in shares.items()},
        **{name: Ratio(numerator & nothing, nothing) for name, numerator in recognised},
        "refusal_recall": Ratio(refused & refusal_is_correct, refusal_is_correct),
        "refusal_precision": Ratio(refused & correct, refused),
        "accuracy_answered": Ratio(answered & correct, answered),
    }
