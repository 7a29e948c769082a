"""The two numbers that only HumbleBench's released code counts; see `known_unknowns.metrics.benchmark_hooks`."""

from __future__ import annotations

import numpy as np

from known_unknowns.benchmarks.humblebench.official import official_metrics
from known_unknowns.metrics.benchmark_hooks import BenchmarkMetrics, Scored
from known_unknowns.metrics.proportions import Ratio


def ratios(scored: Scored) -> dict[str, Ratio]:
    """`official_metrics`, under the released rule alone."""
    if scored.scorer != "official":
        return {}
    counted = official_metrics(scored.questions, scored.texts, [score.label for score in scored.readings])
    return {name: Ratio(np.array(above), np.array(below)) for name, (above, below) in counted.items()}


METRICS = BenchmarkMetrics(ratios=ratios)
