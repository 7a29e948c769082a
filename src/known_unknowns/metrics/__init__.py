"""Metrics with their denominators and intervals: `proportions` says what is counted, `intervals` how they are made."""

from __future__ import annotations

from known_unknowns.metrics.measure import headline, measure

__all__ = ["headline", "measure"]
