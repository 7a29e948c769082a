"""What is counted: every metric is a ratio of two sums over the questions of one table of scores.

| metric                  | numerator                              | denominator                        |
|-------------------------|----------------------------------------|------------------------------------|
| accuracy                | right                                  | all questions                      |
| share_<letter>          | this letter was read, on offer or not  | all questions                      |
| share_no_letter         | no letter of the benchmark was read    | all questions                      |
| share_unparsed          | not read as one option on offer        | all questions                      |
| share_failed            | no reply                               | all questions                      |
| refusal_recall          | refused                                | those whose answer is the refusal  |
| refusal_precision       | refused, and it was right              | refused                            |
| accuracy_answered       | right                                  | neither refused, unparsed nor failed |
| accuracy_low_bound      | right (all unparsed and failed wrong)  | all questions                      |
| accuracy_high_bound     | right, unparsed or failed              | all questions                      |
| chance                  | 1 / number of options                  | all questions                      |
| above_chance            | right, less 1 / number of options      | all questions                      |

The letters are those that any question of the benchmark offers, so that every variant has the same ones. Shares of
letters, ``share_no_letter`` and ``share_failed`` add up to 1; a letter that was read but is not on offer counts in
its share and in ``share_unparsed``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from known_unknowns.records import ANSWERED, FAILED, REFUSED, UNPARSED, Question, Score

CHANCE, ABOVE_CHANCE, ACCURACY = "chance", "above_chance", "accuracy"


class Ratio(NamedTuple):
    """Both are arrays (questions,), of flags or of numbers."""

    numerator: np.ndarray
    denominator: np.ndarray


@dataclass(frozen=True)
class Observed:
    """What one scorer made of the questions of one table: arrays (questions,), in the table's order."""

    outcome: np.ndarray
    label: np.ndarray  # "" where none was read
    correct: np.ndarray
    refusal_is_right: np.ndarray
    chance: np.ndarray  # of a blind guess being right; 0 where no option is

    @classmethod
    def of(cls, questions: Sequence[Question], scores: Sequence[Score]) -> Observed:
        """``scores`` are one scorer's, one a question, in the same order."""
        return cls(
            outcome=np.array([score.outcome for score in scores]),
            label=np.array([score.label or "" for score in scores]),
            correct=np.array([score.correct for score in scores]),
            refusal_is_right=np.array([q.answer is not None and q.answer == q.refusal for q in questions]),
            chance=np.array([0.0 if q.answer is None else 1 / len(q.options) for q in questions]),
        )


def ratios(observed: Observed, labels: Sequence[str]) -> dict[str, Ratio]:
    """Every metric of the module's table but ``above_chance``, whose interval is that of the accuracy, shifted."""
    everything = np.ones(len(observed.correct))
    answered, refused, unparsed, failed = (
        observed.outcome == outcome for outcome in (ANSWERED, REFUSED, UNPARSED, FAILED)
    )
    right, refusal_is_right = observed.correct, observed.refusal_is_right
    of_all = {
        ACCURACY: right,
        **{f"share_{label}": observed.label == label for label in labels},
        "share_no_letter": ~failed & ~np.isin(observed.label, list(labels)),
        "share_unparsed": unparsed,
        "share_failed": failed,
        "accuracy_low_bound": right,
        "accuracy_high_bound": right | unparsed | failed,
        CHANCE: observed.chance,
    }
    return {name: Ratio(numerator, everything) for name, numerator in of_all.items()} | {
        "refusal_recall": Ratio(refused & refusal_is_right, refusal_is_right),
        "refusal_precision": Ratio(refused & right, refused),
        "accuracy_answered": Ratio(answered & right, answered),
    }
