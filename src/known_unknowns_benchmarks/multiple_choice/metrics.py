"""Metrics of forced choices, and the risk-coverage curve; see `known_unknowns.benchmark.metrics`.

A question is answerable if its right option is offered and is not the refusal. A refused answerable question is asked
again without the refusal option (`known_unknowns.protocols.forced_choice`); p' is the answer to this forced choice.

| metric             | numerator                             | denominator                     |
|--------------------|---------------------------------------|---------------------------------|
| refused_and_known  | refused, and p' is right              | answerable, with a refusal      |
| known_of_refused   | refused, and p' is right              | answerable and refused          |
| forced_unread      | refused, and p' is no option          | answerable and refused          |
| circular_accuracy  | it and all its circular copies are    | questions that are no copies;   |
|                    | right                                 | only if some are                |
| aurc               | area under risk against coverage      | all questions                   |

"Refused" is the offered refusal option. A reply that abstains is not asked again.

The first three follow Equation 8 and Table 4 of Wang et al. (2024) [1]_, for all answerable questions. They are
undefined unless every refused answerable question was asked again.

References
----------
.. [1] Wang et al., 2024, arXiv:2401.07529.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from known_unknowns.benchmark.metrics import BenchmarkMetrics, Ratio, RiskCoverage, ScoredReply
from known_unknowns.metrics.answers import replies_left_out
from known_unknowns.records import ANSWERED, REFUSED, AnsweredTurn, Question

_DECIMALS = 6  # as recorded log-probabilities: with more, equal confidences would differ by rounding


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of the table of answers: the question that it is a copy of, and a point of the curve of risk."""

    copy_of: str | None
    answer_confidence: float | None
    likeliest_is_wrong: bool


class Metrics(BenchmarkMetrics):
    """The metrics of own questions."""

    columns = Columns
    compares_seeds = True
    headline = ("refused_and_known", "known_of_refused")

    def row(self, scored: ScoredReply) -> Columns:
        copy_of = scored.question.extra.get("copy_of")
        return Columns(copy_of or None, *_confidence_and_error(scored.question, scored.turn))

    def ratios(self, cell: pd.DataFrame) -> dict[str, Ratio]:
        """Compute the metrics of the module's table that are ratios."""
        has_answer = cell["refusal_label"].notna() & cell["right_label"].notna()
        answerable = has_answer & ~cell["refusal_is_correct"]
        refused = answerable & (cell["outcome"] == REFUSED)
        is_complete = (cell["forced_outcome"] != "")[refused].all()
        reason = "" if is_complete else "not every refused question has an answer without the refusal option"
        known, unread = refused & cell["forced_correct"], refused & (cell["forced_outcome"] != ANSWERED)
        return _circular(cell) | {
            "refused_and_known": Ratio(known, answerable, reason=reason),
            "known_of_refused": Ratio(known, refused, reason=reason),
            "forced_unread": Ratio(unread, refused, reason=reason),
        }

    def curves(self, cell: pd.DataFrame) -> dict[str, RiskCoverage]:
        """Return the curve of answering only with enough confidence, under the likelihood parser alone.

        Notes
        -----
        The answer is the likeliest option other than the refusal. Its confidence is its share of the probability of all
        offered labels, the refusal included. A question without log-probabilities comes last and is wrong. Replies
        whose label follows other text are left out.

        References
        ----------
        .. [1] Geifman, Uziel and El-Yaniv, "Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers", 2019.
        """
        if cell["parser"].iloc[0] != "likelihood":
            return {}
        wrong = cell["likeliest_is_wrong"].to_numpy(dtype=np.float64)
        return {"aurc": RiskCoverage(cell["answer_confidence"].to_numpy(dtype=np.float64), wrong)}


def _circular(cell: pd.DataFrame) -> dict[str, Ratio]:
    """The accuracy of questions together with their circular copies, if there are any."""
    is_copy = cell["copy_of"].notna()
    if not is_copy.any():
        return {}
    question = cell["copy_of"].astype(object).where(is_copy, cell.index)
    all_right = cell["correct"].groupby(question).transform("all")
    is_left_out = pd.Series(replies_left_out([cell]), index=cell.index).groupby(question).transform("any")
    counted = ~is_copy & ~is_left_out
    return {"circular_accuracy": Ratio(all_right & counted, counted)}


def _confidence_and_error(question: Question, turn: AnsweredTurn) -> tuple[float | None, bool]:
    """Return the log of the confidence, None if unknown, and whether the answer is wrong."""
    logprobs = turn.reply.logprobs if turn.reply.error is None else None
    found = {label: (logprobs or {}).get(label, -np.inf) for label in question.labels}
    found = {label: value for label, value in found.items() if value > -np.inf}  # excludes NaN too
    refusal = None if question.refusal is None else question.labels[question.refusal]
    answers = {label: value for label, value in found.items() if label != refusal}
    if not answers:
        return None, True
    best = max(answers, key=lambda label: answers[label])
    confidence = answers[best] - np.logaddexp.reduce(list(found.values()))
    right = question.answer is not None and best == question.labels[question.answer]
    return round(float(confidence), _DECIMALS), not right


METRICS = Metrics()
