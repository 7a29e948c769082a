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
  leaves such replies out. A question is asked again only if p = r by a parser that reads the reply. By the likelihood
  of the options' texts, p' is not known: the metrics that need it are undefined as soon as p = r in Know.
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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from known_unknowns.benchmark.metrics import (
    BenchmarkMetrics,
    Ratio,
    RiskCoverage,
    ScoredReply,
    no_option_is_right,
    scaled,
)
from known_unknowns.metrics.proportions import NEVER_ABSTAINS, NO_ABSTENTION
from known_unknowns.records import ABSTAINED, ANSWERED, CUT, FAILED, REFUSED, UNPARSED, AnsweredTurn, Metric, Question
from known_unknowns_benchmarks.mmsap.loader import BASIC, KNOW, SUBSETS

QUADRANTS = ("known_known", "known_unknown", "unknown_known", "unknown_unknown")
"""Quadrants of Figure 2. The first word says whether the model is aware, the second what the question is to it."""
LIKELIHOOD = "likelihood"
_DECIMALS = 6  # as recorded log-probabilities: with more, equal confidences would differ by rounding


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of the table of answers: the subset, and a point of the curve of risk against coverage."""

    subset: str
    answer_confidence: float | None
    likeliest_is_wrong: bool


class Metrics(BenchmarkMetrics):
    """MM-SAP's metrics."""

    columns = Columns
    compares_seeds = True

    def row(self, scored: ScoredReply) -> Columns:
        return Columns(scored.question.extra["subset"], *_confidence_and_error(scored.question, scored.turn))

    def categories(self, cell: pd.DataFrame) -> dict[str, pd.Series]:
        """Return the three subsets."""
        return {name: cell["subset"] == name for name in SUBSETS}

    def ratios(self, cell: pd.DataFrame) -> dict[str, Ratio]:
        """Compute the metrics of the module's table, except those of `curves` and `derived`.

        If a refused KnowVisQA question was not asked again, the metrics that need to know whether it is unknown are
        undefined.

        References
        ----------
        .. [1] Wang et al., MM-SAP, final version, Equations 1 to 8, and first preprint, Equations 1 to 6.
        """
        everything = pd.Series(True, index=cell.index)
        # A question whose correct option is not offered counts as one of Beyond.
        beyond = no_option_is_right(cell)
        basic, know = (cell["subset"] == BASIC) & ~beyond, (cell["subset"] == KNOW) & ~beyond
        answered, refused = cell["outcome"] == ANSWERED, cell["outcome"] == REFUSED
        correct, refusals = cell["correct"] & ~beyond, know & refused
        not_again = _not_asked_again(cell[refusals])
        never_abstains = NEVER_ABSTAINS if cell["parser"].iloc[0] in NO_ABSTENTION else ""
        # A Beyond question is always unknown and a Basic one never. A Know question is unknown if it was refused and
        # its forced choice is not correct; a forced choice that is no option is not correct (final, Eq. 3).
        refused_but_known = refusals & cell["forced_correct"]
        unknown = beyond | (refusals & ~refused_but_known)
        return {
            # final version
            "score_kk": Ratio(correct, everything),  # (1)
            "score_ku": Ratio(refused & unknown, everything, reason=not_again),  # (2), (3)
            "score_sa": Ratio(correct | (refused & unknown), everything, reason=not_again),  # (4)
            "answer_accuracy": Ratio(correct, ~refused),  # (5)
            "answer_rate": Ratio(~refused, everything),  # (6)
            "refusal_share": Ratio(refusals, know),  # (7), as a share; see `derived`
            "unknown_knowns_rate": Ratio(refused_but_known, know, reason=not_again),  # (8)
            "unknown_knowns_rate_of_refusals": Ratio(refused_but_known, refusals, reason=not_again),  # Table 4
            # first preprint; its (5) and (6) are those of the final version
            "score_AR": Ratio(correct | (refused & (know | beyond)), everything),  # (1), (2)
            "score_KK": Ratio(correct & (basic | know), basic | know),  # (3)
            "score_KU": Ratio(refused & (know | beyond), know | beyond),  # (4)
            # not in the papers
            "quadrant_known_known": Ratio(correct, everything),
            "quadrant_known_unknown": Ratio(refused & unknown, everything, reason=not_again),
            "quadrant_unknown_known": Ratio(refused & ~unknown, everything, reason=not_again),
            "quadrant_unknown_unknown": Ratio(answered & ~correct, everything),
            "quadrant_abstained": Ratio(cell["outcome"] == ABSTAINED, everything, reason=never_abstains),
            "quadrant_unread": Ratio(cell["outcome"].isin([UNPARSED, CUT, FAILED]), everything),
            "operating_coverage": Ratio(answered, everything),
            "operating_risk": Ratio(answered & ~correct, answered),
            "forced_unread": Ratio(refusals & (cell["forced_outcome"] != ANSWERED), refusals, reason=not_again),
        }

    def curves(self, cell: pd.DataFrame) -> dict[str, RiskCoverage]:
        """Return the curve of answering only if the refusal is unlikely enough, under the likelihood parser alone.

        Notes
        -----
        The confidence is 1 - P(refusal). The answer is the likeliest option other than the refusal. Thus every question
        has an answer at full coverage, and every answer in BeyondVisQA is wrong. The model itself operates at another
        point (``operating_coverage``, ``operating_risk``): it refuses if no other single option is likelier. A question
        without log-probabilities comes last and is wrong. Replies whose label follows other text are left out.

        References
        ----------
        .. [1] Geifman, Uziel and El-Yaniv, "Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers", 2019.
        """
        if cell["parser"].iloc[0] != LIKELIHOOD:
            return {}
        wrong = cell["likeliest_is_wrong"].to_numpy(dtype=np.float64)
        return {"aurc": RiskCoverage(cell["answer_confidence"].to_numpy(dtype=np.float64), wrong)}

    def derived(self, metrics: Mapping[str, Metric]) -> Iterator[Metric]:
        """Compute the Refusal Number, a count of questions, from the share of refusals.

        References
        ----------
        .. [1] Wang et al., MM-SAP, final version, Equation 7.
        """
        share = metrics["refusal_share"]
        assert share.denominator is not None  # it is a ratio
        yield scaled(share, "refusal_number", share.denominator, denominator=share.denominator, of="the denominator")


def _not_asked_again(refusals: pd.DataFrame) -> str:
    """Why it is undefined whether refused questions are unknown; "" if all were asked again."""
    unknown = np.count_nonzero(refusals["forced_outcome"] == "")
    if not unknown:
        return ""
    return f"{unknown:,} of {len(refusals):,} refused questions have no answer without the refusal option"


def _confidence_and_error(question: Question, turn: AnsweredTurn) -> tuple[float | None, bool]:
    """-log P(refusal), None if unknown, and whether the likeliest other option is wrong.

    -log P(refusal) has the order of 1 - P(refusal), and distinguishes probabilities near 1.
    """
    logprobs = None if turn.reply.error is not None else turn.reply.logprobs
    labels = [label for label in question.labels if turn.labels is None or label in turn.labels]
    scores = np.array([-np.inf if logprobs is None else logprobs.get(label, -np.inf) for label in labels])
    scores = np.where(np.isnan(scores), -np.inf, scores)
    if question.refusal is None or not np.any(scores > -np.inf):
        return None, True
    refusal = labels.index(question.labels[question.refusal])
    confidence = round(float(np.logaddexp.reduce(scores) - scores[refusal]), _DECIMALS)
    scores[refusal] = -np.inf
    best = labels[int(np.argmax(scores))] if np.any(scores > -np.inf) else None
    correct = best is not None and question.answer is not None and best == question.labels[question.answer]
    return confidence, not correct


METRICS = Metrics()
