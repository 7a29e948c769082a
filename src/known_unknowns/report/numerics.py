"""How a model's replies were computed: by which plans of sharing, and how sure that is (docs/shared_prefixes.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from known_unknowns.metrics.intervals import wilson

SECTIONS = ("sharing", "certificate")
"""What of an engine's ``about`` is told here."""


@dataclass(frozen=True, slots=True)
class Flips:
    """Of ``n`` turns that were asked again at batch 1, how many letters changed, with Wilson's interval of the share;
    ``widest`` is the widest gap (nats) between the two likeliest letters of those."""

    flips: int
    n: int
    share: float
    low: float
    high: float
    widest: float | None


@dataclass(frozen=True, slots=True)
class Computed:
    """``plans``: prompts by plan, in this run; ``difference``: the largest from generate's logits, in their standard
    deviations, on ``pictures`` pictures; ``given_up``: plan and reason."""

    model: str
    benchmark: str
    asked: str
    plans: Mapping[str, int]
    pictures: int
    difference: float | None
    given_up: tuple[tuple[str, str], ...]
    flips: Flips | None


def computed(model: str, benchmark: str, about: Mapping[str, Any], confidence: float) -> Computed | None:
    """What an engine's ``about`` says of it; None for an engine that says nothing."""
    sharing = about.get("sharing")
    if not sharing:
        return None
    differences = sharing.get("differences", {})
    given_up = tuple((entry["plan"], entry["why"]) for entry in sharing.get("fell_back", ()))
    dropped = {plan for plan, _ in given_up}
    kept = [value for plan, value in differences.items() if plan not in dropped]
    return Computed(
        model=model,
        benchmark=benchmark,
        asked=sharing["asked"],
        plans=sharing.get("prompts", {}),
        pictures=sharing.get("checked_on_pictures", 0),
        difference=max(kept, default=None),
        given_up=given_up,
        flips=_flips(about.get("certificate"), confidence),
    )


def _flips(certificate: Mapping[str, Any] | None, confidence: float) -> Flips | None:
    if not certificate or not certificate["compared"]:
        return None
    share, n = certificate["rate"], certificate["compared"]
    low, high = wilson(share, n, confidence)
    return Flips(certificate["flips"], n, share, low, high, max(certificate["gaps"], default=None))
