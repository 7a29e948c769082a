"""The benchmarks, one folder each. `known_unknowns.benchmark.registry` finds them by name; nothing imports them."""
