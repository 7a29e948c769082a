"""MM-SAP: the benchmark's class (`known_unknowns.benchmark.interface.Benchmark`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from known_unknowns.benchmark.headline import ACCURACY, AREA, DUAL, RECOGNISED, REFUSED, HeadlineNumber
from known_unknowns.benchmark.interface import Benchmark, PublishedProtocol, part

if TYPE_CHECKING:
    from known_unknowns.records import Question


class MMSAP(Benchmark):
    """MM-SAP: see README.md."""

    name = "mmsap"
    title = "MM-SAP"
    headline = (
        DUAL,
        HeadlineNumber("score_sa", "self-awareness score", "score_sa"),
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

    load = part("loader.load")
    check = part("check.check")
    prompt = part("loader.prompt")
    refusal_prompt = part("loader.refusal_prompt")
    forced_choice_applies = part("loader.forced_choice_applies")
    official = part("official.official")
    metrics = part("metrics.METRICS")
    exchange = part("exchange.EXCHANGE")
    section_data = part("report.build")

    def refusal_means(self, question: Question) -> str:
        return "cannot_tell"


BENCHMARK = MMSAP()
