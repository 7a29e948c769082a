"""HumbleBench: the benchmark's class (`known_unknowns.benchmark.interface.Benchmark`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from known_unknowns.benchmark.interface import Benchmark, PublishedProtocol, part

if TYPE_CHECKING:
    from known_unknowns.records import Question


class HumbleBench(Benchmark):
    """HumbleBench: see README.md."""

    name = "humblebench"
    title = "HumbleBench"
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

    load = part("loader.load")
    load_without_images = part("exchange.load_without_images")
    check = part("check.check")
    prompt = part("loader.prompt")
    protocols = part("protocols.PROTOCOLS")
    official = part("official.official")
    metrics = part("metrics.METRICS")
    exchange = part("exchange.EXCHANGE")
    released = part("released.RELEASED")

    def refusal_means(self, question: Question) -> str:
        return "none_of_options"


BENCHMARK = HumbleBench()
