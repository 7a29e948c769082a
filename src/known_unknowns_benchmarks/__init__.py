"""The benchmarks, one folder each. `known_unknowns.benchmark.registry` finds them by their entry points.

Only `known_unknowns_pocket`, which renders files in their formats, imports them.
"""
