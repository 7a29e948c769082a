"""A first number: what was measured for one model and benchmark, as a text, tables and a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pandas as pd

from known_unknowns import json_files, tables
from known_unknowns.benchmark import registry
from known_unknowns.config import Params
from known_unknowns.edition_files import EditionFiles
from known_unknowns.evaluation import numbers as texts
from known_unknowns.evaluation.numbers import Number, numbers_of
from known_unknowns.metrics.unusable_replies import outcomes, unusable
from known_unknowns.records import Cell, Metric
from known_unknowns.scoring.reply_rows import reply_rows
from known_unknowns.tables import Part


@dataclass(frozen=True)
class Evaluation:
    """What was measured, and every reply.

    Attributes
    ----------
    name : str
        The model, or the function that answered.
    title, data : str
        The benchmark's name, and where the questions are from.
    rendered : bool
        Whether the questions are rendered ones, not the published ones.
    asked, total : int
        Numbers of questions: of the sample, and of all.
    variants : tuple of str
        The variants that were asked, the published questions first.
    confidence : float
        The level of the intervals.
    metrics : tuple of Metric
        Every metric of every category.
    published : tuple of str
        Lines on the published numbers of the model, for the notes.
    """

    name: str
    title: str
    data: str
    rendered: bool
    asked: int
    total: int
    variants: tuple[str, ...]
    confidence: float
    metrics: tuple[Metric, ...] = field(repr=False)
    published: tuple[str, ...] = field(repr=False)
    _params: Params = field(repr=False)
    _model: str = field(repr=False)
    _benchmark: str = field(repr=False)
    _files: EditionFiles = field(repr=False)
    _folder: object = field(repr=False)
    """What keeps the folder of the files, if it is a temporary one."""

    @property
    def numbers(self) -> list[Number]:
        """The numbers of the summary."""
        return numbers_of(self.metrics, self.variants)

    @property
    def head(self) -> str:
        """What was asked."""
        rendered = " (rendered)" if self.rendered else ""
        return f"{self.name} on {self.title}{rendered}, {self.asked:,} of {self.total:,} questions"

    @property
    def notes(self) -> list[str]:
        """What a reader must know of the numbers."""
        return [*filter(None, [unusable(self._outcomes())]), *self._other_notes()]

    def _outcomes(self) -> list[tuple[str | None, str]]:
        parser = self.numbers[0].metric.parser
        cells = self._params.cells(self._benchmark)
        return outcomes(self._params, self._files, self._model, self._benchmark, cells, parser)

    def _other_notes(self) -> list[str]:
        caveat = texts.caveat(self.asked, self.total, rendered=self.rendered)
        return [
            *filter(None, [self._repeated(), *self.published, caveat]),
            texts.method(self.numbers, self.confidence),
        ]

    def _repeated(self) -> str:
        """Return how many requests were repeated, with the reasons, if an endpoint's were."""
        path = self._files.engine(self._model, self._benchmark)
        counts = json_files.read(path).get("about", {}).get("repeated_requests") if path.is_file() else None
        if not counts:
            return ""
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in counts.items())
        return f"Requests that were repeated: {sum(counts.values()):,} ({reasons})."

    def summary(self) -> str:
        """Return the numbers with their intervals, as text."""
        return "\n".join([self.head, "", texts.table(self.numbers), "", *self.notes])

    def to_pandas(self, rows: Literal["numbers", "metrics", "questions"] = "numbers") -> pd.DataFrame:
        """Return a table.

        numbers: those of the summary. metrics: every metric of every category and parser. questions: a row for each
        variant, question and turn, with the reply and what each parser made of it.
        """
        if rows == "questions":
            return pd.concat(map(self._replies, self._params.cells(self._benchmark)), ignore_index=True)
        if rows == "metrics":
            names = ["name", "variant", "category", "parser", "value", "n", "low", "high", "method"]
            return pd.DataFrame([[getattr(m, name) for name in names] for m in self.metrics], columns=names)
        if rows != "numbers":
            raise ValueError(f"rows is {rows!r}; it is one of numbers, metrics, questions")
        values = [
            [each.name, each.variant, m.value, m.n, m.low, m.high, m.method]
            for each in self.numbers
            for m in [each.metric]
        ]
        return pd.DataFrame(values, columns=["name", "variant", "value", "n", "low", "high", "method"])

    def _replies(self, cell: Cell) -> pd.DataFrame:
        model, benchmark, files = self._model, self._benchmark, self._files
        replies, answers = (Part(path(model, benchmark), cell) for path in (files.replies, files.answers))
        names, rows = reply_rows(
            files.asked(benchmark, cell.variant, cell.seed), replies, answers, self._params.parsers
        )
        found = pd.DataFrame([list(row) for row in rows], columns=list(names))
        found.insert(0, "variant", cell.variant)
        return found

    def report(self, path: str | Path) -> Path:
        """Write a page with the numbers and every question, its image and reply, wrong ones first; return its path.

        The data of the page are in the folder ``questions`` beside it.
        """
        shown, further = [], []
        for each in self.numbers:
            metric = each.metric
            row = each.name, texts.percent(metric.value), texts.interval(metric), texts.count(metric), each.variant
            if each.name in texts.CLASSES:
                further.append(row)
            else:
                shown.append(row)
        from known_unknowns.report import browser
        from known_unknowns.report.private_texts import PrivateTexts

        private = PrivateTexts.of(self._params, Path.cwd())
        quoted = unusable(private.removed_from_outcomes(self._outcomes()))
        notes = [*filter(None, [quoted]), *map(private.removed, self._other_notes())]
        summary = browser.Summary(self.head, shown, further, notes)
        path = Path(path)
        browser.build(self._params, results=self._files.results, data=self._files.data, out=path, summary=summary)
        return path


def read(
    params: Params,
    model: str,
    benchmark: str,
    files: EditionFiles,
    *,
    name: str | None = None,
    data: str | None = None,
    rendered: bool | None = None,
    folder: object = None,
    published: Sequence[str] = (),
) -> Evaluation:
    """Read the results of the edition of a trial (`trial.overlay`).

    ``name``, ``data`` and ``rendered`` are those of the model and the edition unless they are given. ``folder`` lives
    as long as the result.
    """
    first = params.cells(benchmark)[0]
    return Evaluation(
        name=name or model,
        title=registry.get(benchmark).title,
        data=data or params.data_name,
        rendered=params.data(benchmark).source == "scenes" if rendered is None else rendered,
        asked=len(tables.read_questions(files.asked(benchmark, first.variant, first.seed))),
        total=len(tables.read_questions(files.question_table(benchmark))),
        variants=tuple(params.variants(benchmark)),
        confidence=params.statistics.confidence,
        metrics=tuple(tables.read_metrics(files.metrics(model, benchmark))),
        published=tuple(published),
        _params=params,
        _model=model,
        _benchmark=benchmark,
        _files=files,
        _folder=folder,
    )
