"""Interface of the metrics that one benchmark adds to those of all benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from known_unknowns.records import FAILED, AnsweredTurn, Metric, Question, Score


class Ratio(NamedTuple):
    """Numerators and denominators of a metric: arrays of shape (questions,), of flags or of numbers.

    ``proportion`` is False if the ratio can be negative or greater than 1.
    """

    numerator: np.ndarray
    denominator: np.ndarray
    proportion: bool = True


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


class OnDemand(Sequence[Any]):
    """A sequence whose elements are built when one of them is used.

    Parameters
    ----------
    length : int
    build : callable
        Returns the elements.
    """

    def __init__(self, length: int, build: Callable[[], Sequence[Any]]) -> None:
        self._length, self._build = length, build

    @cached_property
    def _elements(self) -> Sequence[Any]:
        return self._build()

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: Any) -> Any:
        return self._elements[place]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._elements)


@dataclass(frozen=True)
class ScoreColumns:
    """One parser's scores of the answers, as arrays of shape (questions,).

    Attributes
    ----------
    outcome, label : ndarray of str
        One of `records.OUTCOMES`; the parsed label, "" without one. Only the outcomes "answered" and "refused" have a
        choice.
    choice : ndarray of int
        Index of the chosen option; -1 without one.
    correct : ndarray of bool
    texts : callable
        Returns the raw replies; "" for a failed request.
    """

    outcome: np.ndarray
    label: np.ndarray
    choice: np.ndarray
    correct: np.ndarray
    texts: Callable[[], list[str]]

    def select(self, places: Sequence[int]) -> ScoreColumns:
        """Return the scores of the questions at these places."""
        at = np.asarray(places, dtype=np.int64)

        def texts() -> list[str]:
            found = self.texts()
            return [found[place] for place in places]

        return ScoreColumns(self.outcome[at], self.label[at], self.choice[at], self.correct[at], texts)


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
    columns : ScoreColumns, optional
        The same as ``scores``. With it, no other sequence is built that is not used.
    """

    parser: str
    questions: Sequence[Question]
    answers: Sequence[AnsweredTurn]
    scores: Sequence[Score]
    other_scores: Sequence[Mapping[str, Score]] = field(default=())
    dialogues: Sequence[Sequence[AnsweredTurn]] = field(default=())
    columns: ScoreColumns | None = None

    @property
    def outcome(self) -> np.ndarray:
        """Outcomes (`records.OUTCOMES`), an array of shape (questions,)."""
        if self.columns is not None:
            return self.columns.outcome
        return np.array([score.outcome for score in self.scores])

    @property
    def label(self) -> np.ndarray:
        """Parsed labels, an array of shape (questions,); "" where there is none."""
        if self.columns is not None:
            return self.columns.label
        return np.array([score.label or "" for score in self.scores])

    @property
    def choice(self) -> np.ndarray:
        """Indices of the chosen options, an array of shape (questions,); -1 where there is none."""
        if self.columns is not None:
            return self.columns.choice
        return np.array([-1 if score.choice is None else score.choice for score in self.scores], dtype=np.int64)

    @property
    def correct(self) -> np.ndarray:
        """Flags of correct answers, an array of shape (questions,)."""
        if self.columns is not None:
            return self.columns.correct
        return np.array([score.correct for score in self.scores], dtype=bool)

    @property
    def failed(self) -> np.ndarray:
        """Flags of questions whose request failed, an array of shape (questions,)."""
        return self.outcome == FAILED

    @property
    def texts(self) -> list[str]:
        """The raw replies; "" for a failed request."""
        if self.columns is not None:
            return self.columns.texts()
        return ["" if turn.reply.error is not None else turn.reply.text for turn in self.answers]

    @property
    def turns(self) -> Iterable[AnsweredTurn]:
        """All turns, or those that answer the questions if the dialogues are not known."""
        return chain.from_iterable(self.dialogues) if self.dialogues else self.answers

    def step(self, name: str) -> list[Score | None]:
        """Return the score of another step of each question; None where the dialogue had no such step."""
        return [scores.get(name) for scores in self.other_scores]

    def select(self, places: Sequence[int]) -> ScoredAnswers:
        """Return the answers to the questions at these places, in this order."""
        if list(places) == list(range(len(self.questions))):
            return self

        def chosen(values: Sequence[Any]) -> Sequence[Any]:
            return OnDemand(len(places), lambda: [values[place] for place in places]) if values else ()

        return ScoredAnswers(
            parser=self.parser,
            questions=[self.questions[place] for place in places],
            answers=chosen(self.answers),
            scores=chosen(self.scores),
            other_scores=chosen(self.other_scores),
            dialogues=chosen(self.dialogues),
            columns=None if self.columns is None else self.columns.select(places),
        )


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
        ``(answers) -> {name: Ratio}``. It receives the `ScoredAnswers` of each variant, in the order of ``variants``
        and with the same questions in the same order: those that all variants have, by id. Categories and groups are
        those of the first variant. A numerator may exceed 1 where the denominator is the number of combined answers.
        It returns no ratios if the combination is undefined for the questions.
    paired : bool
        Whether a question counts once for all variants. Then a variant that was asked with one seed is combined with
        every seed of the others, and the metric ``unpaired`` is the share of questions that a variant lacks.
    """

    name: str
    variants: tuple[str, ...]
    ratios: Callable[[Sequence[ScoredAnswers]], Mapping[str, Ratio]]
    paired: bool = False


def _no_categories(questions: Sequence[Question]) -> Mapping[str, np.ndarray]:
    return {}


def _no_ratios(scored: ScoredAnswers) -> Mapping[str, Ratio]:
    return {}


def _no_curves(scored: ScoredAnswers) -> Mapping[str, RiskCoverage]:
    return {}


def _no_derived_metrics(metrics: Mapping[str, Metric]) -> Iterable[Metric]:
    return ()


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
        ``(seeds) -> {name: Ratio}``: metrics that compare the seeds of one variant. It receives the `ScoredAnswers` of
        each seed, with the questions in the same order. Such a metric has no row for a single seed.
    across_variants : tuple of AcrossVariants
        Metrics that combine several variants, such as an average of their accuracies.
    derived : callable
        ``(metrics) -> iterable of Metric``: metrics computed from those of one category, given by name.
    headline : tuple of str
        Names of the benchmark's metrics in headline.csv, besides those of all benchmarks.
    """

    categories: Callable[[Sequence[Question]], Mapping[str, np.ndarray]] = _no_categories
    ratios: Callable[[ScoredAnswers], Mapping[str, Ratio]] = _no_ratios
    risk_coverage: Callable[[ScoredAnswers], Mapping[str, RiskCoverage]] = _no_curves
    across_seeds: Callable[[Sequence[ScoredAnswers]], Mapping[str, Ratio]] | None = None
    across_variants: tuple[AcrossVariants, ...] = ()
    derived: Callable[[Mapping[str, Metric]], Iterable[Metric]] = _no_derived_metrics
    headline: tuple[str, ...] = ()
