"""The verdicts on published numbers. This module decides; tables, report and command line show what it decided.

`docs/comparison.md#verdicts` has the definitions, the formulas and the simulation that justifies the limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scipy.special import ndtr, ndtri

from known_unknowns.benchmark.published import PERCENT, QUESTIONS, VIEWS, PublishedCell
from known_unknowns.comparison.margins import CONFIDENCE, Margin
from known_unknowns.records import OVERALL, Definition

IDENTICAL, REPRODUCED, COMPATIBLE = "identical", "reproduced", "compatible"
DIFFERS, PARSER, INCONCLUSIVE = "differs", "parser", "inconclusive"
NOT_COMPARABLE, NOT_RUN = "not comparable", "not run"
DEFINITIONS: Mapping[str, str] = {
    IDENTICAL: "equal to the published number as printed",
    REPRODUCED: "within the margin of rounding, numerical flips and the spread over runs",
    COMPATIBLE: "outside that margin, but inside the sampling interval, which excludes most other rows",
    DIFFERS: "outside the margin and the interval",
    PARSER: "identical, reproduced or compatible under the released parser, but different under the robust one",
    INCONCLUSIVE: "inside the interval, as are too many other rows of the table; or equal only by chance",
    NOT_COMPARABLE: "the questions, their number, the data revision, the protocol or the settings differ from those "
    "of the published number",
    NOT_RUN: "no model or variant of this run corresponds to it",
}
"""The verdicts in the order of the report, and their meaning."""
VERDICTS = tuple(DEFINITIONS)
VERDICT = Definition(
    "Decision on a published number: whether ours reproduces it, differs from it, or cannot tell.",
    "docs/comparison.md#verdicts",
)
"""What a verdict is, for pages."""
AGREEING = (IDENTICAL, REPRODUCED, COMPATIBLE)
"""Verdicts that support the published number."""
UNJUDGED = (NOT_COMPARABLE, NOT_RUN)
"""Verdicts without a judgement."""

LARGEST_SHARE_OF_RIVALS = 0.05
"""A number is compatible only if at most this share of the column's other rows would have matched, too."""
LARGEST_CHANCE = 0.01
"""A number counts by itself if a model that differs by `OTHER_MODEL` points matches with a smaller probability."""
OTHER_MODEL = 5.0
"""Difference of another model in percentage points, for the probability of a match by chance."""
SMALLEST_GROUP = 3
"""Numbers of the same replies that are needed to support one another."""
SMALLEST_AGREEMENT = 0.9
"""The share of them that must be within their margins."""

_UNIT = {PERCENT: "points", QUESTIONS: "questions", VIEWS: "views"}
_ROUNDING = 1e-9  # binary fractions: 72.195 must count as the edge of 72.20


@dataclass(frozen=True, slots=True)
class Candidate:
    """A published number beside ours, with its sampling interval and its margin. All are in the unit of the cell.

    ``n`` is our number of questions, ``rivals`` are the numbers of the column's other rows, and ``replies`` is the
    variant whose replies our number is of. ``whole`` is the number of published questions if ours are a sample of them.
    The number of a sample is an estimate: it can be compatible with the published one or differ from it, and reproduces
    nothing.
    """

    cell: PublishedCell
    value: float
    low: float
    high: float
    n: int
    margin: Margin
    rivals: tuple[float, ...]
    replies: str
    whole: int | None = None

    @property
    def within_margin(self) -> bool:
        return self._near(self.cell.value)

    @property
    def within_interval(self) -> bool:
        return self._inside(self.cell.value)

    @property
    def is_equal(self) -> bool:
        """Whether our number, rounded as the published one, is equal to it."""
        return abs(self.value - self.cell.value) <= self.cell.half_unit + _ROUNDING

    @property
    def matches(self) -> int:
        """The number of other rows within the margin."""
        return sum(map(self._near, self.rivals))

    @property
    def stands_alone(self) -> bool:
        """Whether a match is evidence without other numbers of the same replies.

        No other row may match, and a model that differs by `OTHER_MODEL` points (or by the distance to 0 or 100%, if
        that is less) must match with a probability below `LARGEST_CHANCE`. Our number has the standard error that
        follows from its interval.
        """
        if self.cell.unit == VIEWS or self.matches:
            return False
        whole = 100.0 if self.cell.unit == PERCENT else float(self.n)
        distance = min(OTHER_MODEL / 100 * whole, self.cell.value, whole - self.cell.value)
        error = max((self.high - self.low) / (2 * float(ndtri((1 + CONFIDENCE) / 2))), _ROUNDING)
        width = self.margin.total
        chance = ndtr((width - distance) / error) - ndtr((-width - distance) / error)
        return bool(chance < LARGEST_CHANCE)

    @property
    def found(self) -> str:
        design = "" if self.whole is None else f" (sample of {self.n:,} of {self.whole:,} questions)"
        return f"{self.value:.1f} [{self.low:.1f}, {self.high:.1f}]{design}"

    def _near(self, value: float) -> bool:
        return self.whole is None and abs(self.value - value) <= self.margin.total + _ROUNDING

    def _inside(self, value: float) -> bool:
        slack = self.cell.half_unit + _ROUNDING
        return self.low - slack <= value <= self.high + slack or self._near(value)


@dataclass(frozen=True, slots=True)
class Support:
    """How many distinct numbers of the same replies are within their margins of the published row.

    ``parts_agree`` is whether those of parts of the questions are, as far as there are any.
    """

    agreeing: int
    judged: int
    parts_agree: bool = True

    @classmethod
    def of(cls, within: Mapping[tuple[str, str, str, str], bool]) -> Support:
        """Return the support of numbers, by (variant, category, ...), that are within their margins or not."""
        parts = [near for key, near in within.items() if key[1] != OVERALL]
        return cls(sum(within.values()), len(within), sum(parts) >= SMALLEST_AGREEMENT * len(parts))

    @property
    def suffices(self) -> bool:
        return self.judged >= SMALLEST_GROUP and self.agreeing >= SMALLEST_AGREEMENT * self.judged

    def accepts(self, candidate: Candidate) -> bool:
        """Whether a number within its margin is no match by chance. Parts outside theirs contradict a total."""
        contradicted = candidate.cell.category == OVERALL and not self.parts_agree
        return self.suffices or (candidate.stands_alone and not contradicted)


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, its reason, and its discrimination: how many of the column's other rows match as well."""

    verdict: str
    reason: str
    matches: int
    rivals: int
    support: Support


def support_of(candidates: Iterable[Candidate]) -> dict[str, Support]:
    """Return the support of the numbers of one model, published row and parser, by variant.

    The numbers of one variant are of the same replies. A variant with fewer than `SMALLEST_GROUP` numbers is supported
    by the numbers of all variants.
    """
    within = {
        (c.replies, c.cell.category, c.cell.metric, str(c.cell.value)): c.within_margin for c in candidates
    }  # a number that two tables print counts once
    every = Support.of(within)
    by_variant = {}
    for variant in dict.fromkeys(key[0] for key in within):
        own = Support.of({key: near for key, near in within.items() if key[0] == variant})
        by_variant[variant] = own if own.judged >= SMALLEST_GROUP else every
    return by_variant


def decide(candidate: Candidate, support: Support) -> Decision:
    """Give a verdict on one published number, with the `support_of` the other numbers of the same replies."""
    cell, rivals = candidate.cell, len(candidate.rivals)
    difference = f"{candidate.found} is {candidate.value - cell.value:+.1f} {_UNIT[cell.unit]} from {cell.printed}"
    agreement = f"{candidate.value:.{cell.decimals}f} equals {cell.printed} as printed"
    if not candidate.is_equal:
        near = f"{candidate.value - cell.value:+.2f} {_UNIT[cell.unit]} from {cell.printed}"
        agreement = f"{near}, within the margin of {candidate.margin.describe()}"
    if candidate.within_margin and support.accepts(candidate):
        verdict = IDENTICAL if candidate.is_equal else REPRODUCED
        return Decision(verdict, agreement, candidate.matches, rivals, support)
    matches = sum(map(candidate._inside, candidate.rivals))
    if not candidate.within_interval:
        return Decision(DIFFERS, difference, matches, rivals, support)
    if candidate.within_margin and support.judged > 1:
        others = f"{support.agreeing} of {support.judged} numbers of this model are within the margin of their row"
        reason = f"{agreement}, but only {others}: a match by chance"
        return Decision(INCONCLUSIVE, reason, matches, rivals, support)
    if matches > LARGEST_SHARE_OF_RIVALS * rivals:
        reason = f"{candidate.found} contains {cell.printed} and {matches} of {rivals} other rows"
        return Decision(INCONCLUSIVE, reason, matches, rivals, support)
    if candidate.whole is not None:
        return Decision(COMPATIBLE, f"{difference}: inside the interval of the sample", matches, rivals, support)
    reason = f"{difference}: outside the margin of {candidate.margin.describe()}, inside the interval"
    return Decision(COMPATIBLE, reason, matches, rivals, support)


def depends_on_parser(official: str, robust: str) -> bool:
    """Whether a verdict under the official parser becomes "parser", given the one under the robust parser."""
    return official in AGREEING and robust == DIFFERS


def counts(verdicts: Sequence[str]) -> dict[str, int]:
    """Return the number of each verdict that occurs, in the order of `VERDICTS`."""
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS if verdict in verdicts}
