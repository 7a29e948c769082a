"""The result of `known_unknowns.evaluate`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import jinja2
import pandas as pd

from known_unknowns.evaluation import numbers as texts
from known_unknowns.evaluation.numbers import Number, numbers_of
from known_unknowns.files import write_text
from known_unknowns.inference.unusable_replies import unusable
from known_unknowns.records import Metric


@dataclass(frozen=True)
class Evaluation:
    """What was measured, and every reply.

    Attributes
    ----------
    title, data : str
        The benchmark's name, and where the questions are from.
    rendered : bool
        Whether the questions are rendered ones, not the published ones.
    asked, total : int
        Numbers of questions: of the sample, and of all.
    confidence : float
        The level of the intervals.
    metrics : tuple of Metric
        Every metric of every category.
    columns, rows
        A table with a row per variant, question and turn.
    """

    title: str
    data: str
    rendered: bool
    asked: int
    total: int
    variants: tuple[str, ...]
    confidence: float
    metrics: tuple[Metric, ...] = field(repr=False)
    columns: tuple[str, ...] = field(repr=False)
    rows: tuple[tuple[Any, ...], ...] = field(repr=False)

    @property
    def numbers(self) -> list[Number]:
        """The numbers of the summary."""
        return numbers_of(self.metrics, self.variants)

    @property
    def head(self) -> str:
        """What was asked."""
        variants = ", ".join(self.variants)
        return f"{self.title}: {self.asked:,} of {self.total:,} questions ({self.data}), variants {variants}"

    @property
    def notes(self) -> list[str]:
        """What a reader must know of the numbers."""
        numbers = self.numbers
        parser = numbers[0].metric.parser
        place = {name: index for index, name in enumerate(self.columns)}
        replies = [
            (row[place[f"{parser}.outcome"]], row[place["error"]] or row[place["reply"]])
            for row in self.rows
            if row[place[f"{parser}.outcome"]] is not None
        ]
        lines = [unusable(replies), texts.caveat(self.asked, self.total, rendered=self.rendered)]
        return [*filter(None, lines), texts.method(numbers, self.confidence)]

    def summary(self) -> str:
        """Return the numbers with their intervals, as text."""
        return "\n".join([self.head, "", texts.table(self.numbers), "", *self.notes])

    def to_pandas(self, rows: Literal["numbers", "metrics", "questions"] = "numbers") -> pd.DataFrame:
        """Return a table.

        numbers: those of the summary. metrics: every metric of every category and parser. questions: a row for each
        variant, question and turn, with the reply and what each parser made of it.
        """
        if rows == "questions":
            return pd.DataFrame(list(self.rows), columns=list(self.columns))
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

    def report(self, path: str | Path) -> Path:
        """Write an HTML page with the numbers and every reply, and return its path."""
        environment = jinja2.Environment(loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True)
        template = environment.get_template("evaluation.html.j2")
        numbers = [
            (each.name, texts.percent(each.metric.value), texts.interval(each.metric), each.metric.n, each.variant)
            for each in self.numbers
        ]
        text = template.render(
            title=self.title, head=self.head, numbers=numbers, notes=self.notes, columns=self.columns, rows=self.rows
        )
        write_text(Path(path), text)
        return Path(path)
