"""MM-UPD: the benchmark's class (`known_unknowns.benchmark.interface.Benchmark`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from known_unknowns.benchmark.headline import ACCURACY, HeadlineNumber
from known_unknowns.benchmark.interface import Benchmark, PublishedProtocol, part

if TYPE_CHECKING:
    from known_unknowns.records import Question


class MMUPD(Benchmark):
    """MM-UPD: see README.md."""

    name = "mm_upd"
    title = "MM-UPD"
    headline = (
        HeadlineNumber("dual_base", "dual accuracy, base", "circular_dual", ("mm_upd_base",)),
        HeadlineNumber("dual_option", "dual accuracy, option", "circular_dual", ("original",)),
        HeadlineNumber("dual_instruction", "dual accuracy, instruction", "circular_dual", ("mm_upd_instruction",)),
        ACCURACY,
    )
    published_protocols = {
        "original": PublishedProtocol("single_turn"),
        "mm_upd_base": PublishedProtocol("mm_upd_base"),
        "mm_upd_instruction": PublishedProtocol("mm_upd_instruction"),
        "mm_upd_standard": PublishedProtocol("mm_upd_standard"),
    }

    load = part("loader.load")
    check = part("check.check")
    prompt = part("prompts.option")
    variants = part("variants.VARIANTS")
    protocols = part("protocols.PROTOCOLS")
    official = part("official.official")
    metrics = part("metrics.METRICS")

    def asked_together(self, question: Question) -> str:
        return f"{question.extra.get('subset')} {question.extra.get('problem', question.id)}"

    def refusal_means(self, question: Question) -> str:
        from known_unknowns_benchmarks.mm_upd.format import SUBSETS

        return "cannot_tell" if question.extra.get("subset") == SUBSETS[2] else "none_of_options"


BENCHMARK = MMUPD()
