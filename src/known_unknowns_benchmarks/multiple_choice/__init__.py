"""Multiple choice: questions of the user's own, in the common table formats (README.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from known_unknowns.benchmark.headline import AREA, GENERAL
from known_unknowns.benchmark.interface import Benchmark

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from known_unknowns.benchmark.checks import Finding, Quantity
    from known_unknowns.benchmark.exchange import Exchange
    from known_unknowns.benchmark.interface import Contents
    from known_unknowns.benchmark.metrics import BenchmarkMetrics
    from known_unknowns.benchmark.parsed_answer import ParsedAnswer
    from known_unknowns.config import DataEntry
    from known_unknowns.progress import Advance
    from known_unknowns.records import Question


class MultipleChoice(Benchmark):
    """Multiple choice: see README.md."""

    name = "multiple_choice"
    title = "Multiple choice"
    short = "MC"
    headline = (*GENERAL, AREA)
    forced_choice_metrics = frozenset({"refused_and_known", "known_of_refused", "forced_unread"})

    def load(
        self,
        raw: Path,
        folder: Path,
        *,
        settings: DataEntry | None = None,
        advance: Advance | None = None,
        workers: int = 1,
    ) -> Iterator[Question]:
        from known_unknowns_benchmarks.multiple_choice.loader import load

        return load(raw, folder, settings=settings, advance=advance, workers=workers)

    def contents(self, folder: Path, *, settings: DataEntry | None = None) -> Contents:
        from known_unknowns_benchmarks.multiple_choice.loader import contents

        return contents(folder, settings=settings)

    def check(self, raw: Path, *, settings: DataEntry | None = None) -> tuple[Sequence[Quantity], Sequence[Finding]]:
        from known_unknowns_benchmarks.multiple_choice.check import check

        return check(raw, settings=settings)

    def prompt(self, question: Question) -> str:
        from known_unknowns_benchmarks.multiple_choice.prompts import prompt

        return prompt(question)

    def refusal_prompt(self, question: Question) -> str:
        from known_unknowns_benchmarks.multiple_choice.prompts import refusal_prompt

        return refusal_prompt(question)

    def official(self, text: str, question: Question) -> ParsedAnswer:
        from known_unknowns_benchmarks.multiple_choice.prompts import official

        return official(text, question)

    def metrics(self) -> BenchmarkMetrics:
        from known_unknowns_benchmarks.multiple_choice.metrics import METRICS

        return METRICS

    def exchange(self) -> Exchange:
        from known_unknowns_benchmarks.multiple_choice.exchange import EXCHANGE

        return EXCHANGE

    def load_without_images(self, path: Path, *, settings: DataEntry | None = None) -> list[Question] | None:
        from known_unknowns_benchmarks.multiple_choice.exchange import load_without_images

        return load_without_images(path, settings=settings)


BENCHMARK = MultipleChoice()
