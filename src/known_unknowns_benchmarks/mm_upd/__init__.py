"""MM-UPD: the benchmark's class (`known_unknowns.benchmark.interface.Benchmark`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from known_unknowns.benchmark.headline import ACCURACY, HeadlineNumber
from known_unknowns.benchmark.interface import Benchmark, PublishedProtocol
from known_unknowns.records import Definition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from known_unknowns.benchmark.checks import Finding, Quantity
    from known_unknowns.benchmark.metrics import BenchmarkMetrics
    from known_unknowns.benchmark.parsed_answer import ParsedAnswer
    from known_unknowns.benchmark.protocol import Protocol
    from known_unknowns.benchmark.variant import Variant
    from known_unknowns.config import DataEntry
    from known_unknowns.progress import Advance
    from known_unknowns.records import Question


def _dual(setting: str) -> Definition:
    return Definition(
        f"Share of the pairs of a standard and an unsolvable question that are both right in every order of options, "
        f"in the {setting} setting.",
        "src/known_unknowns_benchmarks/mm_upd/README.md#circular-evaluation",
    )


class MMUPD(Benchmark):
    """MM-UPD: see README.md."""

    name = "mm_upd"
    title = "MM-UPD"
    short = "UPD"
    headline = (
        HeadlineNumber(
            "dual_base",
            "dual accuracy, base",
            "circular_dual",
            ("mm_upd_base",),
            short="base",
            definition=_dual("base"),
        ),
        HeadlineNumber(
            "dual_option",
            "dual accuracy, option",
            "circular_dual",
            ("original",),
            short="opt",
            definition=_dual("option"),
        ),
        HeadlineNumber(
            "dual_instruction",
            "dual accuracy, instruction",
            "circular_dual",
            ("mm_upd_instruction",),
            short="inst",
            definition=_dual("instruction"),
        ),
        ACCURACY,
    )
    published_protocols = {
        "original": PublishedProtocol("single_turn"),
        "mm_upd_base": PublishedProtocol("mm_upd_base"),
        "mm_upd_instruction": PublishedProtocol("mm_upd_instruction"),
        "mm_upd_standard": PublishedProtocol("mm_upd_standard"),
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
        from known_unknowns_benchmarks.mm_upd.loader import load

        return load(raw, folder, settings=settings, advance=advance, workers=workers)

    def check(self, raw: Path, *, settings: DataEntry | None = None) -> tuple[Sequence[Quantity], Sequence[Finding]]:
        from known_unknowns_benchmarks.mm_upd.check import check

        return check(raw, settings=settings)

    def prompt(self, question: Question) -> str:
        from known_unknowns_benchmarks.mm_upd.prompts import option

        return option(question)

    def variants(self) -> Mapping[str, Variant]:
        from known_unknowns_benchmarks.mm_upd.variants import VARIANTS

        return VARIANTS

    def protocols(self) -> Mapping[str, Protocol]:
        from known_unknowns_benchmarks.mm_upd.protocols import PROTOCOLS

        return PROTOCOLS

    def official(self, text: str, question: Question) -> ParsedAnswer:
        from known_unknowns_benchmarks.mm_upd.official import official

        return official(text, question)

    def metrics(self) -> BenchmarkMetrics:
        from known_unknowns_benchmarks.mm_upd.metrics import METRICS

        return METRICS

    def asked_together(self, question: Question) -> str:
        return f"{question.extra.get('subset')} {question.extra.get('problem', question.id)}"

    def refusal_means(self, question: Question) -> str:
        from known_unknowns_benchmarks.mm_upd.format import SUBSETS

        return "cannot_tell" if question.extra.get("subset") == SUBSETS[2] else "none_of_options"


BENCHMARK = MMUPD()
