"""Metrics with numbers of questions, denominators and confidence intervals.

`proportions` defines the metrics of all benchmarks, `confidence` those of a model's confidences,
`known_unknowns.benchmark.metrics` how a benchmark adds its own, and `intervals` the confidence intervals.
"""
