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
| accuracy_high_bound     | correct or failed; unparsed or cut without  | all questions                        |
|                         | a label                                     |                                      |
| chance                  | 1 / number of options                       | all questions                        |
| above_chance            | correct, less 1 / number of options         | all questions                        |
| constant_answer         | the most frequent right label is the right  | all questions                        |
|                         | one                                         |                                      |

A reply that abstains, is unparsed, cut or failed is not correct. The labels are those that any question of the
benchmark offers, so that all variants have the same metrics. The shares of labels, ``share_no_letter`` and
``share_failed`` add up to 1; ``share_no_letter`` contains ``share_abstained`` and ``share_cut``. A parsed label that
is not offered counts in its share and in ``share_unparsed``. It is certainly wrong, so that the upper bound of the
accuracy does not count it: a reply "B" where `nota_only` removed option B chooses the removed option, as does its text
alone, whose label is `NOT_OFFERED`. Other unparsed or cut replies without a label count in the bound. A reply that
abstains chose no option, so that it does not count.

No option but the refusal is right if the answer is the refusal, if no option is the answer, and for every question of a
variant without content (`Variant.content_free`), whatever the answer of its questions is.

A metric that has only one possible value for the questions of a category is undefined (`undefined_ratios`): on
`nota_only`, every refusal is right, and no other answer is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from known_unknowns.benchmark.metrics import Ratio, ScoreArrays
from known_unknowns.records import OUTCOMES, Metric, Question

CHANCE, ABOVE_CHANCE, ACCURACY = "chance", "above_chance", "accuracy"
CONSTANT_ANSWER = "constant_answer"
"""The accuracy of a reply that is always the same label, the best one. It follows from the questions."""
_CONSTANT_METHOD = "known from the questions, not estimated: always "
RECOGNISED = ("recognised", "recognised_refused", "recognised_abstained")
"""The share that recognised that nothing can be answered, and its two parts."""
SHARE = "share_"
"""The beginning of the names of the shares of answers, and of no metric of a benchmark."""


def ratios(scores: ScoreArrays, labels: Sequence[str], *, content_free: bool = False) -> dict[str, Ratio]:
    """Compute the metrics of the module's table, except ``above_chance`` and ``constant_answer``.

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


def undefined_ratios(scores: ScoreArrays, members: np.ndarray) -> dict[str, str]:
    """Return the metrics that have one possible value, whatever is replied, with the reason why they are undefined.

    Parameters
    ----------
    scores : ScoreArrays
        One parser's scores.
    members : ndarray of bool, shape (questions,)
        The questions of a category.

    Returns
    -------
    dict from str to str
    """
    refusable = np.array([question.refusal is not None for question in scores.questions], dtype=bool)
    refusal_is_correct = scores.refusal_is_correct[members]
    found = {}
    if scores.no_option_is_right[members].all():
        found["accuracy_answered"] = "undefined: no option but the refusal is right"
    if not refusable[members].any():
        found["recognised_refused"] = "undefined: no question offers a refusal"
    elif refusal_is_correct[refusable[members]].all():
        found["refusal_precision"] = "undefined: every refusal is right"
    elif not refusal_is_correct.any():
        found["refusal_precision"] = "undefined: no refusal is right"
    return found


def right_labels(questions: Sequence[Question]) -> np.ndarray:
    """Return the label of the right option of each question, "" if none is right."""
    return np.array(["" if q.answer is None else q.options[q.answer].label for q in questions])


def constant_answer(accuracy: Metric, right: np.ndarray) -> Metric:
    """Return the accuracy of always replying the label that is right most often.

    Parameters
    ----------
    accuracy : Metric
        The accuracy on the same questions.
    right : ndarray of str
        The questions' right labels (`right_labels`), of several seeds one after another.

    Returns
    -------
    Metric

    Examples
    --------
    >>> accuracy = Metric("m", "b", "original", 0, "robust", "Overall", "accuracy", 0.5, 0.1, 0.9, 4, "Wilson")
    >>> found = constant_answer(accuracy, np.array(["A", "C", "C", "B"]))
    >>> found.value, constant_label(found)
    (0.5, 'C')
    """
    labels, counts = np.unique(right[right != ""], return_counts=True)
    found = replace(accuracy, name=CONSTANT_ANSWER, value=None, low=None, high=None, spread=None)
    if not len(labels):
        return replace(found, method="undefined: no option is right")
    best = " or ".join(labels[counts == counts.max()].tolist())
    return replace(found, value=float(counts.max() / len(right)), method=_CONSTANT_METHOD + best)


def constant_label(metric: Metric) -> str:
    """Return the label of a `constant_answer`, or several that are right equally often; "" if it is undefined."""
    return "" if metric.value is None else metric.method.removeprefix(_CONSTANT_METHOD)
