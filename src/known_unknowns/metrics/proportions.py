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

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from known_unknowns.benchmark.metrics import Ratio, no_option_is_right
from known_unknowns.records import LIKELIHOOD, OUTCOMES, Definition, Metric
from known_unknowns.tables.confidence_sources import FOLLOWS

LABEL_MASS = "label_mass"
CHANCE, ABOVE_CHANCE, ACCURACY = "chance", "above_chance", "accuracy"
HIGH_BOUND = "accuracy_high_bound"
CONSTANT_ANSWER = "constant_answer"
"""The accuracy of a reply that is always the same label, the best one. It follows from the questions."""
_CONSTANT_METHOD = "known from the questions, not estimated: always "
RECOGNISED = ("recognised", "recognised_refused", "recognised_abstained")
"""The share that recognised that nothing can be answered, and its two parts."""
NO_TEXT = frozenset({LIKELIHOOD, "option_text", "option_text_sum"})
"""Parsers that do not read the text of a reply."""
NO_ABSTENTION = NO_TEXT | {"official"}
"""Parsers whose outcomes have no abstention."""
NEVER_ABSTAINS = "the parser finds no abstention"
SHARE = "share_"
"""The beginning of the names of the shares of answers, and of no metric of a benchmark."""


_SECTION = "docs/metrics.md#metrics-and-outcomes"
DEFINITIONS: Mapping[str, Definition] = {
    ACCURACY: Definition("Share of the questions whose reply is right.", _SECTION),
    "share_abstained": Definition(
        "Share of the questions whose reply says in its own words that it cannot answer.", _SECTION
    ),
    "share_unparsed": Definition("Share of the questions whose reply names no option, or more than one.", _SECTION),
    "share_cut": Definition("Share of the questions whose reply ended at the length limit before an answer.", _SECTION),
    "share_failed": Definition("Share of the questions without a reply.", _SECTION),
    HIGH_BOUND: Definition(
        "Accuracy if every reply was right that failed, or that was cut or unparsed without a label.", _SECTION
    ),
    CHANCE: Definition("Accuracy of a uniform guess among the offered options.", _SECTION),
    CONSTANT_ANSWER: Definition("Accuracy of always replying the label that is right most often.", _SECTION),
    "recognised": Definition(
        "Of the questions where no option but the refusal is right, the share whose reply refuses or abstains.",
        _SECTION,
    ),
    "recognised_refused": Definition(
        "Of the questions where no option but the refusal is right, the share whose reply chooses the refusal option.",
        _SECTION,
    ),
    "recognised_abstained": Definition(
        "Of the questions where no option but the refusal is right, the share whose reply says in its own words that "
        "it cannot answer.",
        _SECTION,
    ),
    "refusal_recall": Definition(
        "Of the questions whose right answer is the refusal, the share that was refused.", _SECTION
    ),
    "refusal_precision": Definition("Share of the refusals that are right.", _SECTION),
    "accuracy_answered": Definition(
        "Of the replies that choose an option other than the refusal, the share that is right.", _SECTION
    ),
}
"""The metrics in sentences, for pages."""


def ratios(cell: pd.DataFrame, labels: Sequence[str], *, content_free: bool = False) -> dict[str, Ratio]:
    """Compute the metrics of the module's table, except ``above_chance`` and ``constant_answer``.

    The interval of ``above_chance`` is that of the accuracy, shifted (`metrics.measure`).

    Parameters
    ----------
    cell : DataFrame
        The answers (`known_unknowns.benchmark.metrics`).
    labels : sequence of str
        All labels that any question of the benchmark offers.
    content_free : bool
        Whether the variant's questions have no content (`Variant.content_free`).

    Returns
    -------
    dict from str to Ratio
        Numerators and denominators of shape (questions,).
    """
    everything = pd.Series(True, index=cell.index)
    answered, refused, abstained, unparsed, cut, failed = (cell["outcome"] == outcome for outcome in OUTCOMES)
    correct, label, refusal_is_correct = cell["correct"], cell["label"], cell["refusal_is_correct"]
    without_label = (unparsed | cut) & label.isna()
    nothing = everything if content_free else no_option_is_right(cell)
    found = {ACCURACY: Ratio(correct, everything)}
    for offered in labels:
        found[f"{SHARE}{offered}"] = Ratio(label == offered, everything)
    return found | {
        "share_no_letter": Ratio(~failed & ~label.isin(labels), everything),
        "share_abstained": Ratio(abstained, everything),
        "share_unparsed": Ratio(unparsed, everything),
        "share_cut": Ratio(cut, everything),
        "share_failed": Ratio(failed, everything),
        HIGH_BOUND: Ratio(correct | failed | without_label, everything),
        CHANCE: Ratio(cell["chance"], everything),
        "recognised": Ratio((refused | abstained) & nothing, nothing),
        "recognised_refused": Ratio(refused & nothing, nothing),
        "recognised_abstained": Ratio(abstained & nothing, nothing),
        "refusal_recall": Ratio(refused & refusal_is_correct, refusal_is_correct),
        "refusal_precision": Ratio(refused & correct, refused),
        "accuracy_answered": Ratio(answered & correct, answered),
    }


def mass(cell: pd.DataFrame) -> dict[str, Ratio]:
    """Compute ``label_mass``, the mean probability of all labels together, and ``label_follows_text``.

    The second is the share of the replies with log-probabilities that all other metrics leave out. Both are of the
    likelihood parser alone.
    """
    if cell["parser"].iloc[0] != LIKELIHOOD:
        return {}
    has_mass = cell["label_mass"].notna()
    return {
        LABEL_MASS: Ratio(cell["label_mass"].fillna(0.0), has_mass),
        FOLLOWS: Ratio(cell["label_follows_text"], has_mass | cell["label_follows_text"]),
    }


def undefined_ratios(cell: pd.DataFrame, members: Mapping[str, np.ndarray]) -> dict[str, dict[str, str]]:
    """Return the metrics that have one possible value, whatever is replied, with the reason why they are undefined.

    Parameters
    ----------
    cell : DataFrame
        The answers.
    members : mapping from str to ndarray of bool, shape (questions,)
        The questions of each category.

    Returns
    -------
    dict from str to dict from str to str
        Reasons by category and metric.
    """
    parser = cell["parser"].iloc[0]
    impossible: dict[str, str] = {}
    if parser in NO_ABSTENTION:
        impossible |= {"share_abstained": NEVER_ABSTAINS, "recognised_abstained": NEVER_ABSTAINS}
    if parser in NO_TEXT:
        impossible["share_cut"] = "the parser reads no text, so that no reply is cut"
    refusable = cell["refusal_label"].notna().to_numpy()
    refusal_is_correct = cell["refusal_is_correct"].to_numpy()
    nothing_is_right = no_option_is_right(cell).to_numpy()
    found: dict[str, dict[str, str]] = {}
    for category, flags in members.items():
        reasons = found[category] = dict(impossible)
        if nothing_is_right[flags].all():
            reasons["accuracy_answered"] = "no option but the refusal is right"
        if not refusable[flags].any():
            reasons["recognised_refused"] = "no question offers a refusal"
            if parser in NO_ABSTENTION:
                reasons["recognised"] = "no question offers a refusal, and the parser finds no abstention"
        elif refusal_is_correct[flags & refusable].all():
            reasons["refusal_precision"] = "every refusal is right"
        elif not refusal_is_correct[flags].any():
            reasons["refusal_precision"] = "no refusal is right"
    return found


def constant_answer(accuracy: Metric, right: np.ndarray) -> Metric:
    """Return the accuracy of always replying the label that is right most often.

    Parameters
    ----------
    accuracy : Metric
        The accuracy on the same questions.
    right : ndarray of object
        The questions' right labels, null if none is right; of several seeds one after another.

    Returns
    -------
    Metric

    Examples
    --------
    >>> accuracy = Metric("m", "b", "original", 0, "robust", "Overall", "accuracy", 0.5, 0.1, 0.9, 4, "Wilson")
    >>> found = constant_answer(accuracy, np.array(["A", "C", "C", "B"]))
    >>> found.value, found.label
    (0.5, 'C')
    """
    labels, counts = np.unique(right[pd.notna(right)].astype(str), return_counts=True)
    found = replace(accuracy, name=CONSTANT_ANSWER, low=None, high=None, spread=None)
    if not len(labels):
        return found.undefined("no option is right")
    best = " or ".join(labels[counts == counts.max()].tolist())
    return replace(found, value=float(counts.max() / len(right)), method=_CONSTANT_METHOD + best, label=best)
