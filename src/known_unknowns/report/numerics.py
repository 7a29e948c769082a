"""How replies were computed, and the recorded replies that were asked again.

docs/shared_prefixes.md describes the plans of the prefix cache and their checks, docs/faults.md the verification.
"""

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


@dataclass(frozen=True, slots=True)
class RepeatedAnswers:
    """Recorded turns that were asked again in one way, or in any way (``way`` is empty).

    ``cause`` is in which settings the way differs from the run. ``count`` of ``n`` answers changed, ``share`` is None
    without a reply. ``near_ties`` of the changed answers are explained by rounding. ``failed`` turns had no reply; it
    is None over all ways. ``method`` names the interval.
    """

    model: str
    benchmark: str
    way: str
    cause: str
    count: int
    n: int
    share: float | None
    low: float | None
    high: float | None
    method: str
    near_ties: int
    failed: int | None


def repeated(summary: Mapping[str, Any]) -> tuple[RepeatedAnswers, ...]:
    """Return the parts of a summary of `known_unknowns.verification.verify`: over all ways, and each way."""
    named = summary["model"], summary["benchmark"]

    def part(way: str, cause: str, found: Mapping[str, Any], near_ties: int) -> RepeatedAnswers:
        numbers = found["changed"], found["compared"], found["share"], found["low"], found["high"], found["method"]
        return RepeatedAnswers(*named, way, cause, *numbers, near_ties, found.get("failed"))

    ties = [flip["way"] for flip in summary["flips"] if flip["near_tie"]]
    parts = [part("", "", summary, summary["changed"] - summary["unexplained"])]
    return *parts, *(part(way, found["cause"], found, ties.count(way)) for way, found in summary["ways"].items())


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
