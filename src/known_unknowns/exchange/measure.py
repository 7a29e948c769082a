"""Every metric of replies that came from somebody else's file, by the same code as those of the workflow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from known_unknowns.benchmarks.mmsap import loader as mmsap
from known_unknowns.exchange.matching import Pair
from known_unknowns.metrics.benchmark_hooks import ScoredAnswers
from known_unknowns.metrics.measure import Statistics, metrics_of
from known_unknowns.metrics.score_tables import ScoreTable
from known_unknowns.protocols import FORCED
from known_unknowns.records import REFUSED, AnsweredTurn, Metric, Reply
from known_unknowns.scoring import SCORERS
from known_unknowns.scoring.table import read
from known_unknowns.variants import without_refusal

STATISTICS = Statistics(confidence=0.95, resamples=2000, seed=0)
"""As in params.yaml."""
NEED_A_FORCED_CHOICE = frozenset(
    {
        "score_ku",
        "score_sa",
        "unknown_knowns_rate",
        "unknown_knowns_rate_of_refusals",
        "quadrant_known_unknown",
        "quadrant_unknown_known",
        "forced_unread",
    }
)
"""MM-SAP's metrics that depend on what a refused question is answered when its refusal is taken away."""
_NOT_ASKED = "undefined: refused questions were not asked again without the refusal"


@dataclass(frozen=True, slots=True)
class Rescored:
    """``n`` questions; ``metrics`` of every category and scorer; ``notes`` for people, on what to mind."""

    benchmark: str
    variant: str
    n: int
    metrics: tuple[Metric, ...]
    notes: tuple[str, ...] = ()

    @property
    def scorers(self) -> list[str]:
        return list(dict.fromkeys(metric.scorer for metric in self.metrics))


def measured(
    pairs: Sequence[Pair],
    *,
    benchmark: str,
    variant: str,
    scorers: Sequence[str],
    statistics: Statistics = STATISTICS,
    model: str = "rescored",
    seed: int = 0,
) -> list[Metric]:
    """The metrics of one variant. MM-SAP's that need a forced choice are undefined unless every refused KnowVisQA
    question has one."""
    unforced = set(refused_once(pairs, scorers))
    completed = [_with_failed_choice(pair) if pair[0].id in unforced else pair for pair in pairs]
    table = ScoreTable.of(variant, seed, {name: _scored(name, completed) for name in scorers})
    metrics = metrics_of([table], statistics, model=model, benchmark=benchmark)
    if not unforced:
        return metrics
    return [_undefined(metric) if metric.name in NEED_A_FORCED_CHOICE else metric for metric in metrics]


def _scored(scorer: str, pairs: Sequence[Pair]) -> ScoredAnswers:
    """The first turn of each question answers it; the others are later ones."""
    return ScoredAnswers(
        scorer=scorer,
        questions=[question for question, _ in pairs],
        answers=[turns[0] for _, turns in pairs],
        scores=[read(turns[0], question, scorer) for question, turns in pairs],
        other_scores=[{asked.step: read(asked, question, scorer) for asked in turns[1:]} for question, turns in pairs],
        dialogues=[turns for _, turns in pairs],
    )


def refused_once(pairs: Sequence[Pair], scorers: Sequence[str]) -> Iterator[str]:
    """The ids of MM-SAP's questions that any scorer reads as refused, and that should have been asked again without the
    refusal (`known_unknowns.protocols.forced_choice`), but were not."""
    for question, turns in pairs:
        if question.benchmark != mmsap.NAME or not mmsap.forces(question):
            continue
        if question.answer in (None, question.refusal) or any(asked.step == FORCED for asked in turns):
            continue
        if any(read(turns[0], question, name).outcome == REFUSED for name in scorers):
            yield question.id


def _with_failed_choice(pair: Pair) -> Pair:
    """The pair with a forced choice that failed, which the metrics can then count, before some are set undefined."""
    question, turns = pair
    labels = without_refusal(question).labels
    choice = AnsweredTurn(question.id, len(turns), FORCED, "", (), labels, "", Reply("", error="not asked again"))
    return question, [*turns, choice]


def _undefined(metric: Metric) -> Metric:
    return replace(metric, value=None, low=None, high=None, method=_NOT_ASKED)


def default_scorers(*, likelihoods: bool) -> list[str]:
    """All scorers, but the likelihood reading only where there are log-probabilities to read."""
    return [name for name in SCORERS if name != "likelihood" or likelihoods]
