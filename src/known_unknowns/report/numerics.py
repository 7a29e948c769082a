"""How replies were computed: the plans of the prefix cache and their checks (docs/shared_prefixes.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from known_unknowns.metrics.intervals import wilson

SECTIONS = ("sharing", "certificate")
"""The parts of an engine's ``about`` that this module describes."""


@dataclass(frozen=True, slots=True)
class AnswerChanges:
    """Answers that changed when ``n`` turns were asked again at batch size 1.

    ``count`` turns changed. ``share`` has a Wilson interval. ``widest`` is the largest gap (nats) between the two most
    likely labels of the changed answers.
    """

    count: int
    n: int
    share: float
    low: float
    high: float
    widest: float | None


@dataclass(frozen=True, slots=True)
class Computation:
    """How the replies of one model to one benchmark were computed.

    ``requested`` is the setting of the prefix cache and ``plans`` the number of prompts by plan. ``difference`` is the
    largest difference from the logits of generate, in their standard deviations, on ``images`` images.
    ``rejected_plans`` are plans with the reason for their rejection.
    """

    model: str
    benchmark: str
    requested: str
    plans: Mapping[str, int]
    images: int
    difference: float | None
    rejected_plans: tuple[tuple[str, str], ...]
    changes: AnswerChanges | None


def computation(model: str, benchmark: str, about: Mapping[str, Any], confidence: float) -> Computation | None:
    """Return the description from an engine's ``about``, or None if the engine has no prefix cache."""
    sharing = about.get("sharing")
    if not sharing:
        return None
    differences = sharing.get("differences", {})
    rejected_plans = tuple((entry["plan"], entry["why"]) for entry in sharing.get("fell_back", ()))
    dropped = {plan for plan, _ in rejected_plans}
    kept = [value for plan, value in differences.items() if plan not in dropped]
    return Computation(
        model=model,
        benchmark=benchmark,
        requested=sharing["asked"],
        plans=sharing.get("prompts", {}),
        images=sharing.get("checked_on_pictures", 0),
        difference=max(kept, default=None),
        rejected_plans=rejected_plans,
        changes=_answer_changes(about.get("certificate"), confidence),
    )


def _answer_changes(certificate: Mapping[str, Any] | None, confidence: float) -> AnswerChanges | None:
    if not certificate or not certificate["compared"]:
        return None
    share, n = certificate["rate"], certificate["compared"]
    low, high = wilson(share, n, confidence)
    return AnswerChanges(certificate["flips"], n, share, low, high, max(certificate["gaps"], default=None))
