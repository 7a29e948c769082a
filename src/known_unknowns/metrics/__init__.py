"""Metrics with numbers of questions, denominators and confidence intervals.

`answers` reads the table that all metrics are computed from. `proportions` defines the metrics of all benchmarks,
`confidence` those of a model's confidences, and `known_unknowns.benchmark.metrics` how a benchmark adds its own.
`intervals` has the confidence intervals.
"""

from __future__ import annotations

from known_unknowns.metrics.intervals import clustered_interval
from known_unknowns.metrics.measure import headline, measure

__all__ = ["clustered_interval", "headline", "measure"]
