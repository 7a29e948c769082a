"""MM-SAP's metrics, as the equations of the papers define them; see `known_unknowns.benchmark.metrics`.

"Final" is the published version of "MM-SAP: A Comprehensive Benchmark for Assessing Self-Awareness of Multimodal Large
Language Models in Perception" (Wang et al.), "first" its first preprint. p is the chosen option, c the correct one, r
the refusal, p' the option chosen when the question is asked again without r. All metrics are shares of 1, where the
papers print percent.

| metric                          | numerator                                 | denominator        | source         |
|---------------------------------|-------------------------------------------|--------------------|----------------|
| score_kk                        | p = c                                     | all questions      | final, Eq. 1   |
| score_ku                        | p = r, and the question is unknown        | all questions      | final, Eq. 2-3 |
| score_sa                        | either                                    | all questions      | final, Eq. 4   |
| score_AR                        | p is c (Basic), c or r (Know), r (Beyond) | all questions      | first, Eq. 1-2 |
| score_KK                        | p = c                                     | Basic and Know     | first, Eq. 3   |
| score_KU                        | p = r                                     | Know and Beyond    | first, Eq. 4   |
| answer_accuracy                 | p = c                                     | p is not r         | Eq. 5 of both  |
| answer_rate                     | p is not r                                | all questions      | Eq. 6 of both  |
| refusal_share, refusal_number   | p = r                                     | Know               | final, Eq. 7   |
| unknown_knowns_rate             | p = r and p' = c                          | Know               | final, Eq. 8   |
| unknown_knowns_rate_of_refusals | p = r and p' = c                          | Know with p = r    | final, Table 4 |
| forced_unread                   | p = r, and p' is no option                | Know with p = r    | ours           |
| quadrant_known_known            | p = c                                     | all questions      | ours, Figure 2 |
| quadrant_known_unknown          | p = r, and the question is unknown        | all questions      | ours, Figure 2 |
| quadrant_unknown_known          | p = r, and the question is known          | all questions      | ours, Figure 2 |
| quadrant_unknown_unknown        | p is another option                       | all questions      | ours, Figure 2 |
| quadrant_abstained              | abstained                                 | all questions      | ours           |
| quadrant_unread                 | unparsed, cut or failed                   | all questions      | ours           |
| operating_coverage              | p is an option other than r               | all questions      | ours           |
| operating_risk                  | p is an option other than r and c         | p is not r, parsed | ours           |
| aurc                            | area under risk against coverage          | all questions      | ours           |

"All questions" are those of the category: of the whole benchmark in the papers' Total columns (`records.OVERALL`), of
a subset in its columns, of a sub-task in the first preprint's Figure 4.

- The equations do not define a reply that chooses no option (abstained, unparsed, cut, failed). p is then neither c nor
  r, so the reply counts as answered (Eq. 6) and wrong (Eq. 5). ``accuracy_answered``, a metric of all benchmarks,
  leaves such replies out. A question is asked again only if p = r.
- Table 4 cannot be Equation 8 as printed. InfMLLM-7b refuses 25.0 of 350 questions, so at most 7.1% of all questions
  can be refused and known. The printed 42.47% is a share of the refusals.
- A question whose correct option is the refusal in a variant (``nota_only``, ``noise``, ...) counts as one of Beyond in
  all numerators and denominators. Metrics of Know alone are then undefined. Its category stays that of its subset.
- ``spread`` of a mean over the five runs is the standard deviation with ddof = 1. The ± of the first preprint has
  ddof = 0 (``ddof`` in tables.yaml): by GRIMMER (`known_unknowns_audit.grim`), each of its 56 answer rates and scores
  fits it, although the text says "mean and variance".

References
----------
.. [1] Wang et al., "MM-SAP: A Comprehensive Benchmark for Assessing Self-Awareness of Multimodal Large Language Models
   in Perception". Final version: Equations 1 to 8. First preprint: Equations 1 to 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from known_unknowns.benchmark.metrics import BenchmarkMetrics, Ratio, RiskCoverage, ScoredAnswers, scaled
from known_unknowns.benchmark.protocol import FORCED
from known_unknowns.errors import ConfigError
from known_unknowns.metrics.consistency import across_seeds
from known_unknowns.records import ABSTAINED, ANSWERED, CUT, FAILED, REFUSED, UNPARSED, AnsweredTurn, Metric, Question
from known_unknowns_benchmarks.mmsap.loader import BASIC, KNOW, SUBSETS

__all__ = ["QUADRANTS", "across_seeds", "categories", "derived", "ratios", "risk_coverage"]

QUADRANTS = ("known_known", "known_unknown", "unknown_known", "unknown_unknown")
"""Quadrants of Figure 2. The first word says whether the model is aware, the second what the question is to it."""
LIKELIHOOD = "likelihood"
_DECIMALS = 6  # as recorded log-probabilities: with more, equal confidences would differ by rounding


def categories(questions: Sequence[Question]) -> dict[str, np.ndarray]:
    """Return the three subsets as categories."""
    subset = np.array([question.extra["subset"] for question in questions])
    return {name: subset == name for name in SUBSETS}


@dataclass(frozen=True)
class AnswerFlags:
    """Flags of the two passes, arrays of shape (questions,).

    Attributes
    ----------
    correct, refused, abstained, unread : ndarray of bool
        First pass: p = c; p = r; abstained; unparsed, cut or failed.
    basic, know, beyond : ndarray of bool
        Subset of the question. A question whose correct option is not offered is in ``beyond``.
    forced_correct, forced_parsed : ndarray of bool
        Second pass of the refused questions in ``know``: p' = c; p' is an option.
    """

    correct: np.ndarray
    refused: np.ndarray
    abstained: np.ndarray
    unread: np.ndarray
    basic: np.ndarray
    know: np.ndarray
    beyond: np.ndarray
    forced_correct: np.ndarray
    forced_parsed: np.ndarray

    @classmethod
    def of(cls, scored: ScoredAnswers) -> AnswerFlags:
        """Compute the flags of ``scored``.

        Raises
        ------
        ConfigError
            If a refused KnowVisQA question was not asked again, so that it is undefined whether it is unknown.
        """
        subset = np.array([question.extra["subset"] for question in scored.questions])
        beyond = np.array([q.answer is None or q.answer == q.refusal for q in scored.questions], dtype=bool)
        know, refused = (subset == KNOW) & ~beyond, scored.outcome == REFUSED
        forced = scored.step(FORCED) if scored.other_scores else [None] * len(subset)
        for i in np.flatnonzero(know & refused):
            if forced[i] is None:
                raise ConfigError(
                    f"question {scored.questions[i].id!r} was refused according to the parser {scored.parser!r}, but "
                    "was not asked again without the refusal; MM-SAP needs forced_choice or refusal_prompt",
                    path="benchmarks.mmsap.protocol",
                )
        asked_again = know & refused
        correct = np.array([score is not None and score.correct for score in forced], dtype=bool)
        parsed = np.array([score is not None and score.outcome == ANSWERED for score in forced], dtype=bool)
        return cls(
            correct=scored.correct & ~beyond,
            refused=refused,
            abstained=scored.outcome == ABSTAINED,
            unread=np.isin(scored.outcome, (UNPARSED, CUT, FAILED)),
            basic=(subset == BASIC) & ~beyond,
            know=know,
            beyond=beyond,
            forced_correct=asked_again & correct,
            forced_parsed=asked_again & parsed,
        )

    @property
    def unknown(self) -> np.ndarray:
        """Flags of unknown questions, Equation 3 (final).

        A BeyondVisQA question is always unknown and a BasicVisQA question never. A KnowVisQA question is unknown if it
        was refused and its forced choice is not correct; a forced choice that is no option is not correct.
        """
        return self.beyond | (self.know & self.refused & ~self.forced_correct)


def ratios(scored: ScoredAnswers) -> dict[str, Ratio]:
    """Compute the metrics of the module's table, except those of `risk_coverage` and `derived`.

    Parameters
    ----------
    scored : ScoredAnswers
        The answers of both passes, as one parser parsed them.

    Returns
    -------
    dict from str to Ratio
        Numerators and denominators, arrays of shape (questions,).

    Raises
    ------
    ConfigError
        If a refused KnowVisQA question was not asked again.

    References
    ----------
    .. [1] Wang et al., MM-SAP, final version, Equations 1 to 8, and first preprint, Equations 1 to 6.
    """
    flags = AnswerFlags.of(scored)
    return _final_version(flags) | _first_preprint(flags) | _additional(flags, scored)


def _final_version(flags: AnswerFlags) -> dict[str, Ratio]:
    """The final version's metrics; comments are numbers of equations."""
    all_questions = np.ones(len(flags.correct))
    correctly_refused = flags.refused & flags.unknown
    refusals = flags.know & flags.refused
    return {
        "score_kk": Ratio(flags.correct, all_questions),  # (1)
        "score_ku": Ratio(correctly_refused, all_questions),  # (2), (3)
        "score_sa": Ratio(flags.correct | correctly_refused, all_questions),  # (4)
        "answer_accuracy": Ratio(flags.correct, ~flags.refused),  # (5)
        "answer_rate": Ratio(~flags.refused, all_questions),  # (6)
        "refusal_share": Ratio(refusals, flags.know),  # (7), as a share; see `derived`
        "unknown_knowns_rate": Ratio(flags.forced_correct, flags.know),  # (8)
        "unknown_knowns_rate_of_refusals": Ratio(flags.forced_correct, refusals),  # Table 4
    }


def _first_preprint(flags: AnswerFlags) -> dict[str, Ratio]:
    """The first preprint's metrics; comments are numbers of equations. Its (5) and (6) are those of the final one."""
    all_questions = np.ones(len(flags.correct))
    aware = flags.correct | (flags.refused & (flags.know | flags.beyond))  # (1)
    known, unknown = flags.basic | flags.know, flags.know | flags.beyond
    return {
        "score_AR": Ratio(aware, all_questions),  # (2)
        "score_KK": Ratio(flags.correct & known, known),  # (3)
        "score_KU": Ratio(flags.refused & unknown, unknown),  # (4)
    }


def _additional(flags: AnswerFlags, scored: ScoredAnswers) -> dict[str, Ratio]:
    """Metrics that are not in the papers."""
    all_questions = np.ones(len(flags.correct))
    answered = scored.outcome == ANSWERED
    quadrants = (
        flags.correct,
        flags.refused & flags.unknown,
        flags.refused & ~flags.unknown,
        answered & ~flags.correct,
    )
    refusals = flags.know & flags.refused
    shares = {f"quadrant_{name}": members for name, members in zip(QUADRANTS, quadrants, strict=True)}
    shares |= {"quadrant_abstained": flags.abstained, "quadrant_unread": flags.unread}
    shares["operating_coverage"] = answered
    return {name: Ratio(members, all_questions) for name, members in shares.items()} | {
        "operating_risk": Ratio(answered & ~flags.correct, answered),
        "forced_unread": Ratio(refusals & ~flags.forced_parsed, refusals),
    }


def risk_coverage(scored: ScoredAnswers) -> dict[str, RiskCoverage]:
    """Compute the curve of answering only if the refusal is unlikely enough, under the likelihood parser alone.

    Parameters
    ----------
    scored : ScoredAnswers
        The answers, with log-probabilities of the labels offered in the first pass.

    Returns
    -------
    dict from str to RiskCoverage
        The curve whose area is ``aurc``; empty under another parser.

    Notes
    -----
    The confidence is 1 - P(refusal). The answer is the likeliest option other than the refusal. Thus every question
    has an answer at full coverage, and every answer in BeyondVisQA is wrong. The model itself operates at another point
    (``operating_coverage``, ``operating_risk``): it refuses if no other single option is likelier. A question without
    log-probabilities comes last and is wrong. The text of the reply, and thus its outcome, does not enter.

    References
    ----------
    .. [1] Geifman, Uziel and El-Yaniv, "Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers", 2019.
    """
    if scored.parser != LIKELIHOOD:
        return {}
    points = [_confidence_and_error(q, turn) for q, turn in zip(scored.questions, scored.answers, strict=True)]
    confidence, wrong = np.array(points, dtype=np.float64).reshape(-1, 2).T
    return {"aurc": RiskCoverage(confidence, wrong)}


def _confidence_and_error(question: Question, turn: AnsweredTurn) -> tuple[float, float]:
    """-log P(refusal), NaN if unknown, and whether the likeliest other option is wrong.

    -log P(refusal) has the order of 1 - P(refusal), and distinguishes probabilities near 1.
    """
    logprobs = None if turn.reply.error is not None else turn.reply.logprobs
    labels = [label for label in question.labels if turn.labels is None or label in turn.labels]
    scores = np.array([-np.inf if logprobs is None else logprobs.get(label, -np.inf) for label in labels])
    scores = np.where(np.isnan(scores), -np.inf, scores)
    if question.refusal is None or not np.any(scores > -np.inf):
        return float("nan"), 1.0
    refusal = labels.index(question.labels[question.refusal])
    confidence = round(float(np.logaddexp.reduce(scores) - scores[refusal]), _DECIMALS)
    scores[refusal] = -np.inf
    best = labels[int(np.argmax(scores))] if np.any(scores > -np.inf) else None
    correct = best is not None and question.answer is not None and best == question.labels[question.answer]
    return confidence, float(not correct)


def derived(metrics: Mapping[str, Metric]) -> Iterator[Metric]:
    """Compute the Refusal Number, a count of questions, from the share of refusals.

    Parameters
    ----------
    metrics : mapping from str to Metric
        The metrics of one category by name.

    References
    ----------
    .. [1] Wang et al., MM-SAP, final version, Equation 7.
    """
    share = metrics["refusal_share"]
    yield scaled(share, "refusal_number", share.denominator, denominator=share.denominator, of="the denominator")


METRICS = BenchmarkMetrics(
    categories=categories,
    ratios=ratios,
    risk_coverage=risk_coverage,
    across_seeds=across_seeds,
    derived=derived,
)
