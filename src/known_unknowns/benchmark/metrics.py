"""Interface of the metrics that one benchmark adds to those of all benchmarks.

Metrics are functions of *cells*. A cell is a table (a pandas data frame) with a row for each question: the answers to
one variant with one seed and sample, as one parser parsed them. Its columns are those of `records.Answer` and the
benchmark's own (`BenchmarkMetrics.columns`). Its index is the question's id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from known_unknowns.benchmark.kept_part import official_text
from known_unknowns.records import AnsweredTurn, Metric, Question, Score

if TYPE_CHECKING:
    import pandas as pd


class Ratio(NamedTuple):
    """Numerators and denominators of a metric: arrays of shape (questions,), of flags or of numbers.

    ``lowest`` is the lowest value that the ratio can have: 0 for a proportion, -1 for a difference of two. ``reason``
    says why the ratio is undefined for all questions; "" if it is defined.
    """

    numerator: Any
    denominator: Any
    lowest: float = 0.0
    reason: str = ""


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


def no_option_is_right(cell: pd.DataFrame) -> pd.Series:
    """Flag the questions where no option but the refusal, if there is one, is the answer."""
    return cell["refusal_is_correct"] | (cell["chance"] == 0)


class ScoredReply(NamedTuple):
    """The reply that answers a question, and one parser's score of it.

    Attributes
    ----------
    question : Question
        The question.
    dialogue : sequence of AnsweredTurn
        All turns, in the order of the dialogue.
    turn : AnsweredTurn
        The turn that answers the question.
    score : Score
        The parser's score of this turn.
    kept : str, optional
        The pattern of what the released code reads of the model's replies (`known_unknowns.benchmark.kept_part`).
    """

    question: Question
    dialogue: Sequence[AnsweredTurn]
    turn: AnsweredTurn
    score: Score
    kept: str | None = None

    @property
    def official_text(self) -> str:
        """What the released code reads of the reply; "" for a failed request."""
        return "" if self.turn.reply.error is not None else official_text(self.turn.reply, self.kept)


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
        ``(cells) -> {name: Ratio}``. It receives the cell of each variant, in the order of ``variants`` and with the
        same questions in the same order: those that all variants have, by id. Categories and groups are those of the
        first variant. A numerator may exceed 1 where the denominator is the number of combined answers. It returns no
        ratios if the combination is undefined for the questions.
    paired : bool
        Whether a question counts once for all variants. Then a variant that was asked with one seed is combined with
        every seed of the others, and the metric ``unpaired`` is the share of questions that a variant lacks.
    """

    name: str
    variants: tuple[str, ...]
    ratios: Callable[[Sequence[pd.DataFrame]], Mapping[str, Ratio]]
    paired: bool = False


class BenchmarkMetrics:
    """The metrics of one benchmark, besides those of all benchmarks. A benchmark overrides what it adds.

    What the methods return gets intervals, means over seeds and categories like every other metric.

    Attributes
    ----------
    columns : type, optional
        A dataclass whose fields are further columns of the table of answers: texts, numbers and flags.
    across_variants : tuple of AcrossVariants
        Metrics that combine several variants, such as an average of their accuracies.
    compares_seeds : bool
        Whether the metrics of `known_unknowns.metrics.consistency` that compare the seeds of a variant are computed.
    headline : tuple of str
        Names of the benchmark's metrics that runs of MLflow and exports have, besides those of all benchmarks.
    """

    columns: type | None = None
    across_variants: tuple[AcrossVariants, ...] = ()
    compares_seeds: bool = False
    headline: tuple[str, ...] = ()

    def row(self, scored: ScoredReply) -> Any:
        """Return an instance of ``columns``: the values of one row of the table of answers."""
        return None

    def categories(self, cell: pd.DataFrame) -> Mapping[str, Any]:
        """Return further sets of questions, which may overlap: arrays of flags of shape (questions,)."""
        return {}

    def ratios(self, cell: pd.DataFrame) -> Mapping[str, Ratio]:
        """Return metrics that are ratios.

        Those that need the answers without the refusal option are named in `Benchmark.forced_choice_metrics` too.
        Names that begin with ``share_`` are those of the shares of answers, which the report draws as the parts of a
        bar.
        """
        return {}

    def curves(self, cell: pd.DataFrame) -> Mapping[str, RiskCoverage]:
        """Return curves of risk against coverage, whose area is a metric."""
        return {}

    def derived(self, metrics: Mapping[str, Metric]) -> Iterable[Metric]:
        """Return metrics computed from those of one category, given by name."""
        return ()
