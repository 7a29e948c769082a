"""A first number for a model: a sample of one benchmark, for `known-unknowns try` and `known_unknowns.evaluate`."""

from __future__ import annotations

from known_unknowns.evaluation.function import evaluate
from known_unknowns.evaluation.result import Evaluation

__all__ = ["Evaluation", "evaluate"]
