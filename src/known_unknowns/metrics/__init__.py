"""Metrics with numbers of questions, denominators and confidence intervals.

`answers` reads the table that all metrics are computed from. `proportions` defines the metrics of all benchmarks,
`confidence` those of a model's confidences, and `known_unknowns.benchmark.metrics` how a benchmark adds its own.
`intervals` has the confidence intervals.
"""
