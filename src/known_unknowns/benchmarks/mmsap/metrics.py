"""MM-SAP's metrics, with exactly the papers' equations; see `known_unknowns.metrics.benchmark_hooks`.

"Final" is the published version of "MM-SAP: A Comprehensive Benchmark for Assessing Self-Awareness of Multimodal Large
Language Models in Perception" (Wang et al.), "first" its first preprint. p is the option chosen, c the right one, r the
refusal, p' what was chosen when asked again without r. All are shares of 1, where the papers print percent.

| metric                          | numerator                                 | denominator      | source         |
|---------------------------------|-------------------------------------------|------------------|----------------|
| score_kk                        | p = c                                     | all questions    | final, Eq. 1   |
| score_ku                        | p = r, and the question is unknown        | all questions    | final, Eq. 2-3 |
| score_sa                        | either                                    | all questions    | final, Eq. 4   |
| score_AR                        | p is c (Basic), c or r (Know), r (Beyond) | all questions    | first, Eq. 1-2 |
| score_KK                        | p = c                                     | Basic and Know   | first, Eq. 3   |
| score_KU                        | p = r                                     | Know and Beyond  | first, Eq. 4   |
| answer_accuracy                 | p = c                                     | p is not r       | Eq. 5 of both  |
| answer_rate                     | p is not r                                | all questions    | Eq. 6 of both  |
| refusal_share, refusal_number   | p = r                                     | Know             | final, Eq. 7   |
| unknown_knowns_rate             | p = r and p' = c                          | Know             | final, Eq. 8   |
| unknown_knowns_rate_of_refusals | p = r and p' = c                          | Know with p = r  | final, Table 4 |
| forced_unread                   | p = r, and p' was unparsed or failed      | Know with p = r  | ours           |
| quadrant_known_known            | p = c                                     | all questions    | ours, Figure 2 |
| quadrant_known_unknown          | p = r, and the question is unknown        | all questions    | ours, Figure 2 |
| quadrant_unknown_known          | p = r, and the question is known          | all questions    | ours, Figure 2 |
| quadrant_unknown_unknown        | p is another option                       | all questions    | ours, Figure 2 |
| quadrant_unread                 | unparsed or failed                        | all questions    | ours           |
| operating_coverage              | p is an option other than r               | all questions    | ours           |
| operating_risk                  | p is an option other than r and c         | p is not r, read | ours           |
| aurc                            | area under risk against coverage          | all questions    | ours           |

"All questions" are those of the category: of the whole benchmark in the papers' Total columns (`records.OVERALL`), of
a subset in its columns, of a sub-task in the first preprint's Figure 4.

- The equations know no reply that cannot be read: p is then neither c nor r, so that it counts as answered (Eq. 6) and
  wrong (Eq. 5). ``accuracy_answered`` leaves such replies out, as every benchmark here has it.
- Table 4 cannot be Equation 8 as printed: InfMLLM-7b refuses 25.0 of 350 questions, so that no more than 7.1% of all
  could be refused and known, where 42.47% is printed: that is a share of the refusals.
- A question whose right option is the refusal in a variant (``nota_only``, ``noise``, ...) is unknown, in any subset.
- Means over the five runs have the standard deviation over runs with ddof = 1 as ``spread``. The first preprint's ±
  is the one with ddof = 0 (`known_unknowns.benchmarks.mmsap.audit.spread_as_published` turns ours into it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from known_unknowns.benchmarks.mmsap.loader import BASIC, KNOW, SUBSETS
from known_unknowns.errors import ConfigError
from known_unknowns.metrics.benchmark_hooks import BenchmarkMetrics, Scored
from known_unknowns.metrics.consistency import across_seeds
from known_unknowns.metrics.proportions import Ratio
from known_unknowns.metrics.selective import RiskCoverage
from known_unknowns.protocols import FORCED
from known_unknowns.records import ANSWERED, FAILED, REFUSED, UNPARSED, AnsweredTurn, Metric, Question

__all__ = ["QUADRANTS", "across_seeds", "categories", "derived", "ratios", "risk_coverage"]

QUADRANTS = ("known_known", "known_unknown", "unknown_known", "unknown_unknown")
"""Figure 2's quadrants: the first word says whether the model is aware, the second what the question is to it."""
LIKELIHOOD = "likelihood"
_DECIMALS = 6  # those of the recorded log-probabilities: beyond them, equals would fall apart by their order


def categories(questions: Sequence[Question]) -> dict[str, np.ndarray]:
    """The three subsets."""
    subset = np.array([question.extra["subset"] for question in questions])
    return {name: subset == name for name in SUBSETS}


@dataclass(frozen=True)
class Passes:
    """What became of every question in the two passes: arrays of flags (questions,).

    ``right`` is p = c, ``refused`` p = r; ``basic``, ``know`` and ``beyond`` say what the question is, by subset and
    by whether its right option is on offer; ``forced_right`` is p' = c and ``forced_read`` that p' is an option, for
    the refused among ``know``.
    """

    right: np.ndarray
    refused: np.ndarray
    unread: np.ndarray
    basic: np.ndarray
    know: np.ndarray
    beyond: np.ndarray
    forced_right: np.ndarray
    forced_read: np.ndarray

    @classmethod
    def of(cls, scored: Scored) -> Passes:
        """Raises ConfigError where a refused KnowVisQA question was not asked again: nothing says if it is unknown."""
        subset = np.array([question.extra["subset"] for question in scored.questions])
        beyond = np.array([q.answer is None or q.answer == q.refusal for q in scored.questions], dtype=bool)
        know, refused = (subset == KNOW) & ~beyond, scored.outcome == REFUSED
        forced = scored.step(FORCED) if scored.later else [None] * len(subset)
        for place in np.flatnonzero(know & refused):
            if forced[place] is None:
                raise ConfigError(
                    f"question {scored.questions[place].id!r} was refused, as {scored.scorer!r} reads it, but not "
                    "asked again without the refusal; MM-SAP needs forced_choice or refusal_prompt",
                    path="benchmarks.mmsap.protocol",
                )
        counts = know & refused
        return cls(
            right=scored.correct & ~beyond,
            refused=refused,
            unread=np.isin(scored.outcome, (UNPARSED, FAILED)),
            basic=(subset == BASIC) & ~beyond,
            know=know,
            beyond=beyond,
            forced_right=counts & np.array([score is not None and score.correct for score in forced], dtype=bool),
            forced_read=counts & np.array([score is not None and score.outcome == ANSWERED for score in forced], bool),
        )

    @property
    def unknown(self) -> np.ndarray:
        """Equation 3 (final): never in BasicVisQA, always in BeyondVisQA, in KnowVisQA where the forced choice of a
        refused question is not right. A forced choice that was not read is none that is right."""
        return self.beyond | (self.know & self.refused & ~self.forced_right)


def ratios(scored: Scored) -> dict[str, Ratio]:
    """The metrics of the module's table, but for those that `risk_coverage` and `derived` make."""
    return _final(Passes.of(scored)) | _first(Passes.of(scored)) | _ours(Passes.of(scored), scored)


def _final(seen: Passes) -> dict[str, Ratio]:
    """The final version's equations, by their numbers."""
    everything = np.ones(len(seen.right))
    rightly_refused = seen.refused & seen.unknown
    refusals = seen.know & seen.refused
    return {
        "score_kk": Ratio(seen.right, everything),  # (1)
        "score_ku": Ratio(rightly_refused, everything),  # (2), (3)
        "score_sa": Ratio(seen.right | rightly_refused, everything),  # (4)
        "answer_accuracy": Ratio(seen.right, ~seen.refused),  # (5)
        "answer_rate": Ratio(~seen.refused, everything),  # (6)
        "refusal_share": Ratio(refusals, seen.know),  # (7), as a share; see `derived`
        "unknown_knowns_rate": Ratio(seen.forced_right, seen.know),  # (8)
        "unknown_knowns_rate_of_refusals": Ratio(seen.forced_right, refusals),  # Table 4
    }


def _first(seen: Passes) -> dict[str, Ratio]:
    """The first preprint's equations, by their numbers; its (5) and (6) are those of the final version."""
    everything = np.ones(len(seen.right))
    aware = seen.right | (seen.refused & (seen.know | seen.beyond))  # (1)
    known, unknown = seen.basic | seen.know, seen.know | seen.beyond
    return {
        "score_AR": Ratio(aware, everything),  # (2)
        "score_KK": Ratio(seen.right & known, known),  # (3)
        "score_KU": Ratio(seen.refused & unknown, unknown),  # (4)
    }


def _ours(seen: Passes, scored: Scored) -> dict[str, Ratio]:
    """What is beyond the papers."""
    everything = np.ones(len(seen.right))
    answered = scored.outcome == ANSWERED
    quadrants = (
        seen.right,
        seen.refused & seen.unknown,
        seen.refused & ~seen.unknown,
        answered & ~seen.right,
    )
    refusals = seen.know & seen.refused
    shares = {f"quadrant_{name}": flags for name, flags in zip(QUADRANTS, quadrants, strict=True)}
    shares |= {"quadrant_unread": seen.unread, "operating_coverage": answered}
    return {name: Ratio(flags, everything) for name, flags in shares.items()} | {
        "operating_risk": Ratio(answered & ~seen.right, answered),
        "forced_unread": Ratio(refusals & ~seen.forced_read, refusals),
    }


def risk_coverage(scored: Scored) -> dict[str, RiskCoverage]:
    """The curve of answering only where the refusal is unlikely enough, under the likelihood reading alone.

    Confidence is 1 - P(refusal), of the letters on offer in the first pass. The answer is then the likeliest option
    that is no refusal: with it, every question has an answer at full coverage, and in BeyondVisQA every answer is
    wrong. The model itself operates elsewhere (``operating_coverage``, ``operating_risk``): it refuses where no other
    single option is likelier. A question without log-probabilities comes last, and is wrong.
    """
    if scored.scorer != LIKELIHOOD:
        return {}
    judged = [_judged(q, asked) for q, asked in zip(scored.questions, scored.answers, strict=True)]
    confidence, wrong = np.array(judged, dtype=np.float64).reshape(-1, 2).T
    return {"aurc": RiskCoverage(confidence, wrong)}


def _judged(question: Question, asked: AnsweredTurn) -> tuple[float, float]:
    """-log P(refusal), which orders as 1 - P(refusal) does and keeps apart what is near 1, NaN where unknown; and
    whether the likeliest other option is wrong."""
    logprobs = None if asked.reply.error is not None else asked.reply.logprobs
    labels = [label for label in question.labels if asked.labels is None or label in asked.labels]
    scores = np.array([-np.inf if logprobs is None else logprobs.get(label, -np.inf) for label in labels])
    scores = np.where(np.isnan(scores), -np.inf, scores)
    if question.refusal is None or not np.any(scores > -np.inf):
        return float("nan"), 1.0
    refusal = labels.index(question.labels[question.refusal])
    sure = round(float(logsumexp(scores) - scores[refusal]), _DECIMALS)
    scores[refusal] = -np.inf
    best = labels[int(np.argmax(scores))] if np.any(scores > -np.inf) else None
    right = best is not None and question.answer is not None and best == question.labels[question.answer]
    return sure, float(not right)


def derived(metrics: Mapping[str, Metric]) -> Iterator[Metric]:
    """Refusal Number (final, Equation 7): a count of questions, where all other metrics are shares."""
    share = metrics["refusal_share"]

    def counted(value: float | None) -> float | None:
        return None if value is None else value * share.denominator

    yield replace(
        share,
        name="refusal_number",
        value=counted(share.value),
        low=counted(share.low),
        high=counted(share.high),
        spread=counted(share.spread),
        method=share.method if share.value is None else f"{share.method}, times the denominator",
    )


METRICS = BenchmarkMetrics(
    categories=categories,
    ratios=ratios,
    risk_coverage=risk_coverage,
    across_seeds=across_seeds,
    derived=derived,
)
