"""Interface of the metrics that one benchmark adds to those of all benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from known_unknowns.benchmark.kept_part import official_text
from known_unknowns.records import ABSTAINED, FAILED, REFUSED, AnsweredTurn, Metric, Question, Score


class Ratio(NamedTuple):
    """Numerators and denominators of a metric: arrays of shape (questions,), of flags or of numbers.

    ``lowest`` is the lowest value that the ratio can have: 0 for a proportion, -1 for a difference of two.
    """

    numerator: np.ndarray
    denominator: np.ndarray
    lowest: float = 0.0


class RiskCoverage(NamedTuple):
    """Confidence and errors of the answers, arrays of shape (questions,).

    Attributes
    ----------
    confidence : ndarray of float
        The model's confidence that it should answer. NaN is unknown; such questions come last.
    wrong : ndarray of float
        1 for a wrong answer, 0 for a correct one.
    """

    confidence: np.ndarray
    wrong: np.ndarray

    @property
    def defined(self) -> bool:
        """Whether the confidence of any question is known."""
        return bool(np.any(~np.isnan(self.confidence)))


def scaled(metric: Metric, name: str, factor: float, *, denominator: float, of: str) -> Metric:
    """Return a metric times a factor, which the method names as ``of``."""

    def times(value: float | None) -> float | None:
        return None if value is None else value * factor

    return replace(
        metric,
        name=name,
        value=times(metric.value),
        low=times(metric.low),
        high=times(metric.high),
        spread=times(metric.spread),
        denominator=denominator,
        method=metric.method if metric.value is None else f"{metric.method}, times {of}",
    )


@dataclass(frozen=True)
class ScoreArrays:
    """One parser's scores of the answers to a variant with one seed, as arrays of shape (questions,).

    Attributes
    ----------
    questions : sequence of Question
        The questions.
    outcome : ndarray of str
        One of `records.OUTCOMES`. Only the outcomes "answered" and "refused" have a choice.
    label : ndarray of str
        The parsed label; "" if there is none.
    choice : ndarray of int
        Index of the chosen option; -1 if none was chosen.
    correct : ndarray of bool
        The choice is the answer.
    refusal_is_correct : ndarray of bool
        The refusal is the answer.
    chance : ndarray of float
        Probability that a random option is the answer; 0 if no option is.
    """

    questions: Sequence[Question]
    outcome: np.ndarray
    label: np.ndarray
    choice: np.ndarray
    correct: np.ndarray
    refusal_is_correct: np.ndarray
    chance: np.ndarray

    @classmethod
    def of(cls, questions: Sequence[Question], scores: Sequence[Score]) -> ScoreArrays:
        """Convert the scores of ``questions``, one per question and in the same order."""
        return cls(
            questions=questions,
            outcome=np.array([score.outcome for score in scores]),
            label=np.array([score.label or "" for score in scores]),
            choice=np.array([-1 if score.choice is None else score.choice for score in scores], dtype=np.int64),
            correct=np.array([score.correct for score in scores], dtype=bool),
            refusal_is_correct=np.array(
                [q.answer is not None and q.answer == q.refusal for q in questions], dtype=bool
            ),
            chance=np.array([0.0 if q.answer is None else 1 / len(q.options) for q in questions]),
        )

    @property
    def refused(self) -> np.ndarray:
        """Flags of refused questions."""
        return self.outcome == REFUSED

    @property
    def abstained(self) -> np.ndarray:
        """Flags of questions whose reply abstains without choosing an option."""
        return self.outcome == ABSTAINED

    @property
    def no_option_is_right(self) -> np.ndarray:
        """Flags of questions where no option but the refusal, if there is one, is the answer."""
        return self.refusal_is_correct | (self.chance == 0)

    @property
    def failed(self) -> np.ndarray:
        """Flags of questions without a reply."""
        return self.outcome == FAILED

    def select(self, places: Sequence[int]) -> ScoreArrays:
        """Return the scores of the questions at these places, in this order."""
        at = np.asarray(places, dtype=np.int64)
        return ScoreArrays(
            [self.questions[place] for place in places],
            self.outcome[at],
            self.label[at],
            self.choice[at],
            self.correct[at],
            self.refusal_is_correct[at],
            self.chance[at],
        )


@dataclass(frozen=True)
class ScoredAnswers:
    """The answers to one variant with one seed, as one parser parsed them.

    All sequences are parallel, with one entry per question.

    Attributes
    ----------
    parser : str
        Name of the parser.
    questions : sequence of Question
        The questions.
    answers : sequence of AnsweredTurn
        The turn that answers each question.
    scores : sequence of Score
        The parser's parse of these turns.
    other_scores : sequence of mapping from str to Score
        The parser's parse of each question's other turns, by step ("forced").
    dialogues : sequence of sequence of AnsweredTurn
        All turns of each question, in the order of the dialogue.
    kept : str, optional
        The pattern of what the released code reads of the model's replies (`known_unknowns.benchmark.kept_part`).
    arrays : ScoreArrays
        ``scores`` as arrays.
    """

    parser: str
    questions: Sequence[Question]
    answers: Sequence[AnsweredTurn]
    scores: Sequence[Score]
    other_scores: Sequence[Mapping[str, Score]] = ()
    dialogues: Sequence[Sequence[AnsweredTurn]] = ()
    kept: str | None = None
    arrays: ScoreArrays = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arrays", ScoreArrays.of(self.questions, self.scores))

    @property
    def outcome(self) -> np.ndarray:
        """Outcomes (`records.OUTCOMES`), an array of shape (questions,)."""
        return self.arrays.outcome

    @property
    def label(self) -> np.ndarray:
        """Parsed labels, an array of shape (questions,); "" where there is none."""
        return self.arrays.label

    @property
    def correct(self) -> np.ndarray:
        """Flags of correct answers, an array of shape (questions,)."""
        return self.arrays.correct

    @property
    def failed(self) -> np.ndarray:
        """Flags of questions whose request failed, an array of shape (questions,)."""
        return self.arrays.failed

    @property
    def official_texts(self) -> list[str]:
        """What the released code reads of the replies; "" for a failed request."""
        return ["" if turn.reply.error is not None else official_text(turn.reply, self.kept) for turn in self.answers]

    @property
    def turns(self) -> Iterable[AnsweredTurn]:
        """All turns, or those that answer the questions if the dialogues are not known."""
        return chain.from_iterable(self.dialogues) if self.dialogues else self.answers

    def step(self, name: str) -> list[Score | None]:
        """Return the score of another step of each question; None where the dialogue had no such step."""
        return [scores.get(name) for scores in self.other_scores]


@dataclass(frozen=True, slots=True)
class AcrossVariants:
    """Metrics that combine the answers to the same questions under several variants.

    Attributes
    ----------
    name : str
        The metrics' entry in the column of variants, such as "average". No variant may have this name.
    variants : tuple of str
        The combined variants. The metrics have rows for each seed that all of them were asked with, and for the mean
        over these seeds if there are several. They have no rows if a variant was not run.
    ratios : callable
        ``(answers) -> {name: Ratio}``. It receives the `ScoreArrays` of each variant, in the order of ``variants``
        and with the same questions in the same order: those that all variants have, by id. Categories and groups are
        those of the first variant. A numerator may exceed 1 where the denominator is the number of combined answers.
        It returns no ratios if the combination is undefined for the questions.
    paired : bool
        Whether a question counts once for all variants. Then a variant that was asked with one seed is combined with
        every seed of the others, and the metric ``unpaired`` is the share of questions that a variant lacks.
    """

    name: str
    variants: tuple[str, ...]
    ratios: Callable[[Sequence[ScoreArrays]], Mapping[str, Ratio]]
    paired: bool = False


@dataclass(frozen=True, slots=True)
class BenchmarkMetrics:
    """The metrics of one benchmark, besides those of all benchmarks.

    What the functions return gets intervals, means over seeds and categories like every other metric.

    Attributes
    ----------
    categories : callable
        ``(questions) -> {name: flags}``: further sets of questions, each an array of shape (questions,).
    ratios : callable
        ``(scored) -> {name: Ratio}``: numerators and denominators, arrays of shape (questions,). Names that begin with
        ``share_`` are those of the shares of answers, which the report draws as the parts of a bar.
    risk_coverage : callable
        ``(scored) -> {name: RiskCoverage}``: curves whose area is a metric.
    across_seeds : callable, optional
        ``(seeds) -> {name: Ratio}``: metrics that compare the seeds of one variant. It receives the `ScoreArrays` of
        each seed, with the questions in the same order. Such a metric has no row for a single seed.
    across_variants : tuple of AcrossVariants
        Metrics that combine several variants, such as an average of their accuracies.
    derived : callable
        ``(metrics) -> iterable of Metric``: metrics computed from those of one category, given by name.
    headline : tuple of str
        Names of the benchmark's metrics in headline.csv, besides those of all benchmarks.
    """

    categories: Callable[[Sequence[Question]], Mapping[str, np.ndarray]] = lambda questions: {}
    ratios: Callable[[ScoredAnswers], Mapping[str, Ratio]] = lambda scored: {}
    risk_coverage: Callable[[ScoredAnswers], Mapping[str, RiskCoverage]] = lambda scored: {}
    across_seeds: Callable[[Sequence[ScoreArrays]], Mapping[str, Ratio]] | None = None
    across_variants: tuple[AcrossVariants, ...] = ()
    derived: Callable[[Mapping[str, Metric]], Iterable[Metric]] = lambda metrics: ()
    headline: tuple[str, ...] = ()
