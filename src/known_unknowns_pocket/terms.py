"""The licence of rendered data."""

from __future__ import annotations

from pathlib import Path

from known_unknowns.benchmark.terms import read_terms

TERMS = read_terms(Path(__file__).parent, "scenes")
"""The terms of everything that this package renders."""
