"""Multiple choice: questions of the user's own, in the common table formats (README.md)."""

from __future__ import annotations

from known_unknowns.benchmark.headline import AREA, GENERAL
from known_unknowns.benchmark.interface import Benchmark, part


class MultipleChoice(Benchmark):
    """Multiple choice: see README.md."""

    name = "multiple_choice"
    title = "Multiple choice"
    headline = (*GENERAL, AREA)
    forced_choice_metrics = frozenset({"refused_and_known", "known_of_refused", "forced_unread"})

    load = part("loader.load")
    contents = part("loader.contents")
    check = part("check.check")
    prompt = part("prompts.prompt")
    refusal_prompt = part("prompts.refusal_prompt")
    official = part("prompts.official")
    metrics = part("metrics.METRICS")
    exchange = part("exchange.EXCHANGE")
    load_without_images = part("exchange.load_without_images")


BENCHMARK = MultipleChoice()
