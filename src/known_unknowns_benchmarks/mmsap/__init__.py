"""MM-SAP: the benchmark's class (`known_unknowns.benchmark.interface.Benchmark`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from known_unknowns.benchmark.headline import ACCURACY, AREA, DUAL, DUAL_OF_ALL, RECOGNISED, REFUSED, HeadlineNumber
from known_unknowns.benchmark.interface import Benchmark, PublishedProtocol
from known_unknowns.records import Definition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from known_unknowns.benchmark.checks import Finding, Quantity
    from known_unknowns.benchmark.exchange import Exchange
    from known_unknowns.benchmark.metrics import BenchmarkMetrics
    from known_unknowns.benchmark.parsed_answer import ParsedAnswer
    from known_unknowns.benchmark.section_data import SectionData
    from known_unknowns.config import DataEntry
    from known_unknowns.metrics.run import Run
    from known_unknowns.progress import Advance
    from known_unknowns.records import Question

_README = "src/known_unknowns_benchmarks/mmsap/README.md"


class MMSAP(Benchmark):
    """MM-SAP: see README.md."""

    name = "mmsap"
    title = "MM-SAP"
    short = "SAP"
    headline = (
        DUAL,
        DUAL_OF_ALL,
        HeadlineNumber(
            "score_sa",
            "self-awareness score",
            "score_sa",
            short="SA",
            definition=Definition(
                "Share of the questions that are answered correctly, or refused and unknown to the model (Equation 4).",
                f"{_README}#metrics",
            ),
        ),
        ACCURACY,
        REFUSED,
        *RECOGNISED,
        AREA,
    )
    forced_choice_metrics = frozenset(
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
    published_protocols = {
        "shuffled_options": PublishedProtocol("forced_choice"),
        "shuffled_refusal_prompt": PublishedProtocol("refusal_prompt"),
    }

    def load(
        self,
        raw: Path,
        folder: Path,
        *,
        settings: DataEntry | None = None,
        advance: Advance | None = None,
        workers: int = 1,
    ) -> Iterator[Question]:
        from known_unknowns_benchmarks.mmsap.loader import load

        return load(raw, folder, settings=settings, advance=advance, workers=workers)

    def check(self, raw: Path, *, settings: DataEntry | None = None) -> tuple[Sequence[Quantity], Sequence[Finding]]:
        from known_unknowns_benchmarks.mmsap.check import check

        return check(raw, settings=settings)

    def prompt(self, question: Question) -> str:
        from known_unknowns_benchmarks.mmsap.loader import prompt

        return prompt(question)

    def refusal_prompt(self, question: Question) -> str:
        from known_unknowns_benchmarks.mmsap.loader import refusal_prompt

        return refusal_prompt(question)

    def forced_choice_applies(self, question: Question) -> bool:
        from known_unknowns_benchmarks.mmsap.loader import forced_choice_applies

        return forced_choice_applies(question)

    def official(self, text: str, question: Question) -> ParsedAnswer:
        from known_unknowns_benchmarks.mmsap.official import official

        return official(text, question)

    def metrics(self) -> BenchmarkMetrics:
        from known_unknowns_benchmarks.mmsap.metrics import METRICS

        return METRICS

    def exchange(self) -> Exchange:
        from known_unknowns_benchmarks.mmsap.exchange import EXCHANGE

        return EXCHANGE

    def section_data(self, run: Run, *, results: Path, data: Path) -> SectionData:
        from known_unknowns_benchmarks.mmsap.report import build

        return build(run, results=results, data=data)

    def refusal_means(self, question: Question) -> str:
        return "cannot_tell"


BENCHMARK = MMSAP()
