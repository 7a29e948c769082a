"""HumbleBench: the benchmark's class (`known_unknowns.benchmark.interface.Benchmark`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from known_unknowns.benchmark.interface import Benchmark, PublishedProtocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from known_unknowns.benchmark.checks import Finding, Quantity
    from known_unknowns.benchmark.exchange import Exchange
    from known_unknowns.benchmark.metrics import BenchmarkMetrics
    from known_unknowns.benchmark.parsed_answer import ParsedAnswer
    from known_unknowns.benchmark.protocol import Protocol
    from known_unknowns.benchmark.released import Released
    from known_unknowns.config import DataEntry
    from known_unknowns.progress import Advance
    from known_unknowns.records import Question


class HumbleBench(Benchmark):
    """HumbleBench: see README.md."""

    name = "humblebench"
    title = "HumbleBench"
    short = "HB"
    official_only_metrics = {"exact_refusal_recall": "refusal_recall"}
    published_protocols = {
        **{
            variant: PublishedProtocol("single_turn")
            for variant in ("original", "nota_only", "noise", "shuffled_all_options")
        },
        "cautious_prompt": PublishedProtocol("cautious_prompt"),
        "noise_forced_grounding": PublishedProtocol("forced_grounding_prompt"),
    }
    # Figure 4 is the accuracy on HumbleBench-E, which the paper takes by the exact string; Figure 5 is HumbleBench-GN.
    plot = {
        "original": ("original", "robust", "accuracy"),
        "nota_only": ("nota_only", "robust", "accuracy"),
        "nota_only_exact": ("nota_only", "official", "exact_refusal_recall"),
        "noise": ("noise", "robust", "accuracy"),
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
        from known_unknowns_benchmarks.humblebench.loader import load

        return load(raw, folder, settings=settings, advance=advance, workers=workers)

    def load_without_images(self, path: Path, *, settings: DataEntry | None = None) -> list[Question] | None:
        from known_unknowns_benchmarks.humblebench.exchange import load_without_images

        return load_without_images(path, settings=settings)

    def check(self, raw: Path, *, settings: DataEntry | None = None) -> tuple[Sequence[Quantity], Sequence[Finding]]:
        from known_unknowns_benchmarks.humblebench.check import check

        return check(raw, settings=settings)

    def prompt(self, question: Question) -> str:
        from known_unknowns_benchmarks.humblebench.loader import prompt

        return prompt(question)

    def protocols(self) -> Mapping[str, Protocol]:
        from known_unknowns_benchmarks.humblebench.protocols import PROTOCOLS

        return PROTOCOLS

    def official(self, text: str, question: Question) -> ParsedAnswer:
        from known_unknowns_benchmarks.humblebench.official import official

        return official(text, question)

    def metrics(self) -> BenchmarkMetrics:
        from known_unknowns_benchmarks.humblebench.metrics import METRICS

        return METRICS

    def exchange(self) -> Exchange:
        from known_unknowns_benchmarks.humblebench.exchange import EXCHANGE

        return EXCHANGE

    def released(self) -> Released:
        from known_unknowns_benchmarks.humblebench.released import RELEASED

        return RELEASED

    def refusal_means(self, question: Question) -> str:
        return "none_of_options"


BENCHMARK = HumbleBench()
