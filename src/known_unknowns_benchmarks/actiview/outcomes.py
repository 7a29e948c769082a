"""The outcome of each question of ActiView in each pipeline, and metrics that compare pipelines.

All pipelines ask the same questions, so comparisons are paired by question. Intervals are clustered by image, as in
the metrics. With several seeds, numbers are means over seeds; costs and dialogues are those of the first seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from known_unknowns import tables
from known_unknowns.benchmark.metrics import Ratio
from known_unknowns.edition_files import EditionFiles
from known_unknowns.metrics.estimates import ratio_estimates
from known_unknowns.metrics.intervals import Interval
from known_unknowns.metrics.run import Run
from known_unknowns.records import OVERALL, AnsweredTurn, Cell, Metric, Question
from known_unknowns.scoring.dialogues import read_turns
from known_unknowns_benchmarks.actiview.metrics import Cost, cost

DIFFERENCE = "difference"
Dialogues = Sequence[tuple[Question, list[AnsweredTurn]]]


class Outcomes:
    """The outcomes of a run. Every table is read once. Outcomes that were not measured are None."""

    def __init__(self, run: Run, *, results: Path, data: Path) -> None:
        self._run = run
        self._files = EditionFiles(data, results)
        self._statistics = run.params.statistics
        columns = ["question_id", "parser", "correct"]
        self._answers = lru_cache(maxsize=None)(lambda part: tables.read_answers(part, columns))
        self.right = lru_cache(maxsize=None)(self._right)
        self.cost = lru_cache(maxsize=None)(self._cost)

    def _right(self, model: str, variant: str, parser: str) -> pd.Series | None:
        """Return the share of seeds in which a question was right, by question in the order of the table."""
        if variant not in self._run.variants or parser not in self._run.parsers:
            return None
        file = self._files.answers(model, self._run.benchmark)
        parts = [tables.Part(file, Cell(variant, seed)) for seed in self._run.seeds[variant]]
        if not all(map(tables.has_rows, parts)):
            return None
        seeds = [answers[answers["parser"] == parser] for answers in map(self._answers, parts)]
        found = [of_seed.set_index("question_id")["correct"].astype(float) for of_seed in seeds]
        return pd.concat(found, axis=1).mean(axis=1).reindex(self._groups.index)

    def dialogues(self, model: str, variant: str) -> Dialogues | None:
        """Return every question with all its turns."""
        if variant not in self._run.variants:
            return None
        cell = Cell(variant, self._run.seeds[variant][0])
        replies = tables.Part(self._files.replies(model, self._run.benchmark), cell)
        return read_turns(self._questions(variant), replies) if tables.has_rows(replies) else None

    def _questions(self, variant: str) -> tables.Part:
        return self._files.asked(self._run.benchmark, variant, self._run.seeds[variant][0])

    def _cost(self, model: str, variant: str) -> Cost | None:
        found = self.dialogues(model, variant)
        return cost([turns for _, turns in found]) if found else None

    @cached_property
    def _groups(self) -> pd.Series:
        """The image of each question, by its id. It is the same in every variant."""
        variant = self._run.variants[0]
        return pd.Series({question.id: question.group for question in tables.read_questions(self._questions(variant))})

    def share(self, metric: Metric, among: pd.Series, those: pd.Series) -> Metric:
        """Return the share of the questions ``among`` (flags by question) that are also ``those``.

        ``n`` is the number of all questions. The denominator is the number of questions ``among``.
        """
        return self._ratio(metric, among & those, among)

    def difference(self, metric: Metric, first: pd.Series, second: pd.Series) -> Metric:
        """Return the paired difference in accuracy: ``second`` minus ``first``."""
        return self._ratio(metric, second - first, None, lowest=-1.0, suffix=", paired")

    def _ratio(
        self, metric: Metric, above: pd.Series, below: pd.Series | None, *, lowest: float = 0.0, suffix: str = ""
    ) -> Metric:
        below_values = np.ones(len(above)) if below is None else below.to_numpy(float)
        column, _ = self._groups.factorize()
        ratio = Ratio(above.to_numpy(float), below_values, lowest)
        everything = np.ones(len(above), dtype=bool)
        estimated = ratio_estimates({metric.name: ratio}, {OVERALL: everything}, column)[OVERALL]
        interval = estimated.intervals(self._statistics.confidence)[0]
        if interval.low is not None:
            interval = interval._replace(method=interval.method + suffix)
        value = None if np.isnan(estimated.value[0]) else float(estimated.value[0])
        return _with_value(metric, value, interval, n=len(above), denominator=int(below_values.sum()))


def empty_metric(run: Run, model: str, variant: str, parser: str, name: str) -> Metric:
    """Return a metric of all questions, without a value."""
    return Metric(model, run.benchmark, variant, None, None, parser, OVERALL, name, None, None, None, 0, "")


def _with_value(empty: Metric, value: float | None, interval: Interval, *, n: int, denominator: int) -> Metric:
    return replace(
        empty,
        value=value,
        low=interval.low,
        high=interval.high,
        n=n,
        method=interval.method,
        denominator=float(denominator),
    )
