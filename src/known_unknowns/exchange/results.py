"""The metrics of imported replies, computed by the code of the workflow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.exchange import QuestionTurns
from known_unknowns.benchmark.protocol import ANSWER, FORCED
from known_unknowns.config import Statistics
from known_unknowns.metrics.answers import frame
from known_unknowns.metrics.measure import metrics_of
from known_unknowns.records import REFUSED, AnsweredTurn, Cell, Metric, Reply
from known_unknowns.scoring import PARSERS, WITHOUT_TEXT
from known_unknowns.scoring.answers import answer_table
from known_unknowns.scoring.dialogues import ScoresByTurn, combine_views, score_turn
from known_unknowns.variants import without_refusal

STATISTICS = Statistics(confidence=0.95)
"""The values of params.yaml."""

_NO_FORCED_CHOICE = "refused questions were not asked again without the refusal"


@dataclass(frozen=True, slots=True)
class RescoreResult:
    """The result for ``n`` questions: ``metrics`` of every category and parser, and ``notes`` for the user.

    ``unfinished`` names the files of an evaluation that did not finish, and how many samples they have.
    """

    benchmark: str
    variant: str
    n: int
    metrics: tuple[Metric, ...]
    notes: tuple[str, ...] = ()
    samples: int = 1
    unfinished: tuple[str, ...] = ()

    @property
    def shown(self) -> list[Metric]:
        """The metrics over all samples."""
        return [metric for metric in self.metrics if self.samples == 1 or metric.seed is None]

    @property
    def parsers(self) -> list[str]:
        return list(dict.fromkeys(metric.parser for metric in self.metrics))


def compute_metrics(
    samples: Sequence[Sequence[QuestionTurns]],
    *,
    benchmark: str,
    variant: str,
    parsers: Sequence[str],
    statistics: Statistics = STATISTICS,
    model: str = "rescored",
    seed: int = 0,
    content_free: bool = False,
) -> list[Metric]:
    """Compute the metrics of all questions of one variant and seed, to which there are one or more samples.

    Metrics that need a forced choice (`Benchmark.forced_choice_metrics`) are undefined unless every refused question
    has one. ``content_free`` is that of the variant (`Variant.content_free`).
    """
    unforced = False
    asks_again = False
    tables = []
    for number, pairs in enumerate(samples):
        without = set(refusals_without_forced_choice(pairs, parsers))
        completed = [_with_failed_choice(pair) if pair[0].id in without else pair for pair in pairs]
        scores = {name: _scores(name, completed) for name in parsers}
        answers = answer_table(benchmark, completed, parsers, scores, file="the replies")
        tables.append((Cell(variant, seed, number), answers))
        unforced |= bool(without)
        asks_again |= any(turn.step == FORCED for _, turns in pairs for turn in turns)
    metrics = metrics_of(
        frame(tables),
        statistics.confidence,
        model=model,
        benchmark=benchmark,
        content_free={variant} if content_free else (),
        asks_again={variant} if asks_again else (),
    )
    undefined = registry.get(benchmark).forced_choice_metrics if unforced else ()
    return [metric.undefined(_NO_FORCED_CHOICE) if metric.name in undefined else metric for metric in metrics]


def _scores(parser: str, pairs: Sequence[QuestionTurns]) -> ScoresByTurn:
    """Score all turns."""
    found: ScoresByTurn = {}
    for question, turns in pairs:
        for score in combine_views([score_turn(turn, question, parser) for turn in turns]):
            found[question.id, score.turn] = score
    return found


def answer_of(turns: Sequence[AnsweredTurn]) -> AnsweredTurn:
    """Return the turn of the step "answer"."""
    return next(turn for turn in turns if turn.step == ANSWER)


def refusals_without_forced_choice(pairs: Sequence[QuestionTurns], parsers: Sequence[str]) -> Iterator[str]:
    """Yield the ids of questions that any parser counts as refused and that lack the forced choice they need.

    Only questions whose benchmark has metrics that depend on it need a forced choice
    (`known_unknowns.protocols.forced_choice`).
    """
    for question, turns in pairs:
        benchmark = registry.get(question.benchmark)
        if not benchmark.forced_choice_metrics or not benchmark.forced_choice_applies(question):
            continue
        if question.answer in (None, question.refusal) or any(turn.step == FORCED for turn in turns):
            continue
        if any(score_turn(answer_of(turns), question, name).outcome == REFUSED for name in parsers):
            yield question.id


def _with_failed_choice(pair: QuestionTurns) -> QuestionTurns:
    """Add a forced choice that failed, so that the metrics can be computed before some are set to undefined."""
    question, turns = pair
    labels = without_refusal(question).labels
    choice = AnsweredTurn(question.id, len(turns), FORCED, "", (), labels, "", Reply("", error="not asked again"))
    return question, [*turns, choice]


def default_parsers(*, have_logprobs: bool) -> list[str]:
    """Return the parsers of the text, and the likelihood parser if there are log-probabilities."""
    return [name for name in PARSERS if name not in WITHOUT_TEXT or (name == "likelihood" and have_logprobs)]
