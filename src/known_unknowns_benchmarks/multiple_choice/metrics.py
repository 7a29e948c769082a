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

import numpy as np

from known_unknowns.benchmark.metrics import BenchmarkMetrics, Ratio, RiskCoverage, ScoredAnswers
from known_unknowns.benchmark.protocol import FORCED
from known_unknowns.metrics.consistency import across_seeds
from known_unknowns.records import ANSWERED, REFUSED, AnsweredTurn, Question

_DECIMALS = 6  # as recorded log-probabilities: with more, equal confidences would differ by rounding


def ratios(scored: ScoredAnswers) -> dict[str, Ratio]:
    """Compute the metrics of the module's table that are ratios.

    Parameters
    ----------
    scored : ScoredAnswers
        The answers as one parser parsed them.
    """
    answerable = np.array([q.refusal is not None and q.answer not in (None, q.refusal) for q in scored.questions])
    refused = answerable & (scored.outcome == REFUSED)
    forced = scored.step(FORCED) if scored.other_scores else [None] * len(refused)
    known = np.array([score is not None and score.correct for score in forced], dtype=bool) & refused
    parsed = np.array([score is not None and score.outcome == ANSWERED for score in forced], dtype=bool)
    complete = all(score is not None for score, flag in zip(forced, refused, strict=True) if flag)
    nothing = np.zeros(len(refused))
    copies = [q.extra.get("copy_of") for q in scored.questions]
    wrong = {copy or q.id for q, copy, right in zip(scored.questions, copies, scored.correct, strict=True) if not right}
    first = np.array([not copy for copy in copies])
    all_right = np.array([q.id not in wrong for q in scored.questions]) & first
    return ({"circular_accuracy": Ratio(all_right, first)} if any(copies) else {}) | {
        "refused_and_known": Ratio(known, answerable if complete else nothing),
        "known_of_refused": Ratio(known, refused if complete else nothing),
        "forced_unread": Ratio(refused & ~parsed, refused if complete else nothing),
    }


def risk_coverage(scored: ScoredAnswers) -> dict[str, RiskCoverage]:
    """Compute the curve of answering only with enough confidence, under the likelihood parser alone.

    Parameters
    ----------
    scored : ScoredAnswers
        The answers, with log-probabilities of the labels.

    Returns
    -------
    dict from str to RiskCoverage
        The curve whose area is ``aurc``; empty under another parser.

    Notes
    -----
    The answer is the likeliest option other than the refusal. Its confidence is its share of the probability of all
    offered labels, the refusal included. A question without log-probabilities comes last and is wrong. The text of the
    reply, and thus its outcome, does not enter.

    References
    ----------
    .. [1] Geifman, Uziel and El-Yaniv, "Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers", 2019.
    """
    if scored.parser != "likelihood":
        return {}
    points = [_confidence_and_error(q, turn) for q, turn in zip(scored.questions, scored.answers, strict=True)]
    confidence, wrong = np.array(points, dtype=np.float64).reshape(-1, 2).T
    return {"aurc": RiskCoverage(confidence, wrong)}


def _confidence_and_error(question: Question, turn: AnsweredTurn) -> tuple[float, float]:
    """Return the log of the confidence, NaN if unknown, and whether the answer is wrong."""
    logprobs = turn.reply.logprobs if turn.reply.error is None else None
    found = {label: (logprobs or {}).get(label, -np.inf) for label in question.labels}
    found = {label: value for label, value in found.items() if value > -np.inf}  # excludes NaN too
    refusal = None if question.refusal is None else question.labels[question.refusal]
    answers = {label: value for label, value in found.items() if label != refusal}
    if not answers:
        return float("nan"), 1.0
    best = max(answers, key=lambda label: answers[label])
    confidence = answers[best] - np.logaddexp.reduce(list(found.values()))
    right = question.answer is not None and best == question.labels[question.answer]
    return round(float(confidence), _DECIMALS), float(not right)


METRICS = BenchmarkMetrics(
    ratios=ratios,
    risk_coverage=risk_coverage,
    across_seeds=across_seeds,
    headline=("refused_and_known", "known_of_refused"),
)
