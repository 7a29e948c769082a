"""Rendered pocket editions of the benchmarks, in their published file formats."""
